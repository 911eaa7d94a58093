"""The one place that touches what Optuna keeps private; tests list every name (Optuna 5).

Optuna's public API cannot write system attributes, take a waiting trial, or begin one with its
attributes from the first moment on, and allows `study.stop()` only inside its own loop. No other
module may use a private name of Optuna, so that an upgrade is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from optuna.storages import BaseStorage
from optuna.storages._rdb.models import BaseModel
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

LOGGERS = ("optuna.study.study", "optuna.storages._in_memory", "optuna.storages._rdb.storage")
"""Loggers that announce a study which is created or found."""
_FIXED_PARAMS = "fixed_params"
"""The system attribute with the point of a trial that `study.enqueue_trial` has queued."""
_CONSTRAINT = "constraints:"
"""Where Optuna keeps constraints among the system attributes, each by its name."""


def storage_of(study: Study) -> BaseStorage:
    """The storage that holds a study."""
    return study._storage


def table_names() -> set[str]:
    """The tables that Optuna makes in a database."""
    return set(BaseModel.metadata.tables)


# Attributes and states ---------------------------------------------------------------------------


def study_system_attrs(study: Study) -> dict[str, Any]:
    return study._storage.get_study_system_attrs(study._study_id)


def set_study_system_attr(study: Study, key: str, value: Any) -> None:
    study._storage.set_study_system_attr(study._study_id, key, value)


def set_trial_system_attr(study: Study, trial: Trial | FrozenTrial, key: str, value: Any) -> None:
    study._storage.set_trial_system_attr(trial._trial_id, key, value)


def set_trial_user_attr(study: Study, trial: Trial | FrozenTrial, key: str, value: Any) -> None:
    """Also of a trial that another process began."""
    study._storage.set_trial_user_attr(trial._trial_id, key, value)


def set_constraint(study: Study, trial: Trial | FrozenTrial, name: str, value: float) -> None:
    """`Trial.set_constraint` for a trial that another process began."""
    set_trial_system_attr(study, trial, _CONSTRAINT + name, value)


def set_trial_state(
    study: Study,
    trial: Trial | FrozenTrial,
    state: TrialState,
    values: Sequence[float] | None = None,
) -> bool:
    """False if a waiting trial was to run and another process was faster. UpdateFinishedTrialError
    if the trial has ended already."""
    return study._storage.set_trial_state_values(trial._trial_id, state, values)


# Trials ------------------------------------------------------------------------------------------


def stored_trial(study: Study, trial: Trial | FrozenTrial) -> FrozenTrial:
    """The trial as it is in the storage now."""
    return study._storage.get_trial(trial._trial_id)


def live_trial(study: Study, trial: FrozenTrial) -> Trial:
    """A stored trial as one that suggests values."""
    return Trial(study, trial._trial_id)


def enqueued_params(trial: FrozenTrial) -> dict[str, Any]:
    """The point that a trial was queued with; empty if it was not queued."""
    return dict(trial.system_attrs.get(_FIXED_PARAMS, {}))


def as_enqueued(params: dict[str, Any]) -> dict[str, Any]:
    """The system attributes of a trial that is queued with these values."""
    return {_FIXED_PARAMS: params}


def waiting_trials(study: Study) -> list[FrozenTrial]:
    """The queue as it is in the storage now; this thread forgets what it has read before."""
    study._thread_local.cached_all_trials = None
    return study._storage.get_all_trials(
        study._study_id, deepcopy=False, states=(TrialState.WAITING,)
    )


def begin_trial(study: Study, template: FrozenTrial) -> Trial:
    """A new trial that has the template's state and attributes from its first moment on."""
    return Trial(study, study._storage.create_new_trial(study._study_id, template))


# Stopping ----------------------------------------------------------------------------------------


@contextmanager
def stoppable(study: Study) -> Iterator[None]:
    """Let callbacks call `study.stop()`, which Optuna allows only inside its own loop."""
    study._stop_flag = False
    study._thread_local.in_optimize_loop = True
    try:
        yield
    finally:
        study._thread_local.in_optimize_loop = False


def request_stop(study: Study) -> None:
    """`study.stop()` at any moment and in any thread."""
    study._stop_flag = True


def stop_requested(study: Study) -> bool:
    return study._stop_flag
