"""Which state of our source made a run, and which states make the same suggestions."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import neurobo

ALIASES = Path(__file__).with_name("source_aliases.csv")
"""Pairs of states that make the same suggestions; `python benchmarks/alias.py` adds to it."""
COLUMNS = ("old", "new", "why")
HOME = Path(neurobo.__file__).parent


def source(home: Path = HOME) -> str:
    """A hash of the source, which tells states apart that have the same version."""
    digest = hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        if path.relative_to(home).parts[0] not in ("bench", "cli"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


def latest(state: str) -> str:
    """The last of the states that make the same suggestions as this one: equal for two states of
    the source if and only if their runs are as good as each other's."""
    newer = _newer()
    while state in newer:
        state = newer[state]
    return state


def record_alias(old: str, new: str, why: str) -> bool:
    """Note that two states make the same suggestions; whether that is news."""
    old = latest(old)
    if old == latest(new):  # so that no chain of states ever ends where it began
        return False
    with ALIASES.open("a", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow((old, new, why))
    return True


def _newer() -> dict[str, str]:
    with ALIASES.open(newline="") as file:
        return {row["old"]: row["new"] for row in csv.DictReader(file)}
