"""The progress line of a run."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

import numpy as np
from optuna.study import Study
from optuna.trial import TrialState
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from neurobo.integrations.optuna.attributes import is_feasible
from neurobo.integrations.optuna.history import sign_of


class Progress(Protocol):
    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def update(self, study: Study, finished: int, seconds: Sequence[float]) -> None:
        """`seconds` are the times the suggestions took."""
        ...


class Silent:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, study: Study, finished: int, seconds: Sequence[float]) -> None:
        pass


class Terminal:
    """A bar on standard error with the best value and the time a suggestion takes."""

    def __init__(self, n_trials: int) -> None:
        self._bar = Bar(
            TextColumn("optimising"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task("", total=n_trials, state="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, study: Study, finished: int, seconds: Sequence[float]) -> None:
        self._bar.update(self._task, completed=finished, state=_state(study, seconds))


def _state(study: Study, seconds: Sequence[float]) -> str:
    trials = study.get_trials(deepcopy=False)
    complete = [t for t in trials if t.state == TrialState.COMPLETE]
    values = [t.value for t in complete if t.value is not None and is_feasible(t)]
    failed = sum(t.state == TrialState.FAIL for t in trials)
    sign = sign_of(study)
    parts = [f"best {min(values, key=lambda v: sign * v):.6g}"] if values else []
    if complete and not values:
        parts.append("nothing feasible yet")
    if seconds:
        parts.append(f"{np.median(seconds[-10:]):.2f} s a suggestion")
    if failed:
        parts.append(f"{failed} failed")
    return " · ".join(parts)
