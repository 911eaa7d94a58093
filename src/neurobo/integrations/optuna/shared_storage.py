"""Optuna's storage for a study that several processes share.

`SharedStorage` is Optuna's own cached storage with three differences. A read asks for what has
changed in two statements. What belongs together is written in one transaction, so that a process
that is killed leaves no half of it. Every call is repeated while the storage is away (`outage`).
Like `compat`, this module may use names that Optuna keeps private.
"""

from __future__ import annotations

import copy
import itertools
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from optuna.distributions import BaseDistribution, check_distribution_compatibility
from optuna.storages import RDBStorage
from optuna.storages._cached_storage import _CachedStorage, _StudyInfo
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy import Connection

from neurobo.integrations.optuna import tables
from neurobo.integrations.optuna.outage import Outage

READS = "neurobo_reads"
"""The execution option of a connection that will not write."""
TOKEN = "neurobo:token"
"""The system attribute by which a trial is known that was stored without an acknowledgement."""


class _Here(threading.local):
    """What a thread is doing."""

    age = 0.0  # seconds that a read may be old
    params: dict[int, dict[str, tuple[float, BaseDistribution]]] | None = None
    """Parameters by trial that wait for their transaction."""


class SharedStorage(_CachedStorage):
    """See the module. `backend` must be on one of `tables.DIALECTS`."""

    def __init__(self, backend: RDBStorage, outage: Outage) -> None:
        super().__init__(backend)
        self.outage = outage
        self._here = _Here()
        self._read_at: dict[int, float] = {}
        self._study_attrs: dict[int, dict[str, Any]] = {}
        self._new: set[int] = set()
        """Ids of trials that were just made here: the cache knows all about them."""

    # Reading -------------------------------------------------------------------------------------

    @contextmanager
    def recent(self, seconds: float) -> Iterator[None]:
        """In this thread, take what was read not longer ago than this, if no result was written."""
        before, self._here.age = self._here.age, seconds
        try:
            yield
        finally:
            self._here.age = before

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._backend.engine.connect() as connection:
            connection = connection.execution_options(**{READS: True})
            with connection.begin():
                yield connection

    def _read_trials_from_remote_storage(self, study_id: int) -> None:
        if time.monotonic() - self._read_at.get(study_id, -float("inf")) <= self._here.age:
            return
        with self._lock, self._reading() as connection:
            self._take_changes(connection, study_id)

    def _take_changes(self, connection: Connection, study_id: int) -> None:
        """Read what may have changed since the last time; the lock must be held."""
        began = time.monotonic()
        study = self._studies.setdefault(study_id, _StudyInfo())
        trials, self._study_attrs[study_id] = tables.read_trials(
            connection,
            study_id,
            tables.changed(study.last_finished_trial_id, study.unfinished_trial_ids),
        )
        self._add_trials_to_cache(study_id, trials)
        for trial in trials:
            if trial.state.is_finished():
                study.last_finished_trial_id = max(study.last_finished_trial_id, trial._trial_id)
                study.unfinished_trial_ids.discard(trial._trial_id)
            else:
                study.unfinished_trial_ids.add(trial._trial_id)
        self._read_at[study_id] = began

    def get_study_system_attrs(self, study_id: int) -> dict[str, Any]:
        self._read_trials_from_remote_storage(study_id)
        return dict(self._study_attrs[study_id])

    def get_trial(self, trial_id: int) -> FrozenTrial:
        with self._lock:
            known = self._trial_id_to_study_id_and_number.get(trial_id)
            cached = None if known is None else self._studies[known[0]].trials[known[1]]
            if cached is not None and cached.state.is_finished():
                return cached
            if cached is not None and trial_id in self._new:
                self._new.discard(trial_id)
                return copy.deepcopy(cached)
        if known is None:
            return self._backend.get_trial(trial_id)
        with self._reading() as connection:
            return self._stored(connection, trial_id)

    # Trials --------------------------------------------------------------------------------------

    def create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> int:
        trial = copy.deepcopy(template_trial) or create_trial(state=TrialState.RUNNING)
        trial.system_attrs = {**trial.system_attrs, TOKEN: secrets.token_hex(8)}
        attempts = itertools.count()
        return self.outage.patiently(lambda: self._create(study_id, trial, next(attempts)))

    def _create(self, study_id: int, trial: FrozenTrial, attempt: int) -> int:
        with self._lock, self._backend.engine.begin() as connection:
            tables.lock_study(connection, study_id)
            token = trial.system_attrs[TOKEN]
            trial_id = tables.trial_with(connection, study_id, TOKEN, token) if attempt else None
            if trial_id is None:
                trial_id = tables.insert_trial(connection, study_id, trial)
            self._take_changes(connection, study_id)
            self._new.add(trial_id)
        return trial_id

    def claim_trial(self, trial_id: int, system_attrs: Mapping[str, Any]) -> bool:
        """Begin a waiting trial and set its attributes; False if another process was faster."""
        attempts = itertools.count()
        return self.outage.patiently(lambda: self._claim(trial_id, system_attrs, next(attempts)))

    def _claim(self, trial_id: int, system_attrs: Mapping[str, Any], attempt: int) -> bool:
        with self._backend.engine.begin() as connection:
            state = tables.state_of(connection, trial_id)
            if state == TrialState.RUNNING and system_attrs and attempt:
                # By the attempt before, whose connection broke?
                stored = self._stored(connection, trial_id).system_attrs
                return all(stored.get(key) == value for key, value in system_attrs.items())
            if state != TrialState.WAITING:
                return False
            tables.set_state(connection, trial_id, TrialState.RUNNING)
            tables.put_attributes(connection, tables.SYSTEM, [trial_id], system_attrs)
        self._forget_age()
        return True

    def _stored(self, connection: Connection, trial_id: int) -> FrozenTrial:
        known = self._trial_id_to_study_id_and_number[trial_id]
        return tables.read_trial(connection, known[0], trial_id)

    def store_if_free(
        self,
        trial_id: int,
        system_attrs: Mapping[str, Any],
        is_free: Callable[[Collection[FrozenTrial]], bool],
    ) -> bool:
        """Set attributes of a trial if `is_free` says so of all trials. No other process does the
        same meanwhile."""
        study_id, _ = self._trial_id_to_study_id_and_number[trial_id]
        with self._lock, self._backend.engine.begin() as connection:
            tables.lock_study(connection, study_id)
            self._take_changes(connection, study_id)
            if not is_free(self._studies[study_id].trials.values()):
                return False
            tables.check_updatable(connection, trial_id)
            tables.put_attributes(connection, tables.SYSTEM, [trial_id], system_attrs)
        return True

    def finish_trial(
        self,
        trial_id: int,
        state: TrialState,
        values: Sequence[float] | None,
        user_attrs: Mapping[str, Any],
        system_attrs: Mapping[str, Any],
    ) -> None:
        """A result with all that belongs to it. UpdateFinishedTrialError if the trial has ended."""
        attempts = itertools.count()

        def finish() -> None:
            with self._backend.engine.begin() as connection:
                if next(attempts) and self._is_written(connection, trial_id, state, values):
                    return
                tables.check_updatable(connection, trial_id)
                tables.put_attributes(connection, tables.USER, [trial_id], user_attrs)
                tables.put_attributes(connection, tables.SYSTEM, [trial_id], system_attrs)
                tables.insert_values(connection, trial_id, values or ())
                tables.set_state(connection, trial_id, state)

        self.outage.patiently(finish)
        self._forget_age()

    def _is_written(
        self,
        connection: Connection,
        trial_id: int,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> bool:
        """Whether a result is there already, because only its acknowledgement was lost."""
        stored = self._stored(connection, trial_id)
        return stored.state == state and stored.values == (values and list(values))

    def renew(self, trial_ids: Sequence[int], key: str, value: Any) -> None:
        """Change a system attribute of those of the trials that are running."""
        with self._backend.engine.begin() as connection:
            tables.renew_attribute(connection, trial_ids, key, value)

    # Parameters ----------------------------------------------------------------------------------

    @contextmanager
    def bundled(self) -> Iterator[None]:
        """Write the parameters that this thread sets in the block together at its end."""
        self._here.params = {}
        try:
            yield
            for trial_id, params in self._here.params.items():
                self.set_params(trial_id, params)
        finally:
            self._here.params = None

    def set_trial_param(
        self,
        trial_id: int,
        param_name: str,
        param_value_internal: float,
        distribution: BaseDistribution,
    ) -> None:
        params = {param_name: (param_value_internal, distribution)}
        if self._here.params is None:
            self.set_params(trial_id, params)
        else:
            self._here.params.setdefault(trial_id, {}).update(params)

    def set_params(
        self, trial_id: int, params: Mapping[str, tuple[float, BaseDistribution]]
    ) -> None:
        with self._lock, self._backend.engine.begin() as connection:
            study_id, _ = self._trial_id_to_study_id_and_number[trial_id]
            known = self._studies[study_id].param_distribution
            for name, (_, distribution) in params.items():
                if name not in known:
                    self._find_distributions(study_id)
                if name in known:
                    check_distribution_compatibility(known[name], distribution)
                known[name] = distribution
            tables.check_updatable(connection, trial_id)
            tables.insert_params(connection, trial_id, params)

    def _find_distributions(self, study_id: int) -> None:
        """Those that the study's trials have."""
        study = self._studies[study_id]
        for trial in study.trials.values():
            for name, distribution in trial.distributions.items():
                study.param_distribution.setdefault(name, distribution)

    def set_study_system_attr(self, study_id: int, key: str, value: Any) -> None:
        self._backend.set_study_system_attr(study_id, key, value)
        self._forget_age()

    def set_trial_state_values(
        self, trial_id: int, state: TrialState, values: Sequence[float] | None = None
    ) -> bool:
        if state == TrialState.RUNNING:
            return self.claim_trial(trial_id, {})
        self.finish_trial(trial_id, state, values, {}, {})
        return True

    def _forget_age(self) -> None:
        """The next read asks the storage."""
        self._read_at.clear()


def _patient(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: SharedStorage, *args: Any, **kwargs: Any) -> Any:
        return self.outage.patiently(lambda: method(self, *args, **kwargs))

    return call


# What may be asked twice without harm; the other methods see to that themselves.
for _name in (
    "create_new_study", "get_all_studies", "get_all_trials", "get_best_trial",
    "get_study_directions", "get_study_id_from_name", "get_study_name_from_id",
    "get_study_system_attrs", "get_study_user_attrs", "get_trial",
    "get_trial_id_from_study_id_trial_number", "renew", "set_params", "set_study_system_attr",
    "set_study_user_attr", "set_trial_intermediate_value", "set_trial_system_attr",
    "set_trial_user_attr", "store_if_free",
):  # fmt: skip
    setattr(SharedStorage, _name, _patient(getattr(SharedStorage, _name)))
