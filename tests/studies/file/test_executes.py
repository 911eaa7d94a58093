"""What each command executes of a study file, against the table in SECURITY.md."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from studies.made import study
from typer.testing import CliRunner

from neurobo.cli.app import app
from neurobo.cli.study import COMMANDS
from neurobo.studies.file.executes import doubts, executed
from neurobo.studies.file.reader import read_study

SECURITY = Path(__file__).parents[3] / "SECURITY.md"
TRAP = """
from pathlib import Path
marks = Path(__file__).parent / "marks"
(marks / "{name} imported").touch()

def f({arguments}):
    (marks / "{name} called").touch()
    return {result}
"""
EXECUTES, IMPORTS = "executes", "imports and calls"


def _table() -> dict[str, list[str]]:
    """The stated cells of each command: objective, residual, pool, storage."""
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", SECURITY.read_text(), re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}


def _trapped(folder: Path) -> Path:
    """A study whose modules leave a mark when they are imported, and when they are called."""
    (folder / "marks").mkdir(parents=True)
    goal = TRAP.format(name="objective", arguments="p", result="(p['x'] - 1) ** 2")
    law = TRAP.format(name="residual", arguments="u, x", result="u(x) - 1.0")
    (folder / "trapped_law.py").write_text(law)
    top = "n_startup_trials = 3\n"
    more = '[physics]\nresidual = "trapped_law:f"\nn_points = 8\n'
    return study(folder, goal=goal, top=top, trials=4, more=more)


def _arguments(command: str, path: Path, folder: Path) -> list[str]:
    earlier = folder / "earlier.csv"
    earlier.write_text("x,value\n0.5,0.25\n")
    more = {
        "tell": ["0", "1.0", "--replace"],
        "retry": ["--failed"],
        "import": [str(earlier)],
        "plot": ["--format", "svg"],
    }
    if command == "init":
        return ["init", str(folder / "new.toml")]
    return [command, str(path), *more.get(command, [])]


def _call(*arguments: str) -> None:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_the_table_names_every_command() -> None:
    assert list(_table()) == list(COMMANDS)


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that has run: every command has something to do."""
    path = _trapped(tmp_path_factory.mktemp("trapped"))
    before = list(sys.path)
    _call("run", str(path))
    sys.path[:] = before
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_executes_what_the_table_says(
    command: str, trapped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, marks = trapped, trapped.parent / "marks"
    if command == "run":
        path = _trapped(tmp_path / "new")
        marks = path.parent / "marks"
    for mark in marks.iterdir():
        mark.unlink()
    sys.modules.pop("trapped_law", None)
    monkeypatch.setattr(sys, "path", list(sys.path))
    server: Any = SimpleNamespace(run_server=lambda *_, **__: None)
    monkeypatch.setitem(sys.modules, "optuna_dashboard", server)
    _call(*_arguments(command, path, tmp_path))
    seen = {mark.name for mark in marks.iterdir()}
    objective, residual, _, _ = _table()[command]
    assert ("objective called" in seen) == (objective == EXECUTES)
    assert ("objective imported" in seen) == (objective == EXECUTES)
    assert ("residual imported" in seen) == (residual == IMPORTS)
    assert ("residual called" in seen) == (residual == IMPORTS)


def test_check_says_what_running_will_execute(tmp_path: Path) -> None:
    path = _trapped(tmp_path / "a")
    shown = CliRunner().invoke(app, ["check", str(path)]).output
    sentence = (
        "Running this study will execute: the Python function goal:f; the Python function "
        "trapped_law:f (also `neurobo ask`)."
    )
    assert sentence in " ".join(shown.split())
    told = json.loads(CliRunner().invoke(app, ["check", str(path), "--json"]).output)
    assert told["executes"] == executed(read_study(path))
    command = study(tmp_path / "b", 'command = ["echo", "{x}"]')
    assert executed(read_study(command)) == ["the program echo <x>"]
    assert executed(read_study(study(tmp_path / "c", ""))) == []


@pytest.mark.parametrize(
    ("command", "doubt"),
    [
        (["python3", "nope.py", "{x}"], "the file 'nope.py' is not there"),
        (["python3", "gaol.py", "{x}"], "did you mean 'goal.py'?"),
        (["python3", "{study_folder}/nope.py", "{x}"], "nope.py' is not there"),
        (["nonexistent-program", "{x}"], "'nonexistent-program' is not there (on the PATH)"),
        (["./goal.py", "{x}"], "'./goal.py' may not be executed (chmod +x)"),
        (["python3", "goal.py", "{x}"], None),
        (["python3", "-m", "package.module", "{x}"], None),
        (["python3", "goal.py", "--out", "result.txt", "{x}"], None),
        (["python3", "goal.py", "--rate", "1.5e-3", "--name={x}.txt"], None),
    ],
)
def test_check_looks_for_what_a_command_names(
    command: list[str], doubt: str | None, tmp_path: Path
) -> None:
    found = doubts(read_study(study(tmp_path, f"command = {json.dumps(command)}")))
    if doubt is None:
        assert found == []
    else:
        (told,) = found
        assert doubt in told
        assert told.startswith("line ")


@pytest.mark.parametrize(
    ("reference", "doubt"),
    [
        ("goal:f", ""),
        ("math:sin", ""),
        ("gaol:f", "no module 'gaol' beside the study file or installed; did you mean 'goal'?"),
        ("goal:g", "goal.py does not define 'g'"),
        ("goal.part:f", "no module 'goal.part'"),
    ],
)
@pytest.mark.parametrize("key", ["objective", "physics"])
def test_check_looks_for_functions(key: str, reference: str, doubt: str, tmp_path: Path) -> None:
    parts: dict[str, Any] = {"objective": 'python = "goal:f"', "more": "", "top": ""}
    if key == "objective":
        parts["objective"] = f'python = "{reference}"'
    else:
        parts["more"] = f'[physics]\nresidual = "{reference}"\n'
    found = doubts(read_study(study(tmp_path, **parts)))
    assert doubt in "".join(found)
    assert bool(found) == bool(doubt)
