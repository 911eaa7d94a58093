"""The one loop around suggestions: ask, evaluate, tell. `minimize` and `neurobo run` share it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress

import numpy as np
from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial

from neurobo.errors import EvaluationFailed
from neurobo.integrations.optuna.attributes import ID, INTERRUPTED, mark_void
from neurobo.integrations.optuna.compat import recent, stop_requested
from neurobo.integrations.optuna.history import trials_of_study
from neurobo.integrations.optuna.sampler import NeuroSampler
from neurobo.running.backends import TrialBackend
from neurobo.running.failures import Failures
from neurobo.running.interrupts import deferred, remembered
from neurobo.running.progress import Progress
from neurobo.running.spool import Spool
from neurobo.running.suggesting import JUST_READ, suggest_all
from neurobo.running.workers import Outcome, Workers
from neurobo.space.search_space import Params, Space
from neurobo.suggestion import is_exhausted

SINGLY = 8
"""Up to so many points are chosen one after the other, each with the others before it in mind."""
BURST = 512
"""More points than this are not chosen together."""
LOOK = 0.02
"""Seconds between two looks at the workers while points are chosen together."""
Callback = Callable[[Study, FrozenTrial], None]
AHEAD = 0.05
"""A suggestion is made while all workers are busy, if making one takes more than this share of an
evaluation: it then lacks the newest result, but no worker has to wait for it."""


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
        self.arrived: dict[int, Outcome] = {}
        """Results by number that are not told yet."""
        self._gathering = threading.Lock()
        """A thread that waits for the storage gathers results, too."""
        self.left_to_ask = 0
        """Of the current batch."""
        self.suggesting: list[float] = []
        self.evaluating: list[float] = []
        """Seconds that suggestions took, alone or together, and evaluations."""
        backend.serve(self)

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
            with recent(self.study, JUST_READ):
                display.update(self.study, self.backend.finished, self.suggesting)

        def call_back(told: Sequence[FrozenTrial]) -> None:
            show()
            for trial in told:
                for callback in callbacks:
                    callback(self.study, trial)
            self._stop_if_broken()

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
            elif going_on and (wanted := self._wanted()):
                # A suggestion may take long: results that are here come first, so that it knows
                # them, and workers that have become free get theirs together.
                if told := self._collect(0) if len(self.running) > 1 else []:
                    call_back(told)
                else:
                    exhausted = self._ask(wanted)
            elif may_begin:  # a batch begins when it is complete
                self._begin()
            elif self.running:
                call_back(self._collect(self.backend.patience))
            elif going_on and self.backend.wait_for_others():
                show()
            else:
                return exhausted

    def how_far(self, what: str) -> str:
        return f"{what} after {self.backend.finished} of {self.n_trials} trials"

    def _wanted(self) -> int:
        """How many points to ask for now."""
        left = self.n_trials - self.backend.begun(len(self.running) + len(self.ready))
        if left <= 0:
            return 0
        if self.batch > 1:
            if not self.running and not self.ready:  # the next batch begins when the last has ended
                self.left_to_ask = self.batch
            return int(self.left_to_ask > 0)
        stock = self._stock()
        missing = min(self.workers.free + stock - len(self.ready), left, BURST)
        if stock > SINGLY and missing <= stock // 2 and self.ready:
            return 0  # what is ready is enough until more can be chosen together
        if missing > SINGLY:
            return missing
        return int(missing > 0)

    def _stock(self) -> int:
        """How many points to have ready while all workers are busy: as many as evaluations end
        while the next ones are chosen; twice as many if they are chosen together, which begins when
        half of them are left."""
        if self.workers.count == 1 or not self.evaluating:
            return 0
        seconds = np.median(self.evaluating[-100:])
        choosing = np.median(self.suggesting[-10:])
        if choosing <= AHEAD * seconds and self.workers.count * choosing <= SINGLY * seconds:
            return 0
        stock = math.ceil(self.workers.count * choosing / seconds)
        return min(self.workers.count, 2 * stock if stock > SINGLY else stock)

    def _ask(self, wanted: int) -> bool:
        """Whether there was nothing left to ask for."""
        space, study = self.space, self.study
        if space.n_points < math.inf and is_exhausted(space, trials_of_study(study, space)):
            return True
        began, first = time.perf_counter(), len(self.ready)
        for _ in range(wanted):
            with deferred():  # Ctrl-C leaves no trial behind that is running and not known here
                trial = self.backend.ask()
                if trial is not None:
                    self.ready.append((trial, {}))
            if trial is None:
                break
        new = [trial for trial, _ in self.ready[first:]]
        if len(new) > SINGLY and isinstance(study.sampler, NeuroSampler):
            with deferred():
                self._prepare(study.sampler, [trial.number for trial in new])
        for i, trial in enumerate(new):
            self._suggest(trial)
            if self.batch == 1 and len(new) > SINGLY and i % SINGLY == 0:
                self._keep_busy()  # storing many points takes time, too
        if new:
            self.suggesting.append(time.perf_counter() - began)
        return False

    def _prepare(self, sampler: NeuroSampler, numbers: list[int]) -> None:
        """Choose points together in a thread, which may take longer than an evaluation."""

        def prepare() -> None:
            with recent(self.study, JUST_READ):
                sampler.prepare(self.study, numbers)

        with ThreadPoolExecutor(1, thread_name_prefix="neurobo-prepare") as thread:
            chosen = thread.submit(prepare)
            while not wait([chosen], LOOK).done:
                if self.batch == 1:
                    self._keep_busy()
            chosen.result()

    def _keep_busy(self) -> None:
        """Free workers get what is ready; the results that they leave are told later."""
        if self.running:
            self.gather(0)
        while self.ready and self.ready[0][1] and self.workers.free:
            self._begin()

    def _suggest(self, trial: Trial) -> None:
        self.left_to_ask -= 1
        place = next(i for i, (other, _) in enumerate(self.ready) if other is trial)
        try:
            with deferred():
                self.ready[place] = (trial, suggest_all(trial, self.space))
        except UpdateFinishedTrialError:  # this process slept, and others have given the trial up
            self.ready.pop(place)
            self.backend.release(trial)

    def _begin(self) -> None:
        trial, params = self.ready.pop(0)
        self.running[trial.number] = (trial, time.perf_counter())
        point = self.space.point(params)
        if self.space.pool is not None and self.space.pool.ids is not None:
            with suppress(UpdateFinishedTrialError):  # its result will come late
                trial.set_user_attr(ID, point)
        self.failures.begin(trial.number)
        self.workers.start(point, trial.number)

    def _collect(self, timeout: float | None) -> list[FrozenTrial]:
        """Wait for results and tell all of them, before anybody else may raise an error."""
        if not self.arrived:
            self.gather(timeout)
        told, uncaught = [], None
        for number in list(self.arrived):
            outcome = self.arrived[number]
            told.append(self._tell(number))
            self.failures.end(number, outcome)
            uncaught = uncaught or outcome.uncaught
        if uncaught is not None:
            raise uncaught
        return [trial for trial in told if trial is not None]

    def gather(self, timeout: float | None) -> None:
        """Take the results of evaluations that have ended."""
        with self._gathering:
            found = self.workers.finished(timeout)
            now = time.perf_counter()
            self.evaluating += [now - self.running[number][1] for number in found]
            self.arrived.update(found)

    def keep_results(self, spool: Spool) -> None:
        """While the storage is away: results go on arriving and must not get lost."""
        if self.running:
            self.gather(0)
        for number, outcome in list(self.arrived.items()):
            spool.keep(number, outcome)

    def _tell(self, number: int) -> FrozenTrial | None:
        trial, _ = self.running[number]
        told = self.backend.tell(trial, self.arrived[number])
        del self.arrived[number], self.running[number]
        return told

    def _stop_if_broken(self) -> None:
        stop = self.failures.stop()
        if stop is None:
            return
        if stop.void:
            mark_void(self.study, stop.void)
        raise EvaluationFailed(stop.message, self.study)

    def _abandon(self, reason: str) -> None:
        """Leave no trial running; one that was told already stays as it is."""
        with self.backend.leaving():
            for number in list(self.arrived):
                self._tell(number)
            trials = [trial for trial, _ in (*self.running.values(), *self.ready)]
            if not trials:
                return
            states = {t.number: t.state for t in self.study.get_trials(deepcopy=False)}
            for trial in trials:
                if not states[trial.number].is_finished():
                    self.backend.abandon(trial, reason)
