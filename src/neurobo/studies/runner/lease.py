"""Who works on a trial and until when, so that abandoned trials are reclaimed.

A lease is a system attribute of the trial. Whoever works on it renews the lease; when it has run
out, or its holder is a process of this machine that is no more, anybody may give the trial up. It
is then failed, and retried as a new trial with the same point while `retries` allow it.

Optuna's own heartbeats have one period for all trials, which does not suit both a program and a
person; they do not see a trial that died before its first beat, and they work only inside
`Study.optimize`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Container, Sequence
from typing import Any

from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial
from sqlalchemy.exc import SQLAlchemyError

from neurobo.errors import InvalidInput
from neurobo.integrations.optuna import compat
from neurobo.integrations.optuna.attributes import (
    RETRY_OF,
    counting,
    replaced,
)
from neurobo.integrations.optuna.leases import LEASE, Glance, Watch, lease
from neurobo.running.results import known_trials
from neurobo.running.retries import give_up
from neurobo.space.distributions import has_value
from neurobo.space.search_space import Params, Space


def new_trial(
    study: Study, space: Space, held: dict[str, Any], fixed: Params | None = None
) -> Trial:
    """A trial that has its lease from its first moment on: a waiting one, or else a new one. With
    fixed values always a new one."""
    for trial in () if fixed else compat.waiting_trials(study):
        if not may_begin(trial, space):
            continue
        try:
            if compat.claim_trial(study, trial, {LEASE: held}):
                return compat.live_trial(study, trial)
        except UpdateFinishedTrialError:
            continue
    attributes = {LEASE: held, **(compat.as_enqueued(fixed) if fixed else {})}
    template = create_trial(state=TrialState.RUNNING, system_attrs=attributes)
    return compat.begin_trial(study, template)


def may_begin(trial: FrozenTrial, space: Space) -> bool:
    """Whether a waiting trial can be begun: what it was queued with are values of parameters."""
    queued, distributions = compat.enqueued_params(trial), space.distributions
    return not compat.is_queued_badly(trial) and all(
        has_value(distributions[name], value)
        for name, value in queued.items()
        if name in distributions
    )


class Renewal:
    """Renews the leases of this process's trials in a thread until it is left."""

    def __init__(self, study: Study, seconds: float) -> None:
        self._study, self._seconds = study, seconds
        self.held: dict[int, Trial] = {}
        """Trials by number."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="neurobo-leases", daemon=True)

    def __enter__(self) -> Renewal:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def hold(self, trial: Trial) -> None:
        self.held[trial.number] = trial

    def release(self, trial: Trial) -> None:
        self.held.pop(trial.number, None)

    def _renew(self) -> None:
        while not self._over.wait(self._seconds / 3):
            trials = list(self.held.values())
            held = lease(self._seconds, by_process=True)
            # An error is no end: there is time for two more, and the loop will hear of it.
            with contextlib.suppress(StorageInternalError, SQLAlchemyError):
                for ended in compat.renew_attr(self._study, trials, LEASE, held) if trials else ():
                    self.release(ended)


def give_up_expired(
    study: Study,
    space: Space,
    retries: int,
    *,
    without: Container[int] = (),
    watch: Watch | Glance | None = None,
) -> list[int]:
    """Fail every trial whose lease has run out, and queue it again if it may be retried.

    `without` are the numbers of one's own, which a machine that slept has not renewed in time.
    `watch` is that of somebody who looks again and again.
    """
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    watch = watch or Glance()
    late = [t for t in running if t.number not in without and watch.has_run_out(t)]
    reason = "lost: whoever evaluated it died, or did not renew its lease"
    return [t.number for t in late if give_up(study, t, space, retries, reason)]


def retry(study: Study, space: Space, numbers: Sequence[int] | None = None) -> dict[int, int]:
    """Queue failed trials again, all or those of `numbers`: the new trials by the old ones'
    numbers.

    The old ones stay in the study; the model ignores them and they do not count.
    """
    trials = study.get_trials(deepcopy=False)
    failed = {t.number for t in counting(study, trials) if t.state == TrialState.FAIL}
    for number in numbers or ():
        _check_retriable(trials, failed, space, number)
    chosen = sorted(failed if numbers is None else set(numbers))
    chosen = [n for n in chosen if space.contains(trials[n].params)]
    for number in chosen:
        point = space.params(trials[number].params)
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
