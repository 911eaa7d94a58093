"""Results that the storage could not take, in a small file beside the study file.

A result is written here only while the storage is away, and removed once it is stored. If the
runner ends before that, the next one stores what it finds.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from optuna.study import Study

from neurobo.errors import InvalidInput
from neurobo.integrations.optuna.leases import Lease, is_dead, lease
from neurobo.running.workers import Outcome
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.runner.ask_tell import tell_result

_FIELDS = ("value", "failure", "constraints", "attrs", "output")


class Spool:
    """The results of this process that are not stored yet."""

    def __init__(self, file: StudyFile) -> None:
        self.path = file.path.with_suffix(f".unwritten-{os.getpid()}.jsonl")
        self._name = file.table.name
        self._lines: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def keep(self, number: int, outcome: Outcome) -> None:
        """Write a result to the file, once. A file that cannot be written to is no error: the
        result is still in memory."""
        if number in self._lines or outcome.lost:
            return
        entry = {name: getattr(outcome, name) for name in _FIELDS}
        entry |= {"study": self._name, "trial": number, "by": lease(0.0, by_process=True)}
        self._lines[number] = json.dumps(entry)
        self._write()

    def forget(self, number: int) -> None:
        """The result is stored."""
        if self._lines.pop(number, None) is not None:
            self._write()

    def _write(self) -> None:
        try:
            if not self._lines:
                self.path.unlink(missing_ok=True)
                return
            new = self.path.with_suffix(".new")
            with new.open("w", encoding="utf-8") as file:
                file.writelines(line + "\n" for line in self._lines.values())
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
        except OSError:
            pass


def store_left_behind(file: StudyFile, study: Study, note: Callable[[str], None]) -> None:
    """Store the results in the files of runners that are no more."""
    mine = Spool(file).path
    for path in sorted(file.folder.glob(f"{file.path.stem}.unwritten-*.jsonl")):
        entries = _entries(path, file.table.name)
        if not entries or any(not _may_take(by) for by, _, _ in entries):
            continue
        try:
            path.rename(mine)  # only one of several runners succeeds
        except OSError:
            continue
        for _, number, outcome in entries:
            try:
                tell_result(file, study, number, outcome)
            except InvalidInput as error:
                note(f"a result in {path.name} is not needed: {error}")
            else:
                note(f"trial {number}: stored the result that was kept in {path.name}")
        mine.unlink(missing_ok=True)


def _entries(path: Path, name: str) -> list[tuple[Lease, int, Outcome]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    return [entry for line in lines if (entry := _entry(line, name)) is not None]


def _may_take(by: Lease) -> bool:
    """Whether the runner that wrote the file is gone, as far as this machine can tell."""
    return by.pid is None or by.pid == os.getpid() or is_dead(by)


def _entry(line: str, name: str) -> tuple[Lease, int, Outcome] | None:
    """None for a line that is not whole, or of another study."""
    try:
        found: Any = json.loads(line)
        by = found["by"]
        holder = Lease(0.0, True, by.get("pid"), str(by.get("place", "")))
        outcome = Outcome(**{key: found[key] for key in _FIELDS})
        good = isinstance(outcome.value, float) and isinstance(outcome.failure, str)
        if found["study"] != name or not good or not isinstance(found["trial"], int):
            return None
        if not outcome.failure and not math.isfinite(outcome.value):
            return None
        return holder, found["trial"], outcome
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
