"""What Optuna keeps private and neurobo needs; tests list every name (Optuna 5).

Optuna's public API cannot write system attributes, take a waiting trial, or begin one with its
attributes from the first moment on, and allows `study.stop()` only inside its own loop. No other
module may use a private name of Optuna, so that an upgrade is checked here; except `tables` and
`shared_storage`, the storage that neurobo opens itself. Functions here work on any storage, and do
in one transaction there what takes several calls elsewhere.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeGuard

from optuna.distributions import BaseDistribution, check_distribution_compatibility
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage, InMemoryStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

if TYPE_CHECKING:  # sqlalchemy takes a tenth of a second, and only databases need it
    from neurobo.integrations.optuna.outage import Outage
    from neurobo.integrations.optuna.shared_storage import SharedStorage

LOGGERS = (
    "optuna.study.study", "optuna.storages._in_memory", "optuna.storages._rdb.storage",
    "optuna.storages.journal._storage",
)  # fmt: skip
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
    from optuna.storages._rdb.models import BaseModel

    return set(BaseModel.metadata.tables)


def _is_shared(storage: BaseStorage) -> TypeGuard[SharedStorage]:
    """A storage of ours exists only where somebody has imported its module."""
    module = sys.modules.get("neurobo.integrations.optuna.shared_storage")
    return module is not None and isinstance(storage, module.SharedStorage)


# Attributes and states ---------------------------------------------------------------------------


def study_system_attrs(study: Study) -> dict[str, Any]:
    return study._storage.get_study_system_attrs(study._study_id)


def set_study_system_attr(study: Study, key: str, value: Any) -> None:
    study._storage.set_study_system_attr(study._study_id, key, value)


def set_trial_system_attr(study: Study, trial: Trial | FrozenTrial, key: str, value: Any) -> None:
    study._storage.set_trial_system_attr(trial._trial_id, key, value)


def finish_trial(
    study: Study,
    trial: Trial | FrozenTrial,
    state: TrialState,
    values: Sequence[float] | None = None,
    *,
    user_attrs: Mapping[str, Any] | None = None,
    system_attrs: Mapping[str, Any] | None = None,
    constraints: Mapping[str, float] | None = None,
) -> None:
    """End a trial, also one that another process began, with all that belongs to its result.
    UpdateFinishedTrialError if the trial has ended already."""
    storage, trial_id = study._storage, trial._trial_id
    of_system = {**(system_attrs or {})}
    of_system |= {_CONSTRAINT + name: value for name, value in (constraints or {}).items()}
    if _is_shared(storage):
        storage.finish_trial(trial_id, state, values, user_attrs or {}, of_system)
        return
    for key, value in (user_attrs or {}).items():
        storage.set_trial_user_attr(trial_id, key, value)
    for key, value in of_system.items():
        storage.set_trial_system_attr(trial_id, key, value)
    storage.set_trial_state_values(trial_id, state, values)


def claim_trial(study: Study, trial: FrozenTrial, system_attrs: Mapping[str, Any]) -> bool:
    """Begin a waiting trial with attributes; False if another process was faster.
    UpdateFinishedTrialError if the trial has ended already."""
    storage, trial_id = study._storage, trial._trial_id
    if _is_shared(storage):
        return storage.claim_trial(trial_id, system_attrs)
    # Attributes first: a trial that runs is never without its lease.
    for key, value in system_attrs.items():
        storage.set_trial_system_attr(trial_id, key, value)
    taken = storage.set_trial_state_values(trial_id, TrialState.RUNNING)
    for key, value in system_attrs.items() if taken else ():  # others may have done the same
        storage.set_trial_system_attr(trial_id, key, value)
    return taken


def renew_attr(study: Study, trials: Sequence[Trial], key: str, value: Any) -> list[Trial]:
    """Change a system attribute of running trials; those that were not running any more, as far as
    the storage tells."""
    storage, ended = study._storage, []
    if _is_shared(storage):
        storage.renew([trial._trial_id for trial in trials], key, value)
        return []
    for trial in trials:
        try:
            storage.set_trial_system_attr(trial._trial_id, key, value)
        except (UpdateFinishedTrialError, KeyError):
            ended.append(trial)
    return ended


def store_if_free(
    study: Study,
    trial: FrozenTrial,
    system_attrs: Mapping[str, Any],
    is_free: Callable[[Collection[FrozenTrial]], bool],
) -> bool:
    """Set attributes of a trial if `is_free` says so of all trials. Without transactions the
    attributes are set first: of two trials that exclude each other at least one sees the other."""
    storage, trial_id = study._storage, trial._trial_id
    if _is_shared(storage):
        return storage.store_if_free(trial_id, system_attrs, is_free)
    for key, value in system_attrs.items():
        storage.set_trial_system_attr(trial_id, key, value)
    return is_free(storage.get_all_trials(study._study_id, deepcopy=False))


def chosen_together(
    trial: Trial, distributions: Mapping[str, BaseDistribution]
) -> Mapping[str, Any] | None:
    """The values that the sampler has chosen for these parameters of a new trial in memory, which
    `store_params` can store; None: ask Optuna for one after the other. It takes some 50
    microseconds for each, more than a thousand workers would have time for."""
    study, new = trial.study, not (trial._fixed_params or trial._cached_frozen_trial.params)
    if type(study._storage) is not InMemoryStorage or not new:
        return None
    values, searched = trial.relative_params, trial.relative_search_space or {}
    chosen = all(
        d.single() or (name in values and searched[name] == d) for name, d in distributions.items()
    )
    return values if chosen else None


def store_params(
    trial: Trial, params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]
) -> None:
    """Give a trial in memory all its parameters at once, as Optuna does one by one."""
    study, trial_id, cached = trial.study, trial._trial_id, trial._cached_frozen_trial
    storage: Any = study._storage
    with storage._lock:
        stored = copy.copy(storage.get_trial(trial_id))
        storage.check_trial_is_updatable(trial_id, stored.state)
        known = storage._studies[study._study_id].param_distribution
        for name, distribution in distributions.items():
            check_distribution_compatibility(known.get(name, distribution), distribution)
        known.update(distributions)
        stored.params = {**stored.params, **params}
        stored.distributions = {**stored.distributions, **distributions}
        storage._set_trial(trial_id, stored)
    cached.params, cached.distributions = stored.params, stored.distributions


def recent(study: Study, seconds: float) -> AbstractContextManager[None]:
    """In this thread, a read of the study may be as old as this."""
    storage = study._storage
    return storage.recent(seconds) if _is_shared(storage) else nullcontext()


def bundled(study: Study) -> AbstractContextManager[None]:
    """Store the parameters that this thread suggests in the block together."""
    storage = study._storage
    return storage.bundled() if _is_shared(storage) else nullcontext()


def outage_of(study: Study) -> Outage | None:
    """What repeats the calls to the study's storage while it is away."""
    storage = study._storage
    return storage.outage if _is_shared(storage) else None


# Trials ------------------------------------------------------------------------------------------


def stored_trial(study: Study, trial: Trial | FrozenTrial) -> FrozenTrial:
    """The trial as it is in the storage now."""
    return study._storage.get_trial(trial._trial_id)


def live_trial(study: Study, trial: FrozenTrial) -> Trial:
    """A stored trial as one that suggests values."""
    return Trial(study, trial._trial_id)


def enqueued_params(trial: FrozenTrial) -> dict[str, Any]:
    """The point that a trial was queued with; empty if it was not queued, or what stands there is
    no point."""
    found = trial.system_attrs.get(_FIXED_PARAMS)
    return dict(found) if isinstance(found, Mapping) else {}


def is_queued_badly(trial: FrozenTrial) -> bool:
    """Whether the point that a trial was queued with cannot be read."""
    return not isinstance(trial.system_attrs.get(_FIXED_PARAMS, {}), Mapping)


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
