"""The source is formatted, clean and typed; `make lint` runs the same commands."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["mypy"],
        ["lint-imports", "--no-cache"],
    ],
    ids=["ruff", "layout", "types", "imports"],
)
def test_source_is_clean(command: list[str]) -> None:
    program, *arguments = command
    done = subprocess.run(
        [BIN / program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("room", ["space", "physics"])
def test_the_core_imports_only_distributions_from_optuna(room: str) -> None:
    for path in (ROOT / "src" / "neurobo" / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names.append(node.module or "")
            optunas = {name for name in names if name.split(".")[0] == "optuna"}
            assert optunas <= {"optuna.distributions"}, path


def test_stored_data_are_never_executed() -> None:
    forbidden = re.compile(r"pickle|\b(eval|exec)\(|shell=True|os\.system|yaml")
    for path in (ROOT / "src").rglob("*.py"):
        # The user's own function on its way to the user's own workers is no stored data.
        text = path.read_text().replace("from cloudpickle import dumps", "")
        if path.parent.name == "compilation":
            continue  # code that it compiled itself, from a folder that only the user can write
        assert not forbidden.search(text), path
