"""Results that the storage could not take, in a small file.

`neurobo run` keeps it beside the study file, `minimize` beside the SQLite file or, with a server,
in the current folder. A result is written here only while the storage is away, and removed once it
is stored. If the process ends before that, the next run of the study stores what it finds.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from optuna.study import Study

from neurobo.errors import InvalidInput
from neurobo.integrations.optuna.attributes import failure_of
from neurobo.integrations.optuna.leases import Lease, is_dead, lease
from neurobo.running.results import tell_result
from neurobo.running.workers import Outcome

_FIELDS = ("value", "failure", "constraints", "attrs", "output")
_LONGEST = 100
"""Characters of a study's name in that of a file."""


class Spool:
    """The results of this process that are not stored yet.

    Args:
        folder: Where the file is.
        title: How its name begins.
        study: The name of the study.
    """

    def __init__(self, folder: Path, title: str, study: str) -> None:
        self._folder, self._study = folder.absolute(), study
        self._title = re.sub(r"[^\w. -]", "_", title)[:_LONGEST]
        self.path = self._folder / f"{self._title}.unwritten-{os.getpid()}.jsonl"
        self._lines: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def keep(self, number: int, outcome: Outcome) -> None:
        """Write a result to the file, once. A file that cannot be written to is no error: the
        result is still in memory."""
        if number in self._lines or outcome.lost:
            return
        entry = {name: getattr(outcome, name) for name in _FIELDS}
        entry |= {"study": self._study, "trial": number, "by": lease(0.0, by_process=True)}
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

    def kept(self, how: str) -> str:
        """Where the results are that could not be stored, and how they get into the study."""
        count = len(self)
        what = f"{count} result{'s' * (count != 1)} could not be stored and "
        if not self.path.exists():
            return f"{what}{'are' if count != 1 else 'is'} lost: {self.path} cannot be written"
        return f"{what}wait{'s' * (count == 1)} in {self.path}; {how}"

    def store_left_behind(self, study: Study, note: Callable[[str], None]) -> None:
        """Store the results in the files of processes that are no more."""
        # A name may have characters that mean something in a pattern.
        start = f"{self._title}.unwritten-"
        for path in sorted(p for p in self._folder.glob("*.jsonl") if p.name.startswith(start)):
            entries = _entries(path, self._study)
            if not entries or any(not _may_take(by) for by, _, _ in entries):
                continue
            try:
                path.rename(self.path)  # only one of several processes succeeds
            except OSError:
                continue
            for _, number, outcome in entries:
                if _is_stored(study, number, outcome):
                    continue
                try:
                    tell_result(study, number, outcome)
                except InvalidInput as error:
                    note(f"a result in {path.name} is not needed: {error}")
                else:
                    note(f"trial {number}: stored the result that was kept in {path.name}")
            self.path.unlink(missing_ok=True)


def _is_stored(study: Study, number: int, outcome: Outcome) -> bool:
    """Whether the storage took the result just before it went away, and could not say so."""
    trials = study.get_trials(deepcopy=False)
    if not 0 <= number < len(trials) or not trials[number].state.is_finished():
        return False
    if outcome.failure:
        return failure_of(trials[number]) == outcome.failure
    return bool(trials[number].values == [outcome.value])


def _entries(path: Path, name: str) -> list[tuple[Lease, int, Outcome]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    return [entry for line in lines if (entry := _entry(line, name)) is not None]


def _may_take(by: Lease) -> bool:
    """Whether the process that wrote the file is gone, as far as this machine can tell."""
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
