"""What a person sees while runs go on: a bar with the time left, and the runs in flight."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from neurobo.bench.harness import Display
from neurobo.bench.records import Job, Record


@contextmanager
def watching(jobs: Sequence[Job]) -> Iterator[Display]:
    """Live bars on a terminal, a line for each finished run elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console, len(jobs))
        return
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )
    with bars:
        yield _Bars(bars, jobs)


class _Lines:
    def __init__(self, console: Console, n: int) -> None:
        self._console, self._n, self._done = console, n, 0

    def began(self, job: Job) -> None: ...
    def at(self, job: Job, evaluation: int) -> None: ...

    def ended(self, record: Record) -> None:
        self._done += 1
        self._console.print(
            f"{self._done}/{self._n} {_summary(record)}", markup=False, highlight=False,
            soft_wrap=True,
        )  # fmt: skip


class _Bars:
    def __init__(self, bars: Progress, jobs: Sequence[Job]) -> None:
        self._bars = bars
        # Evaluations, not runs, measure what is left: runs differ more.
        self._all = bars.add_task("evaluations", total=sum(job.budget for job in jobs))
        self._tasks: dict[Job, TaskID] = {}
        self._ended = 0

    def began(self, job: Job) -> None:
        name = f"  {job.method} on {job.problem}, seed {job.seed}"
        self._tasks[job] = self._bars.add_task(name, total=job.budget)

    def at(self, job: Job, evaluation: int) -> None:
        self._bars.update(self._tasks[job], completed=evaluation)
        self._bars.advance(self._all)

    def ended(self, record: Record) -> None:
        self._bars.remove_task(self._tasks.pop(record.job))
        self._bars.console.print(_summary(record), markup=False, highlight=False)


def _summary(record: Record) -> str:
    job = record.job
    head = f"{job.method} on {job.problem}, seed {job.seed}: "
    if record.error:
        return head + f"broke off, {record.error}"
    last = float(record.regrets()[-1])
    what = "best value" if record.optimum is None else "regret"
    found = "nothing feasible" if math.isnan(last) else f"{what} {last:.4g}"
    return head + f"{found}, {sum(record.seconds):.1f} s"
