"""Study files for tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from neurobo.studies.file.reader import read_study
from neurobo.studies.file.study_file import StudyFile

NEUROBO = str(Path(sys.executable).parent / "neurobo")
FAST = 'algorithm = "neural-greedy"\noptions = { width = 16, gamma = 2.0 }\n'
"""Networks that take little time."""


def study(
    folder: Path,
    objective: str = 'python = "goal:f"',
    *,
    top: str = FAST,
    space: str = "x = { low = -5.0, high = 5.0 }",
    trials: int = 8,
    goal: str = "def f(p):\n    return (p['x'] - 1) ** 2\n",
    more: str = "",
    name: str = "study.toml",
) -> Path:
    """Write a study file, and the module goal.py beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "goal.py").write_text(goal)
    part = f"[objective]\n{objective}\n" if objective else ""
    path = folder / name
    path.write_text(
        f'name = "test"\n{top}\n[budget]\ntrials = {trials}\n[space]\n{space}\n{part}{more}'
    )
    return path


def read(*arguments: Any, **options: Any) -> StudyFile:
    return read_study(study(*arguments, **options))


def neurobo(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NEUROBO, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, check=False,
        timeout=300, env=environment(),
    )  # fmt: skip


def environment() -> dict[str, str]:
    """Wide lines, so that messages are not broken."""
    return {**os.environ, "COLUMNS": "400"}


def alive(marker: str) -> list[str]:
    """Processes whose command line contains a text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if marker in words:
            found.append(words)
    return found
