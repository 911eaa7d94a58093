"""What a run shows: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Self

import numpy as np
from optuna.exceptions import StorageInternalError
from optuna.study import Study
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from neurobo.analysis.tally import Tally, duration, elapsed, short
from neurobo.integrations.optuna.attributes import FAILURE, is_feasible
from neurobo.running.progress import Progress
from neurobo.studies.file.study_file import StudyFile

SECONDS = 1.0
"""Between two looks at the study, if nothing else reads it."""
MOST_RUNNING = 12
"""Rows of the table."""


class Pace:
    """When the run will be over, from how fast trials ended since it began."""

    def __init__(self, finished: int) -> None:
        self._began, self._first = time.monotonic(), finished

    def seconds_left(self, finished: int, total: int) -> float | None:
        done = finished - self._first
        if not done or finished >= total:
            return None
        return (time.monotonic() - self._began) / done * (total - finished)


class Lines:
    """One line for each trial that ended, with the time."""

    def __init__(self, file: StudyFile, study: Study, console: Console) -> None:
        self._file, self._console = file, console
        self._seen = {t.number for t in Tally.of(study).trials}
        self._pace = Pace(len(self._seen))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def note(self, text: str) -> None:
        self._console.print(
            f"{datetime.now():%H:%M:%S} {text}", markup=False, highlight=False, soft_wrap=True
        )

    def update(self, study: Study, finished: int, seconds: Sequence[float]) -> None:
        tally = Tally.of(study)
        total, best = self._file.table.budget.trials, tally.best
        for trial in tally.trials:
            if trial.number in self._seen:
                continue
            self._seen.add(trial.number)
            if trial.value is None:
                what = f"failed: {short(trial.user_attrs.get(FAILURE, 'no reason is known'))}"
            else:
                what = short(trial.value) + ("" if is_feasible(trial) else " (not feasible)")
            parts = [f"trial {trial.number}: {what}"]
            if best is not None:
                parts.append(f"best {short(best.value)} in trial {best.number}")
            parts.append(f"{min(finished, len(self._seen))}/{total}")
            left = self._pace.seconds_left(finished, total)
            if left is not None:
                parts.append(f"about {duration(left)} left")
            self.note(", ".join(parts))


class Screen:
    """A table that is drawn again and again in its place."""

    def __init__(self, file: StudyFile, study: Study, console: Console) -> None:
        self._file, self._study, self._console = file, study, console
        self._seconds: Sequence[float] = ()
        self._tally, self._looked, self._over = Tally.of(study), time.monotonic(), False
        self._pace = Pace(len(self._tally.trials))
        self._live = Live(console=console, get_renderable=self._table, refresh_per_second=4)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._live.stop()

    def note(self, text: str) -> None:
        self._console.print(text, style="yellow", markup=False, highlight=False)

    def update(self, study: Study, finished: int, seconds: Sequence[float]) -> None:
        self._tally, self._looked, self._seconds = Tally.of(study), time.monotonic(), seconds

    def _table(self) -> RenderableType:
        # The loop may be busy with a suggestion for seconds; this is another thread.
        if time.monotonic() - self._looked > SECONDS or self._over:
            with contextlib.suppress(StorageInternalError):  # the loop will hear of it
                self.update(self._study, 0, self._seconds)
        tally, table = self._tally, self._file.table
        total, finished = table.budget.trials, len(tally.trials)
        left = self._pace.seconds_left(finished, total)
        head = Table.grid(padding=(0, 1))
        head.add_row(
            Text(table.name, style="bold"),
            ProgressBar(total=total, completed=min(finished, total), width=24),
            f"{finished}/{total} trials",
            f"about {duration(left)} left" if left is not None else "",
        )
        return Group(head, self._facts(tally), *self._running(tally))

    def _facts(self, tally: Tally) -> Text:
        parts = []
        if tally.best is not None:
            parts.append(f"best {short(tally.best.value)} in trial {tally.best.number}")
        if tally.trend():
            parts.append(tally.trend())
        if self._seconds:
            parts.append(f"{np.median(self._seconds[-10:]):.2f} s a suggestion")
        if tally.constrained:
            parts.append(f"{len(tally.feasible)} of {len(tally.complete)} feasible")
        if tally.failed:
            parts.append(f"{len(tally.failed)} failed")
        if tally.void:
            parts.append(f"{tally.void} not counted")
        if not parts:
            parts.append("no result yet")
        return Text(" · ".join(parts))

    def _running(self, tally: Tally) -> list[RenderableType]:
        if not tally.running or self._over:
            return []
        table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
        table.add_column("running", justify="right", no_wrap=True)
        table.add_column("for", justify="right", no_wrap=True)
        table.add_column("parameters", no_wrap=True, overflow="ellipsis")
        now = datetime.now()
        for trial in tally.running[:MOST_RUNNING]:
            point = "  ".join(f"{name}={short(v)!s:.24}" for name, v in trial.params.items())
            shown = escape(point) or "[dim]choosing a point …[/dim]"
            table.add_row(str(trial.number), duration(elapsed(trial, now)), shown)
        more = len(tally.running) - MOST_RUNNING
        return [table, Text(f"and {more} more", style="dim")] if more > 0 else [table]


def display(file: StudyFile, study: Study, console: Console) -> Screen | Lines:
    return (Screen if console.is_terminal else Lines)(file, study, console)


_: type[Progress] = Screen
