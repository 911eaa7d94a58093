"""The command that makes the source of an older commit an alias: benchmarks/alias.py."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from benchmarks.test_finals import BENCHMARKS

from neurobo.bench import source as source_file
from neurobo.bench.source import COLUMNS, latest, source


@pytest.fixture
def alias(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Of a repository with one commit, in which the golden suggestions pass."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import alias as module

    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(source_file, "ALIASES", tmp_path / "aliases.csv")
    (tmp_path / "aliases.csv").write_text(",".join(COLUMNS) + "\n")
    _write(tmp_path / "src" / "neurobo" / "model.py", "a = 1")
    _write(tmp_path / "tests" / "golden" / "one.json", "{}")
    _write(tmp_path / "tests" / "test_golden.py", "def test(): pass")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "src", "tests"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], check=True)
    return module


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_source_of_a_commit_becomes_an_alias(
    alias: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = source(tmp_path / "src" / "neurobo")
    assert alias.source_at("HEAD") == old != source()
    alias.main("HEAD", "moved")
    assert latest(old) == source()
    assert "make the same suggestions: noted" in capsys.readouterr().out
    alias.main("HEAD", "moved")
    assert "are known to make the same suggestions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "message"),
    [("tests/golden/one.json", "of HEAD must be unchanged"), ("tests/test_golden.py", "pass")],
)
def test_other_suggestions_make_no_alias(
    alias: ModuleType, tmp_path: Path, changed: str, message: str
) -> None:
    (tmp_path / changed).write_text("assert False")
    with pytest.raises(SystemExit, match=message):
        alias.main("HEAD", "moved")
    assert latest(alias.source_at("HEAD")) != source()
