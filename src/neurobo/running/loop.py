"""The one loop around suggestions: ask, evaluate, tell. `minimize` and `neurobo run` share it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from neurobo.errors import EvaluationFailed
from neurobo.integrations.optuna.attributes import FAILURE, INTERRUPTED, counting, mark_void
from neurobo.integrations.optuna.compat import stop_requested
from neurobo.integrations.optuna.history import trials_of_study
from neurobo.running.failures import Failures
from neurobo.running.interrupts import deferred, remembered
from neurobo.running.progress import Progress
from neurobo.running.workers import Outcome, Workers
from neurobo.space.search_space import Params, Space
from neurobo.suggestion import is_exhausted

Callback = Callable[[Study, FrozenTrial], None]
ID = "id"
"""The user attribute with the id of a pool's candidate."""
AHEAD = 0.05
"""A suggestion is made while all workers are busy, if making one takes more than this share of an
evaluation: it then lacks the newest result, but no worker has to wait for it."""


class TrialBackend(Protocol):
    """Where a run's trials live."""

    study: Study
    finished: int
    """Trials that have ended and count."""
    patience: float | None
    """Seconds after which the loop looks around again while it waits; None: no need."""

    def look_around(self) -> None:
        """See what others have done meanwhile."""
        ...

    def begun(self, own: int) -> int:
        """How many trials have ended or begun; `own` are those of this run that have not ended."""
        ...

    def ask(self) -> Trial | None:
        """A new trial, or None if others were faster and the last one is already begun."""
        ...

    def tell(self, trial: Trial, outcome: Outcome) -> FrozenTrial | None:
        """None if the trial was not this run's any more."""
        ...

    def abandon(self, trial: Trial, reason: str) -> None:
        """A trial that will not be evaluated to its end."""
        ...

    def wait_for_others(self) -> bool:
        """Whether trials that others evaluate are worth waiting for; waits a little if so."""
        ...


class LocalBackend:
    """A study that nobody else works on."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.finished = len(counting(study))
        self.patience: float | None = None

    def look_around(self) -> None:
        pass

    def begun(self, own: int) -> int:
        return self.finished + own

    def ask(self) -> Trial | None:
        return self.study.ask()

    def tell(self, trial: Trial, outcome: Outcome) -> FrozenTrial | None:
        self.finished += 1
        for name, value in (outcome.constraints or {}).items():
            trial.set_constraint(name, value)
        if outcome.failure:
            return self._fail(trial, outcome.failure)
        return self.study.tell(trial, outcome.value)

    def abandon(self, trial: Trial, reason: str) -> None:
        self._fail(trial, reason)

    def _fail(self, trial: Trial, reason: str) -> FrozenTrial:
        trial.set_user_attr(FAILURE, reason)
        return self.study.tell(trial, state=TrialState.FAIL)

    def wait_for_others(self) -> bool:
        return False


class Run:
    """Ask, evaluate and tell until the end."""

    def __init__(
        self,
        space: Space,
        backend: TrialBackend,
        workers: Workers,
        n_trials: int,
        batch: int,
        failures: Failures | None = None,
    ) -> None:
        self.space, self.backend, self.study, self.workers = space, backend, backend.study, workers
        self.n_trials, self.batch = n_trials, batch
        self.failures = failures or Failures()
        self.ready: list[tuple[Trial, Params]] = []
        """Asked for, not yet begun."""
        self.running: dict[int, tuple[Trial, float]] = {}
        """Trials by number, and when they began."""
        self.left_to_ask = 0
        """Of the current batch."""
        self.suggesting: list[float] = []
        self.evaluating: list[float] = []
        """Seconds that suggestions and evaluations took."""

    def go(self, end: float, callbacks: Sequence[Callback], display: Progress) -> str:
        """Says why, if the end came early and unasked for. EvaluationFailed if failures stop it."""
        try:
            with remembered() as raise_lost_interrupt:
                exhausted = self._loop(end, callbacks, display, raise_lost_interrupt)
        except KeyboardInterrupt:
            self._abandon(INTERRUPTED)
            return self.how_far("interrupted")
        except BaseException:
            self._abandon(INTERRUPTED)
            raise
        self._abandon(INTERRUPTED)  # asked for ahead, and no longer wanted
        if exhausted and self.backend.finished < self.n_trials:
            return self.how_far(
                f"space exhausted: all {self.space.n_points:.0f} points are evaluated"
            )
        return ""

    def _loop(
        self,
        end: float,
        callbacks: Sequence[Callback],
        display: Progress,
        raise_lost_interrupt: Callable[[], None],
    ) -> bool:
        """Whether there were no points left."""

        def show() -> None:
            display.update(self.study, self.backend.finished, self.suggesting)

        show()
        exhausted = False
        while True:
            raise_lost_interrupt()
            self.backend.look_around()
            going_on = time.monotonic() < end and not stop_requested(self.study) and not exhausted
            going_on = going_on and not self.failures.undecided
            may_begin = self.ready and self.workers.free and (going_on or exhausted)
            if may_begin and self.batch == 1:
                self._begin()
            elif going_on and self._wants_more():
                exhausted = self._ask()
            elif may_begin:  # a batch begins when it is complete
                self._begin()
            elif self.running:
                told = self._collect()
                show()
                for trial in told:
                    for callback in callbacks:
                        callback(self.study, trial)
                self._stop_if_broken()
            elif going_on and self.backend.wait_for_others():
                show()
            else:
                return exhausted

    def how_far(self, what: str) -> str:
        return f"{what} after {self.backend.finished} of {self.n_trials} trials"

    def _wants_more(self) -> bool:
        """Whether to ask for a point now."""
        if self.backend.begun(len(self.running) + len(self.ready)) >= self.n_trials:
            return False
        if self.batch > 1:
            if not self.running and not self.ready:  # the next batch begins when the last has ended
                self.left_to_ask = self.batch
            return self.left_to_ask > 0
        if len(self.ready) < self.workers.free:
            return True
        return self.workers.count > 1 and not self.ready and self._suggesting_is_slow()

    def _suggesting_is_slow(self) -> bool:
        if not self.evaluating:
            return False
        return bool(np.median(self.suggesting[-10:]) > AHEAD * np.median(self.evaluating[-10:]))

    def _ask(self) -> bool:
        """Whether there was nothing left to ask for."""
        space, study = self.space, self.study
        if space.n_points < math.inf and is_exhausted(space, trials_of_study(study, space)):
            return True
        with deferred():  # Ctrl-C leaves no trial behind that is running and not known here
            trial = self.backend.ask()
            if trial is not None:
                self.ready.append((trial, {}))
        if trial is None:
            return False
        self.left_to_ask -= 1
        began = time.perf_counter()
        with deferred():
            params = space.asked(partial(ask, trial))
        self.suggesting.append(time.perf_counter() - began)
        self.ready[-1] = (trial, params)
        return False

    def _begin(self) -> None:
        trial, params = self.ready.pop(0)
        self.running[trial.number] = (trial, time.perf_counter())
        point = self.space.point(params)
        if self.space.pool is not None and self.space.pool.ids is not None:
            trial.set_user_attr(ID, point)
        self.failures.begin(trial.number)
        self.workers.start(point, trial.number)

    def _collect(self) -> list[FrozenTrial]:
        """Wait for results and tell all of them, before anybody else may raise an error."""
        told, uncaught = [], None
        for number, outcome in self.workers.finished(self.backend.patience).items():
            trial, began = self.running[number]
            self.evaluating.append(time.perf_counter() - began)
            told.append(self.backend.tell(trial, outcome))
            del self.running[number]
            self.failures.end(number, outcome)
            uncaught = uncaught or outcome.uncaught
        if uncaught is not None:
            raise uncaught
        return [trial for trial in told if trial is not None]

    def _stop_if_broken(self) -> None:
        stop = self.failures.stop()
        if stop is None:
            return
        if stop.void:
            mark_void(self.study, stop.void)
        raise EvaluationFailed(stop.message, self.study)

    def _abandon(self, reason: str) -> None:
        """Leave no trial running; one that was told already stays as it is."""
        trials = [trial for trial, _ in (*self.running.values(), *self.ready)]
        states = {t.number: t.state for t in self.study.get_trials(deepcopy=False)}
        for trial in trials:
            if not states[trial.number].is_finished():
                self.backend.abandon(trial, reason)


def ask(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """Optuna's suggest_* for a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    d: Any = distribution
    suggest = (
        trial.suggest_float if isinstance(distribution, FloatDistribution) else trial.suggest_int
    )
    return suggest(name, d.low, d.high, step=d.step, log=d.log)
