"""The mistakes of newcomers at the command line: one sentence, exit code 2, no traceback."""

from __future__ import annotations

import shutil
import sys
import warnings
from pathlib import Path

import pytest
from studies.made import read

from neurobo.cli.app import run
from neurobo.studies.runner.ask_tell import ask_points
from neurobo.studies.runner.store import open_study


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("begun")
    file = read(folder, trials=3)
    ask_points(file, open_study(file), 1)
    return folder


MISTAKES = {
    "wrong file": (["run", "stdy.toml"], {}, "does not exist; did you mean 'study.toml'?"),
    "a folder": (["run", "."], {}, "a study file was expected, got the folder"),
    "bad TOML": (
        ["check"], {'name = "test"': "name = test"},
        "study.toml, line 1: not valid TOML: invalid value (a text must be in quotes), got",
    ),
    "unknown key": (["run"], {"algorithm": "algoritm"}, "did you mean 'algorithm'?"),
    "unknown algorithm": (["run"], {"neural-greedy": "neural-gredy"}, "mean 'neural-greedy'?"),
    "unknown option": (["run"], {"width": "wdth"}, "got ['wdth']; did you mean 'width'?"),
    "no URL": (
        ["run"], {'name = "test"': 'name = "test"\nstorage = "a.db"'},
        "`storage` must be a URL such as 'sqlite:///study.db'",
    ),
    "unknown database": (
        ["run"], {'name = "test"': 'name = "test"\nstorage = "foo://host"'},
        "the storage foo://host cannot be used: there is no such kind of database",
    ),
    "nothing begun": (["status"], {'name = "test"': 'name = "x"'}, "got none called 'x'"),
    "value that is no number": (["tell", "0", "2,5"], {}, "got '2,5'; write 2.5"),
    "unknown trial": (["tell", "7", "1"], {}, "got 7, but there is only trial 0"),
    "trial without number": (["tell", "a", "1"], {}, "named by its number, such as 3, got 'a'"),
    "no such folder": (["export", "--out", "a/b.csv"], {}, "there is no a"),
    "missing results": (["import", "no.csv"], {}, "the results must be a CSV file, got no.csv"),
    "unknown suite": (["bench", "run", "smke"], {}, "did you mean 'smoke'?"),
    "unknown problem": (
        ["bench", "run", "smoke", "--problems", "brannin-2"], {}, "did you mean 'branin-2'?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_gets_one_sentence(
    kind: str,
    begun: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (command, *rest), changes, message = MISTAKES[kind]
    shutil.copytree(begun, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "study.toml"
    text = path.read_text()
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after, 1)
    path.write_text(text)
    named = command == "bench" or (rest and Path(rest[0]).suffix == ".toml") or rest == ["."]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    monkeypatch.setattr(sys, "argv", ["neurobo", command, *([] if named else [path.name]), *rest])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
