"""The source is formatted, clean and typed; `make lint` runs the same commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]],
    ids=["ruff", "layout", "types"],
)
def test_source_is_clean(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_stored_data_are_never_executed() -> None:
    forbidden = re.compile(r"pickle|\b(eval|exec)\(|shell=True|os\.system|yaml")
    for path in (ROOT / "src").rglob("*.py"):
        # The user's own function on its way to the user's own workers is no stored data.
        text = path.read_text().replace("from cloudpickle import dumps", "")
        assert not forbidden.search(text), path
