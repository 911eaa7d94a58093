"""`neurobo run`: minimize's loop on a shared study, with leases and programs as workers."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from neurobo.errors import InvalidInput
from neurobo.integrations.optuna.attributes import (
    FAILURE,
    VOID,
    counting,
    is_interrupted,
    void_numbers,
)
from neurobo.integrations.optuna.compat import (
    finish_trial,
    outage_of,
    recent,
    request_stop,
    stop_requested,
    stoppable,
    stored_trial,
)
from neurobo.integrations.optuna.leases import Watch, is_evaluated, is_unreadable, lease
from neurobo.integrations.optuna.outage import Outage
from neurobo.integrations.optuna.storage_errors import StorageError
from neurobo.running.backends import not_waiting
from neurobo.running.interrupts import StopFlags
from neurobo.running.loop import Callback, Run
from neurobo.running.progress import Progress
from neurobo.running.results import accept_late, record
from neurobo.running.retries import give_up
from neurobo.running.spool import Spool
from neurobo.running.suggesting import JUST_READ
from neurobo.running.workers import Outcome
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.runner.engines import engine_named, workers_of
from neurobo.studies.runner.failure_notes import FailureNotes
from neurobo.studies.runner.lease import (
    Renewal,
    give_up_expired,
    may_begin,
    new_trial,
)
from neurobo.studies.runner.store import explained, open_study, suggesting

NOT_NEEDED = "not needed: others had begun the last trial"
STOPPED = "stopped"
"""How the reason begins if Ctrl-C ended a run."""
NEXT = "the next `neurobo run` stores them"
TICK = 0.5
"""Seconds between two looks at what others do."""


class SharedBackend:
    """A study on which other runners and people work, too. What this run holds, it leases."""

    def __init__(
        self, file: StudyFile, study: Study, note: Callable[[str], None], flags: StopFlags
    ) -> None:
        self.study = study
        self.finished = len(counting(study))
        self.spool = Spool(file.folder, file.path.stem, file.table.name)
        self._file, self._note, self._flags = file, note, flags
        self._seconds, self._retries = file.table.lease.seconds, file.table.retries
        self.leases = Renewal(study, self._seconds)
        self._outage = outage_of(study) or Outage()
        self._outage.note, self._outage.meanwhile = note, self._while_away
        self._outage.waits_for_space = True
        self._watch, self._watched_since = Watch(), -math.inf
        self._looked = -math.inf
        self._told_to_stop = False
        self._left_aside: set[int] = set()
        self._loop: Run | None = None

    def serve(self, loop: Run) -> None:
        self._loop = loop

    @property
    def patience(self) -> float | None:
        """With jitter: runners that began together do not ask the storage together."""
        return min(TICK, self._seconds / 4) * random.uniform(0.75, 1.25)

    def look_around(self) -> None:
        self._answer_signals()
        if time.monotonic() - self._looked < min(TICK, self._seconds / 4):
            return
        self._looked = time.monotonic()
        with recent(self.study, JUST_READ):
            self._report_unusable()
            if self._outage.back_since > self._watched_since:
                self._watched_since = self._outage.back_since
                self._watch.forget()
            for number in give_up_expired(
                self.study, self._file.space, self._retries,
                without=self.leases.held, watch=self._watch,
            ):  # fmt: skip
                self._note(f"trial {number} was lost: its runner died")
            self.finished = len(counting(self.study))

    def _answer_signals(self) -> None:
        self._flags.check()
        if self._flags.soon:
            request_stop(self.study)
        if stop_requested(self.study) and not self._told_to_stop:
            self._told_to_stop = True
            count = 0 if self._loop is None else len(self._loop.running)
            self._note(
                f"stopping: {count} running trial{'s' * (count != 1)} will be finished; "
                "Ctrl-C again stops now"
            )

    def _while_away(self) -> None:
        """Between two attempts to reach a storage that is away."""
        self._keep_results()
        self._flags.check()

    def _keep_results(self) -> None:
        if self._loop is not None:
            self._loop.keep_results(self.spool)

    def _report_unusable(self) -> None:
        """Trials that somebody else wrote, and that neurobo cannot work with."""
        for trial in self.study.get_trials(deepcopy=False):
            waits = trial.state == TrialState.WAITING and not may_begin(trial, self._file.space)
            if trial.number not in self._left_aside and (waits or is_unreadable(trial)):
                what = "point that it was queued with" if waits else "lease"
                self._note(f"trial {trial.number} is left aside: its {what} cannot be read")
                self._left_aside.add(trial.number)

    def begun(self, own: int) -> int:
        with recent(self.study, JUST_READ):
            return len(self._counting())

    def _counting(self) -> list[FrozenTrial]:
        """Trials that are or will be one of the budget's."""
        trials = self.study.get_trials(deepcopy=False)
        void = void_numbers(self.study, trials)
        return [
            t
            for t in trials
            if t.state != TrialState.WAITING
            and t.number not in void
            and not is_interrupted(t)
            and not is_unreadable(t)
        ]

    def ask(self) -> Trial | None:
        held = lease(self._seconds, by_process=True)
        with recent(self.study, JUST_READ):
            trial = new_trial(self.study, self._file.space, held)
            self.leases.hold(trial)
            # Several runners may have begun the last one at the same moment; the first keeps it.
            before = sum(t.number < trial.number for t in self._counting())
        if before < self._file.table.budget.trials:
            return trial
        self.leases.release(trial)
        with suppress(UpdateFinishedTrialError):
            finish_trial(
                self.study, trial, TrialState.FAIL,
                user_attrs={FAILURE: NOT_NEEDED}, system_attrs={VOID: True},
            )  # fmt: skip
        return None

    def release(self, trial: Trial) -> None:
        self._note(f"trial {trial.number} was given up by others before it had a point")
        self.leases.release(trial)

    def tell(self, trial: Trial, outcome: Outcome) -> FrozenTrial | None:
        told = self._store(trial, outcome)
        self.leases.release(trial)
        with recent(self.study, JUST_READ):
            self.finished = len(counting(self.study))
        stored = None if told is None else stored_trial(self.study, told)
        self.spool.forget(trial.number)  # last: every call above may keep it once more
        return stored

    def _store(self, trial: Trial, outcome: Outcome) -> Trial | FrozenTrial | None:
        """The trial that has the result; None if none has."""
        if outcome.lost:
            self._note(f"trial {trial.number} was lost: {outcome.failure}")
            self._give_up(trial, f"lost: {outcome.failure}")
            return None
        try:
            record(self.study, trial, outcome)
        except UpdateFinishedTrialError:  # this machine slept, and the lease ran out
            return accept_late(self.study, trial.number, outcome, self._note)
        return trial

    def abandon(self, trial: Trial, reason: str) -> None:
        self.leases.release(trial)
        self._give_up(trial, reason)

    def _give_up(self, trial: Trial, reason: str) -> None:
        stored = stored_trial(self.study, trial)
        give_up(self.study, stored, self._file.space, self._retries, reason)

    def wait_for_others(self) -> bool:
        """Should they die, there is work again. Programs end; people may take days."""
        with recent(self.study, JUST_READ):
            theirs = any(is_evaluated(t) for t in self.study.get_trials(deepcopy=False))
        if theirs:
            time.sleep(self.patience or 0.0)
        return theirs

    def leaving(self) -> AbstractContextManager[None]:
        return not_waiting(self.study, self._keep_results)


def run(
    file: StudyFile,
    *,
    workers: int | None = None,
    engine: str | None = None,
    display: Callable[[Study], Progress],
    note: Callable[[str], None],
    callbacks: tuple[Callback, ...] = (),
) -> tuple[Study, str]:
    """Evaluate until the budget is spent; the study, and why if it ended early.

    `engine` is where evaluations run, if not as the file says. Ctrl-C once: running trials end, no
    new ones begin. Twice: they are killed, and retried by the next run.
    """
    check_runnable(file)
    table = file.table
    study = open_study(file)
    suggesting(file, study)
    hours = table.budget.hours
    end = math.inf if hours is None else time.monotonic() + 3600 * hours
    places, where = workers_of(file, engine_named(file, engine), workers)
    flags = StopFlags()
    backend = SharedBackend(file, study, note, flags)
    loop = Run(file.space, backend, places, table.budget.trials, batch=1)
    try:
        with (
            explained(file),
            stoppable(study),
            display(study) as shown,
            flags,
            places,
            backend.leases,
        ):
            note(f"evaluations run {where}")
            backend.spool.store_left_behind(study, note)
            why = loop.go(end, (FailureNotes(note), *callbacks), shown)
    except StorageError as error:
        if not backend.spool:
            raise
        raise StorageError(f"{error}; {backend.spool.kept(NEXT)}") from error
    finally:
        outage = outage_of(study)
        if outage is not None and outage.away:
            outage.seconds = 0.0  # whoever looks at the study now need not wait
    if backend.spool:
        why = f"{why or STOPPED}; {backend.spool.kept(NEXT)}"
    if not why and stop_requested(study):
        why = loop.how_far(STOPPED)
    return study, why


def check_runnable(file: StudyFile) -> None:
    if file.table.objective is None:
        raise InvalidInput(
            f"a study to run must have an [objective], got none in {file.path}; `neurobo ask` and "
            "`neurobo tell` work without"
        )
