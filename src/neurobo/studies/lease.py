"""Who works on a trial and until when, so that nobody waits for the dead.

A lease is a system attribute of the trial. Whoever works on it renews the lease; when it has run
out, or its holder is a process of this machine that is no more, anybody may give the trial up. It
is then failed, and begun again as a new trial with the same point while `retries` allow it.

Optuna's own heartbeats have one period for all trials, which does not suit both a program and a
person; they do not see a trial that died before its first beat, and they work only inside
`Study.optimize`.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Container, Sequence
from typing import Any

from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from neurobo.errors import InvalidInput
from neurobo.integrations.optuna.attributes import (
    FAILURE,
    INTERRUPTED,
    RETRY_OF,
    VOID,
    counting,
    replaced,
)
from neurobo.integrations.optuna.sampler import suggested
from neurobo.space.search_space import Space

LEASE = "neurobo:lease"
ATTEMPT = "attempt"
"""The user attribute that counts how often the point was begun."""


def lease(seconds: float, *, by_process: bool) -> dict[str, Any]:
    """A lease from now on; `by_process` if it ends with this process at the latest."""
    found: dict[str, Any] = {"until": time.time() + seconds, "by_process": by_process}
    if by_process and (place := _place(os.getpid())) is not None:
        found |= {"pid": os.getpid(), "place": place}
    return found


def _place(pid: int) -> str | None:
    """The machine, its boot, the name space of process ids, and when the process began: what makes
    a process id unique. None where that cannot be known, or for a process that is no more."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        if fields[0] == "Z":  # ended, and not yet noticed by its parent
            return None
        return f"{platform.node()}:{boot}:{os.stat('/proc/self/ns/pid').st_ino}:{fields[19]}"
    except OSError:
        return None


def is_evaluated(trial: FrozenTrial) -> bool:
    """Whether a process works on the trial now, not a person."""
    return is_leased(trial) and bool(trial.system_attrs[LEASE].get("by_process"))


def is_leased(trial: FrozenTrial) -> bool:
    """Whether neurobo began the trial; others are none of our business."""
    return trial.state == TrialState.RUNNING and LEASE in trial.system_attrs


def seconds_left(trial: FrozenTrial) -> float:
    """Of a running trial's lease; 0 if its holder is dead."""
    held = trial.system_attrs[LEASE]
    if "pid" in held:
        here, there = _place(os.getpid()), held["place"]
        same_machine = here is not None and here.rpartition(":")[0] == there.rpartition(":")[0]
        if same_machine and _place(held["pid"]) != there:
            return 0.0
    return max(float(held["until"]) - time.time(), 0.0)


def new_trial(study: Study, held: dict[str, Any]) -> Trial:
    """A trial that has its lease from its first moment on: a waiting one, or else a new one."""
    study._thread_local.cached_all_trials = None
    storage = study._storage
    waiting = storage.get_all_trials(study._study_id, deepcopy=False, states=(TrialState.WAITING,))
    for trial in waiting:
        try:
            # Before it is taken: should this process die at once, somebody's lease runs out.
            storage.set_trial_system_attr(trial._trial_id, LEASE, held)
            if storage.set_trial_state_values(trial._trial_id, TrialState.RUNNING):
                storage.set_trial_system_attr(trial._trial_id, LEASE, held)
                return Trial(study, trial._trial_id)
        except UpdateFinishedTrialError:
            continue
    template = create_trial(state=TrialState.RUNNING, system_attrs={LEASE: held})
    return Trial(study, storage.create_new_trial(study._study_id, template))


class Renewal:
    """Renews the leases of this process's trials in a thread until it is left."""

    def __init__(self, study: Study, seconds: float) -> None:
        self._storage, self._seconds = study._storage, seconds
        self.held: set[int] = set()
        """Ids of trials in the storage."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="neurobo-leases", daemon=True)

    def __enter__(self) -> Renewal:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def hold(self, trial: Trial) -> None:
        self.held.add(trial._trial_id)

    def release(self, trial: Trial) -> None:
        self.held.discard(trial._trial_id)

    def _renew(self) -> None:
        while not self._over.wait(self._seconds / 3):
            for trial_id in list(self.held):
                try:
                    held = lease(self._seconds, by_process=True)
                    self._storage.set_trial_system_attr(trial_id, LEASE, held)
                except (UpdateFinishedTrialError, KeyError):
                    self.held.discard(trial_id)
                except StorageInternalError:
                    pass  # there is time for two more


def give_up_expired(
    study: Study, space: Space, retries: int, *, without: Container[int] = ()
) -> list[int]:
    """Fail every trial whose lease has run out, and queue it again if it may be retried.

    `without` are the ids of one's own, which a machine that slept has not renewed in time.
    """
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    late = [
        trial
        for trial in running
        if is_leased(trial) and trial._trial_id not in without and not seconds_left(trial)
    ]
    reason = "lost: whoever evaluated it died, or did not renew its lease"
    return [t.number for t in late if give_up(study, t, space, retries, reason)]


def give_up(study: Study, trial: FrozenTrial, space: Space, retries: int, reason: str) -> bool:
    """Fail a running trial; False if it had ended already.

    One that may be retried, or to which no point was suggested yet, becomes void: it does not count
    as an evaluation, and a new trial takes its turn.
    """
    attempt = int(trial.user_attrs.get(ATTEMPT, 1))
    point = {**trial.system_attrs.get("fixed_params", {}), **suggested(trial)}
    known = space.contains(point)
    again = attempt <= retries or reason == INTERRUPTED
    storage, trial_id = study._storage, trial._trial_id
    try:
        storage.set_trial_user_attr(trial_id, FAILURE, reason)
        if again or not known:
            storage.set_trial_system_attr(trial_id, VOID, True)
        # Only one of several that try succeeds.
        storage.set_trial_state_values(trial_id, TrialState.FAIL)
    except UpdateFinishedTrialError:
        return False
    if again and known:
        marks = {RETRY_OF: trial.number, ATTEMPT: attempt + (reason != INTERRUPTED)}
        point = {name: point[name] for name in space.distributions}
        study.enqueue_trial(point, user_attrs=marks)
    return True


def retry(study: Study, space: Space, numbers: Sequence[int] | None = None) -> dict[int, int]:
    """Queue failed trials again, all or those of `numbers`: the new trials by the old ones'
    numbers.

    The old ones stay in the study; they teach nothing any more and do not count.
    """
    trials = study.get_trials(deepcopy=False)
    failed = {t.number for t in counting(study) if t.state == TrialState.FAIL}
    for number in numbers or ():
        _check_retriable(trials, failed, space, number)
    chosen = sorted(failed if numbers is None else set(numbers))
    chosen = [n for n in chosen if space.contains(trials[n].params)]
    for number in chosen:
        point = {name: trials[number].params[name] for name in space.distributions}
        study.enqueue_trial(point, user_attrs={RETRY_OF: number})
    places = replaced(study.get_trials(deepcopy=False))
    return {number: places[number] for number in chosen}


def _check_retriable(
    trials: Sequence[FrozenTrial], failed: Container[int], space: Space, number: int
) -> None:
    if not 0 <= number < len(trials):
        raise InvalidInput(
            f"a trial to retry must be in the study, got {number}, {known_trials(trials)}"
        )
    trial = trials[number]
    if (again := replaced(trials).get(number)) is not None:
        raise InvalidInput(
            f"a trial can be replaced only once, got {number}, whose place trial {again} has taken"
        )
    if number not in failed:
        hint = ""
        if trial.state == TrialState.COMPLETE:
            hint = f" with the value {trial.value!r} (`neurobo tell --replace` corrects a value)"
        raise InvalidInput(
            f"a trial to retry must have failed, got {number}, which is "
            f"{trial.state.name.lower()}{hint}"
        )
    if not space.contains(trial.params):
        raise InvalidInput(
            f"a trial to retry must lie in the space of the study file, got {number} at "
            f"{trial.params}"
        )


def known_trials(trials: Sequence[FrozenTrial]) -> str:
    """The end of a message about a number that no trial has."""
    if len(trials) < 2:
        return "but there is only trial 0" if trials else "but there is no trial yet"
    return f"but there are only trials 0 to {len(trials) - 1}"


def successor(study: Study, number: int) -> FrozenTrial | None:
    """The trial that stands in the place of trial `number`, or the last of them."""
    trials = study.get_trials(deepcopy=False)
    places, last = replaced(trials), number
    while last in places:
        last = places[last]
    return None if last == number else trials[last]
