"""One call: minimise a Python function, with an Optuna study as the record."""

from __future__ import annotations

import math
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from neurobo.algorithms import Algorithm, resolve
from neurobo.errors import InvalidInput, NeuroboWarning, check_count, check_number
from neurobo.progress import Progress, Silent, Terminal
from neurobo.sampler import NeuroSampler, trials_of_study
from neurobo.space import Params, Space, SpaceLike
from neurobo.start import start_size
from neurobo.suggest import is_exhausted
from neurobo.workers import Outcome, Workers, workers_for

Callback = Callable[[Study, FrozenTrial], None]
FAILURE = "failure"
"""The user attribute in which a failed trial keeps its reason."""
INTERRUPTED = "interrupted"
ID = "id"
"""The user attribute with the id of a pool's candidate."""


def minimize(
    objective: Callable[[Any], float],
    space: SpaceLike,
    n_trials: int,
    *,
    algorithm: str | Algorithm = "auto",
    seed: int | None = None,
    n_startup_trials: int | str | None = None,
    start: str = "sobol",
    storage: str | BaseStorage | None = None,
    study_name: str | None = None,
    timeout: float | None = None,
    workers: int = 1,
    threads: bool = False,
    batch: int = 1,
    progress: bool = True,
    callbacks: Sequence[Callback] = (),
) -> Study:
    """Minimise `objective` over `space` and return the Optuna study.

    The objective gets a dict of parameters, a 1-D array when `space` is a list of (low, high), or
    a candidate's index or id when `space` is a Pool. An evaluation that raises, or returns anything
    but a finite number, is recorded as failed with its reason and the run goes on.

    `n_trials` is the number of trials the study shall have in the end: the same call with the same
    `storage` and `study_name` after a stop goes on where it was. `timeout` is in seconds and is
    looked at between evaluations. Ctrl-C ends the run cleanly and returns what there is. A callback
    gets (study, trial) after each trial and may call `study.stop()`.

    With `workers` above 1 that many evaluations run at once, in processes of their own or, with
    `threads`, in threads; each worker gets a new point as soon as it is free. With `batch` above 1
    that many points are suggested together, and the next ones when all have ended.
    """
    checked = Space.of(space)
    resolve(algorithm)
    if not callable(objective):
        raise InvalidInput(f"objective must be callable, got {type(objective).__name__}")
    for name, count in (("n_trials", n_trials), ("workers", workers), ("batch", batch)):
        check_count(name, count)
    places = workers_for(objective, workers, threads=threads)
    if timeout is not None:
        check_number("timeout", timeout, above=0)
    if storage is not None and study_name is None:
        raise InvalidInput("a study in a storage must have a name, got study_name=None")
    sampler = NeuroSampler(
        algorithm,
        seed=seed,
        n_startup_trials=start_size(checked, n_startup_trials, n_trials),
        search_space=checked,
        start=start,
    )
    study = optuna.create_study(
        sampler=sampler, storage=storage, study_name=study_name, load_if_exists=True
    )
    display: Progress = Terminal(n_trials) if progress else Silent()
    end = math.inf if timeout is None else time.monotonic() + timeout
    with _stoppable(study), places, display:
        ended_early = _Run(checked, study, places, n_trials, batch).go(end, callbacks, display)
    for message in (ended_early, _failures(study)):  # after the bar, not across it
        if message:
            warnings.warn(message, NeuroboWarning, stacklevel=2)
    return study


AHEAD = 0.05
"""A suggestion is made while all workers are busy, if making one takes more than this share of an
evaluation: it then lacks the newest result, but no worker has to wait for it."""


class _Run:
    """Ask, evaluate and tell until the end."""

    def __init__(self, space: Space, study: Study, workers: Workers, n_trials: int, batch: int):
        self.space, self.study, self.workers = space, study, workers
        self.n_trials, self.batch = n_trials, batch
        self.finished = _count_finished(study)
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
        """Says why, if the end came early and unasked for."""
        display.update(self.study, self.finished, self.suggesting)
        try:
            exhausted = False
            while True:
                going_on = time.monotonic() < end and not self.study._stop_flag and not exhausted
                may_begin = self.ready and self.workers.free and (going_on or exhausted)
                if may_begin and self.batch == 1:
                    self._begin()
                elif going_on and self._wants_more():
                    exhausted = self._ask()
                elif may_begin:  # a batch begins when it is complete
                    self._begin()
                elif self.running:
                    for told in self._collect():
                        self.finished += 1
                        display.update(self.study, self.finished, self.suggesting)
                        for callback in callbacks:
                            callback(self.study, told)
                else:
                    break
        except KeyboardInterrupt:
            self._abandon(INTERRUPTED)
            return f"interrupted after {self.finished} of {self.n_trials} trials"
        except BaseException as error:
            self._abandon(repr(error))
            raise
        self._abandon(INTERRUPTED)  # asked for ahead, and no longer wanted
        if exhausted and self.finished < self.n_trials:
            return (
                f"space exhausted: all {self.space.size:.0f} points are evaluated after "
                f"{self.finished} of {self.n_trials} trials"
            )
        return ""

    def _wants_more(self) -> bool:
        """Whether to ask for a point now."""
        if self.finished + len(self.running) + len(self.ready) >= self.n_trials:
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
        if space.size < math.inf and is_exhausted(space, trials_of_study(study, space)):
            return True
        trial = study.ask()
        self.left_to_ask -= 1
        self.ready.append((trial, {}))
        began = time.perf_counter()
        with _patiently():
            params = {name: ask(trial, name, d) for name, d in space.distributions.items()}
        self.suggesting.append(time.perf_counter() - began)
        self.ready[-1] = (trial, params)
        return False

    def _begin(self) -> None:
        trial, params = self.ready.pop(0)
        self.running[trial.number] = (trial, time.perf_counter())
        point = self.space.point(params)
        if self.space.pool is not None and self.space.pool.ids is not None:
            trial.set_user_attr(ID, point)
        self.workers.start(point, trial.number)

    def _collect(self) -> list[FrozenTrial]:
        """Wait for results and tell all of them, before anybody else may raise an error."""
        told = []
        for number, outcome in self.workers.finished().items():
            trial, began = self.running[number]
            self.evaluating.append(time.perf_counter() - began)
            told.append(_tell(self.study, trial, outcome))
            del self.running[number]
        return told

    def _abandon(self, reason: str) -> None:
        """Leave no trial running; one that was told already stays as it is."""
        trials = [trial for trial, _ in (*self.running.values(), *self.ready)]
        states = {t.number: t.state for t in self.study.get_trials(deepcopy=False)}
        for trial in trials:
            if not states[trial.number].is_finished():
                _fail(self.study, trial, reason)


def _count_finished(study: Study) -> int:
    states = (TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED)
    trials = study.get_trials(deepcopy=False, states=states)
    return sum(t.user_attrs.get(FAILURE) != INTERRUPTED for t in trials)


def ask(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """Optuna's suggest_* for a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    d: Any = distribution
    suggest = (
        trial.suggest_float if isinstance(distribution, FloatDistribution) else trial.suggest_int
    )
    return suggest(name, d.low, d.high, step=d.step, log=d.log)


def _tell(study: Study, trial: Trial, outcome: Outcome) -> FrozenTrial:
    if outcome.failure:
        return _fail(study, trial, outcome.failure)
    return study.tell(trial, outcome.value)


def _fail(study: Study, trial: Trial, reason: str) -> FrozenTrial:
    trial.set_user_attr(FAILURE, reason)
    return study.tell(trial, state=TrialState.FAIL)


@contextmanager
def _patiently() -> Iterator[None]:
    """Ctrl-C waits until the block has ended; a second one does not.

    An interrupt inside JAX's compiler makes Python crash when it exits (seen with JAX 0.10.2).
    """
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield
        return
    caught: list[Any] = []

    def later(*about: Any) -> None:
        caught.append(about)
        if len(caught) > 1:
            previous(*about)

    signal.signal(signal.SIGINT, later)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if caught:
        previous(*caught[0])


@contextmanager
def _stoppable(study: Study) -> Iterator[None]:
    """Let callbacks call `study.stop()`, which Optuna allows only inside its own loop."""
    study._stop_flag = False
    study._thread_local.in_optimize_loop = True
    try:
        yield
    finally:
        study._thread_local.in_optimize_loop = False


def _failures(study: Study) -> str:
    reasons = [
        t.user_attrs.get(FAILURE, "no reason is known")
        for t in study.get_trials(deepcopy=False, states=(TrialState.FAIL,))
    ]
    reasons = [reason for reason in reasons if reason != INTERRUPTED]
    if not reasons:
        return ""
    total = _count_finished(study)
    return f"{len(reasons)} of {total} evaluations failed; the last one: {reasons[-1]}"
