"""Evaluations that were lost: the trial is void, and a new one with its point takes its place."""

from __future__ import annotations

from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from neurobo.integrations.optuna import compat
from neurobo.integrations.optuna.attributes import (
    ATTEMPT,
    FAILURE,
    INTERRUPTED,
    RETRY_OF,
    VOID,
    attempt_of,
)
from neurobo.integrations.optuna.history import suggested
from neurobo.space.search_space import Space


def give_up(study: Study, trial: FrozenTrial, space: Space, retries: int, reason: str) -> bool:
    """Fail a running trial; False if it had ended already.

    One that may be retried, or to which no point was suggested yet, becomes void: it does not count
    as an evaluation, and a new trial takes its turn.
    """
    attempt, point = attempt_of(trial), suggested(trial)
    known = space.contains(point)
    again = attempt <= retries or reason == INTERRUPTED
    void = {VOID: True} if again or not known else {}
    try:
        # Only one of several that try succeeds.
        compat.finish_trial(
            study, trial, TrialState.FAIL, user_attrs={FAILURE: reason}, system_attrs=void
        )
    except UpdateFinishedTrialError:
        return False
    if again and known:
        marks = {RETRY_OF: trial.number, ATTEMPT: attempt + (reason != INTERRUPTED)}
        point = space.params(point)
        study.enqueue_trial(point, user_attrs=marks)
    return True
