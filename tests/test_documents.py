"""Examples and every Python block of the documents run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from block_process import BlockProcess
from documents import (
    ROOT,
    documents,
    fences,
    folders,
    name_of,
    python_script,
    shell_script,
    write_files,
)
from pydantic import BaseModel
from typer.main import get_command

import neurobo
from neurobo.cli import reference as cli_reference
from neurobo.cli.app import app
from neurobo.studies.file.reader import read_study
from neurobo.studies.file.reference import reference
from neurobo.studies.file.schema import (
    Budget,
    Engine,
    Lease,
    Objective,
    Parameter,
    Physics,
    PoolTable,
    StudyTable,
)

DOCUMENTS = [path for path in documents() if "```python\n" in path.read_text()]
STUDIES = {
    title: part
    for path in documents()
    if path.name != "README.md"  # `make test-wheel` follows it
    for title, part in folders(path).items()
    if "```sh" in part or "```toml" in part
}
"""Parts that are a folder of files, and shell commands in it."""
BLOCKS = re.compile(r'python|sh|text|(python|toml|text|bash) title="[\w.-]+"')
"""What the tests know to run, to write to a file, or to leave alone (text)."""


def _run(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", *arguments],
        capture_output=True, text=True, cwd=cwd, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def blocks() -> Iterator[BlockProcess]:
    process = BlockProcess()
    yield process
    process.close()


def test_example_minimise_a_function(tmp_path: Path) -> None:
    shown = _run(str(ROOT / "examples" / "minimise_a_function.py"), cwd=tmp_path)
    assert float(shown.split()[2]) < 1.0


@pytest.mark.slow
def test_example_optuna_study(tmp_path: Path) -> None:
    shown = _run(str(ROOT / "examples" / "optuna_study.py"), cwd=tmp_path)
    assert float(shown.split()[-1]) < 1.0


@pytest.mark.slow
def test_example_mixed_space(tmp_path: Path) -> None:
    shown = _run("-W", "ignore", str(ROOT / "examples" / "mixed_space.py"), cwd=tmp_path)
    assert shown.startswith("20 trials")
    assert float(shown.split()[-1]) < 1.0


def test_every_example_has_a_test() -> None:
    here = Path(__file__).read_text()
    assert all(f"test_example_{p.stem}" in here for p in (ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, id=name_of(p), marks=[pytest.mark.slow] * (p.name == "gallery.md"))
        for p in DOCUMENTS
        if p.name != "cluster.md"  # needs engines: tests/cluster/test_page.py
    ],
)
def test_python_blocks_run(path: Path, tmp_path: Path, blocks: BlockProcess) -> None:
    blocks.run(python_script(path.read_text()), tmp_path)


@pytest.mark.parametrize(
    "script", ["import nothing_like_it", "import warnings; warnings.warn('w')"]
)
def test_a_block_that_raises_or_warns_fails(
    script: str, tmp_path: Path, blocks: BlockProcess
) -> None:
    with pytest.raises(AssertionError, match=r"nothing_like_it|UserWarning: w"):
        blocks.run(script, tmp_path)


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_every_block_is_of_a_kind_that_the_tests_run(path: Path) -> None:
    assert [head for head, _ in fences(path.read_text()) if not BLOCKS.fullmatch(head)] == []


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_lines_are_short_but_tables(path: Path) -> None:
    lines = path.read_text().split("\n")
    assert [line for line in lines if len(line) > 100 and not line.startswith("|")] == []


def test_links_between_documents_lead_somewhere() -> None:
    for path in [*documents(), ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#]+?)\)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_study_files_in_the_documents_are_right(tmp_path: Path) -> None:
    checked = 0
    for number, section in enumerate(STUDIES.values()):
        (tmp_path / str(number)).mkdir()
        for path in write_files(section, tmp_path / str(number)):
            if path.suffix == ".toml":
                read_study(path)
                checked += 1
    assert checked >= 9


@pytest.mark.slow
@pytest.mark.parametrize("title", [t for t in STUDIES if not t.startswith("cluster:")])
def test_shell_blocks_run(title: str, tmp_path: Path) -> None:
    write_files(STUDIES[title], tmp_path)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", shell_script(STUDIES[title])],
        capture_output=True, text=True, cwd=tmp_path, check=False,
        env={**os.environ, "PATH": path}, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_the_reference_of_the_command_line_is_current() -> None:
    """If not: python -m neurobo.cli.reference > docs/reference/cli.md."""
    assert (ROOT / "docs" / "reference" / "cli.md").read_text() == cli_reference.reference()


def test_the_reference_of_study_files_is_current() -> None:
    """If not: python -m neurobo.studies.file.reference > docs/study-file.md."""
    assert (ROOT / "docs" / "study-file.md").read_text() == reference()


# Documents and source say what is, not what is to come ---------------------------------------

PROMISE = re.compile(
    r"(?i:not yet (available|implemented|supported)|not (available|implemented|supported) yet"
    r"|coming soon|\b(is|are) planned)\b|\bTODO\b|\bFIXME\b"
)
FUTURE = re.compile(r"\bwill\b|\bnot yet\b", re.IGNORECASE)


def _prose(path: Path) -> str:
    """A document without its code blocks, on one line."""
    return " ".join(re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL).split())


def _features() -> set[str]:
    """What a user can name: algorithms, commands, keys and tables of the study file."""
    tables: list[type[BaseModel]] = [
        Budget,
        Engine,
        Lease,
        Objective,
        Parameter,
        Physics,
        PoolTable,
        StudyTable,
    ]
    keys = {key for table in tables for key in table.model_fields}
    return {*neurobo.algorithms(), *_commands(), *keys, *(f"[{key}]" for key in keys)}


def _commands() -> set[str]:
    return set(get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "path",
    [*documents(), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "src").rglob("*.py")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_nothing_is_promised(path: Path) -> None:
    found = PROMISE.search(" ".join(path.read_text().split()))
    assert found is None, found


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_no_feature_lies_in_the_future(path: Path) -> None:
    features = _features()
    for sentence in re.split(r"(?<=[.:!?]) ", _prose(path)):
        named = {word for code in re.findall(r"`([^`]+)`", sentence) for word in code.split()}
        assert not (FUTURE.search(sentence) and named & features), sentence


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_every_command_in_the_documents_exists(path: Path) -> None:
    code = [shell_script(path.read_text()), *re.findall(r"`([^`]+)`", _prose(path))]
    named = {word for part in code for word in re.findall(r"\bneurobo ([a-z]\w*)", part)}
    assert named <= _commands()


def test_every_algorithm_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [name for name in neurobo.algorithms() if f"`{name}`" not in readme] == []
