"""`neurobo run`: minimize's loop on a shared study, with leases and programs as workers."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from neurobo.errors import InvalidInput
from neurobo.integrations.optuna.attributes import (
    FAILURE,
    INTERRUPTED,
    VOID,
    counting,
    void_numbers,
)
from neurobo.integrations.optuna.compat import (
    request_stop,
    set_trial_state,
    set_trial_system_attr,
    set_trial_user_attr,
    stop_requested,
    stoppable,
    stored_trial,
)
from neurobo.integrations.optuna.leases import is_evaluated, lease
from neurobo.running.loop import Callback, Run
from neurobo.running.progress import Progress
from neurobo.running.workers import Outcome
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.runner import ask_tell
from neurobo.studies.runner.failure_notes import FailureNotes
from neurobo.studies.runner.lease import Renewal, give_up, give_up_expired, new_trial
from neurobo.studies.runner.objective import Requests
from neurobo.studies.runner.programs import Programs
from neurobo.studies.runner.store import explained, open_study, suggesting

NOT_NEEDED = "not needed: others had begun the last trial"
STOPPED = "stopped"
"""How the reason begins if Ctrl-C ended a run."""
TICK = 0.5
"""Seconds between two looks at what others do."""


class SharedBackend:
    """A study on which other runners and people work, too. What this run holds, it leases."""

    def __init__(self, file: StudyFile, study: Study, note: Callable[[str], None]) -> None:
        self.study = study
        self.finished = len(counting(study))
        self.patience: float | None = TICK
        self._file, self._note = file, note
        self._seconds, self._retries = file.table.lease.seconds, file.table.retries
        self.leases = Renewal(study, self._seconds)
        self._looked = -math.inf
        self._told_to_stop = False
        self.evaluating: Callable[[], int] = lambda: 0
        """How many trials this run evaluates now."""

    def look_around(self) -> None:
        if stop_requested(self.study) and not self._told_to_stop:
            self._told_to_stop = True
            count = self.evaluating()
            self._note(
                f"stopping: {count} running trial{'s' * (count != 1)} will be finished; "
                "Ctrl-C again stops now"
            )
        if time.monotonic() - self._looked < min(TICK, self._seconds / 4):
            return
        self._looked = time.monotonic()
        mine = self.leases.held
        for number in give_up_expired(self.study, self._file.space, self._retries, without=mine):
            self._note(f"trial {number} was lost: its runner died")
        self.finished = len(counting(self.study))

    def begun(self, own: int) -> int:
        return len(self._counting())

    def _counting(self) -> list[FrozenTrial]:
        """Trials that are or will be one of the budget's."""
        void = void_numbers(self.study)
        return [
            t
            for t in self.study.get_trials(deepcopy=False)
            if t.state != TrialState.WAITING
            and t.number not in void
            and t.user_attrs.get(FAILURE) != INTERRUPTED
        ]

    def ask(self) -> Trial | None:
        trial = new_trial(self.study, lease(self._seconds, by_process=True))
        self.leases.hold(trial)
        # Several runners may have begun the last one at the same moment; the first keeps it.
        before = sum(t.number < trial.number for t in self._counting())
        if before < self._file.table.budget.trials:
            return trial
        self.leases.release(trial)
        set_trial_user_attr(self.study, trial, FAILURE, NOT_NEEDED)
        set_trial_system_attr(self.study, trial, VOID, True)
        set_trial_state(self.study, trial, TrialState.FAIL)
        return None

    def tell(self, trial: Trial, outcome: Outcome) -> FrozenTrial | None:
        self.leases.release(trial)
        if outcome.lost:
            self._note(f"trial {trial.number} was lost: {outcome.failure}")
            self._give_up(trial, f"lost: {outcome.failure}")
            self.finished = len(counting(self.study))
            return None
        told: FrozenTrial | None
        try:
            told = ask_tell.record(self.study, trial, outcome)
        except UpdateFinishedTrialError:  # this machine slept, and the lease ran out
            told = ask_tell.accept_late(self.study, trial.number, outcome, self._note)
        self.finished = len(counting(self.study))
        return told

    def abandon(self, trial: Trial, reason: str) -> None:
        self.leases.release(trial)
        self._give_up(trial, reason)

    def _give_up(self, trial: Trial, reason: str) -> None:
        stored = stored_trial(self.study, trial)
        give_up(self.study, stored, self._file.space, self._retries, reason)

    def wait_for_others(self) -> bool:
        """Should they die, there is work again. Programs end; people may take days."""
        theirs = any(is_evaluated(t) for t in self.study.get_trials(deepcopy=False))
        if theirs:
            time.sleep(min(TICK, self._seconds / 4))
        return theirs


def run(
    file: StudyFile,
    *,
    workers: int | None = None,
    display: Callable[[Study], Progress],
    note: Callable[[str], None],
    callbacks: tuple[Callback, ...] = (),
) -> tuple[Study, str]:
    """Evaluate until the budget is spent; the study, and why if it ended early.

    Ctrl-C once: running trials end, no new ones begin. Twice: they are killed, and begun again by
    the next run.
    """
    check_runnable(file)
    table = file.table
    study = open_study(file)
    suggesting(file, study)
    hours = table.budget.hours
    end = math.inf if hours is None else time.monotonic() + 3600 * hours
    requests = Requests(file)
    places = Programs(requests, workers or table.workers, table.constraints)
    backend = SharedBackend(file, study, note)
    loop = Run(file.space, backend, places, table.budget.trials, batch=1)
    backend.evaluating = lambda: len(loop.running)

    def stop() -> None:
        request_stop(study)  # the loop says so: a handler must not print into another print

    with (
        explained(file),
        stoppable(study),
        display(study) as shown,
        places,
        backend.leases,
        _two_interrupts(stop),
    ):
        why = loop.go(end, (FailureNotes(note), *callbacks), shown)
    if not why and stop_requested(study):
        why = loop.how_far(STOPPED)
    return study, why


def check_runnable(file: StudyFile) -> None:
    if file.table.objective is None:
        raise InvalidInput(
            f"a study to run must have an [objective], got none in {file.path}; `neurobo ask` and "
            "`neurobo tell` work without"
        )


@contextmanager
def _two_interrupts(first: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C calls `first`, the second and SIGTERM raise KeyboardInterrupt."""
    caught: list[int] = []

    def answer(sign: int, _: Any) -> None:
        caught.append(sign)
        if sign == signal.SIGTERM or len(caught) > 1:
            raise KeyboardInterrupt
        first()

    before = {sign: signal.signal(sign, answer) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
