"""Optuna's tables in few SQL statements: what `RDBStorage` does through the ORM in many.

Each function runs inside the transaction of a connection. Like `compat`, this module may use names
that Optuna keeps private.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sql
from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages._rdb.models import BaseModel, TrialIntermediateValueModel, TrialValueModel
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import ColumnElement, CompoundSelect, Connection, Select, Table
from sqlalchemy.dialects import postgresql, sqlite

DIALECTS: dict[str, Callable[[Table], Any]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
"""Databases that these statements are written for, and how each inserts or updates."""

_TABLES: dict[str, Table] = dict(BaseModel.metadata.tables)
STUDIES, TRIALS, PARAMS = (_TABLES[name] for name in ("studies", "trials", "trial_params"))
VALUES, STEPS = (_TABLES[name] for name in ("trial_values", "trial_intermediate_values"))
USER, SYSTEM = (_TABLES[name] for name in ("trial_user_attributes", "trial_system_attributes"))
STUDY_SYSTEM = _TABLES["study_system_attributes"]


# Reading -----------------------------------------------------------------------------------------


def changed(after: int, unfinished: Collection[int]) -> ColumnElement[bool]:
    """The trials of a study that may have changed: those whose id is above `after`, and others that
    had not ended."""
    return sql.or_(TRIALS.c.trial_id > after, TRIALS.c.trial_id.in_(sorted(unfinished)))


def read_trial(connection: Connection, study_id: int, trial_id: int) -> FrozenTrial:
    trials, _ = read_trials(connection, study_id, TRIALS.c.trial_id == trial_id)
    return trials[0]


def read_trials(
    connection: Connection, study_id: int, which: ColumnElement[bool]
) -> tuple[list[FrozenTrial], dict[str, Any]]:
    """Trials of a study, and its system attributes."""
    wanted = sql.and_(TRIALS.c.study_id == study_id, which)
    rows = connection.execute(sql.select(TRIALS).where(wanted).order_by(TRIALS.c.trial_id)).all()
    parts: dict[int, dict[str, dict[Any, Any]]] = {
        row.trial_id: {"params": {}, "distributions": {}, "user": {}, "system": {}, "value": {},
                       "step": {}}
        for row in rows
    }  # fmt: skip
    study_attrs: dict[str, Any] = {}
    for kind, owner, key, text, number, place in connection.execute(_parts(study_id, wanted)):
        if kind == "study":
            study_attrs[key] = _json(text)
        elif owner in parts:  # not begun after the first statement
            _put(parts[owner], kind, key, text, number, place)
    return [_frozen(row, parts[row.trial_id]) for row in rows], study_attrs


def _parts(study_id: int, wanted: ColumnElement[bool]) -> CompoundSelect[Any]:
    """Everything that belongs to the wanted trials, as one statement of equal columns."""
    ids = sql.select(TRIALS.c.trial_id).where(wanted).scalar_subquery()

    def part(kind: str, t: Table, key: Any, text: Any, number: Any, place: Any) -> Select[Any]:
        columns = (
            sql.cast(key, sql.String),
            sql.cast(text, sql.String),
            sql.cast(number, sql.Float(53)),
        )
        owner = t.c.study_id == study_id if kind == "study" else t.c.trial_id.in_(ids)
        whose = t.c.study_id if kind == "study" else t.c.trial_id
        return sql.select(sql.literal(kind), whose, *columns, sql.cast(place, sql.Integer)).where(
            owner
        )

    none = sql.null()
    params, values, steps = PARAMS.c, VALUES.c, STEPS.c
    return sql.union_all(
        part("params", PARAMS, params.param_name, params.distribution_json, params.param_value,
             params.param_id),
        part("value", VALUES, values.value_type, none, values.value, values.objective),
        part("step", STEPS, steps.intermediate_value_type, none, steps.intermediate_value,
             steps.step),
        part("user", USER, USER.c.key, USER.c.value_json, none, none),
        part("system", SYSTEM, SYSTEM.c.key, SYSTEM.c.value_json, none, none),
        part("study", STUDY_SYSTEM, STUDY_SYSTEM.c.key, STUDY_SYSTEM.c.value_json, none, none),
    )  # fmt: skip


def _put(
    trial: dict[str, dict[Any, Any]], kind: str, key: str, text: str, number: Any, place: Any
) -> None:
    if kind in ("user", "system"):
        trial[kind][key] = _json(text)
    elif kind == "value":
        of_type = TrialValueModel.TrialValueType[key]
        trial[kind][place] = TrialValueModel.stored_repr_to_value(number, of_type)
    elif kind == "step":
        model = TrialIntermediateValueModel
        of_kind = model.TrialIntermediateValueType[key]
        trial[kind][place] = model.stored_repr_to_intermediate_value(number, of_kind)
    else:
        distribution = _distribution(text)
        if distribution is not None:
            trial["params"][key] = (place, distribution.to_external_repr(number))
            trial["distributions"][key] = distribution


def _json(text: str) -> Any:
    """None for what cannot be read: one bad attribute must not stop every runner."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None


@lru_cache(maxsize=4096)
def _distribution(text: str) -> BaseDistribution | None:
    try:
        return json_to_distribution(text)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _frozen(row: Any, parts: dict[str, dict[Any, Any]]) -> FrozenTrial:
    values = [parts["value"][place] for place in sorted(parts["value"])]
    order = sorted(parts["params"], key=lambda name: parts["params"][name][0])
    return FrozenTrial(
        number=row.number,
        state=row.state,
        value=None,
        values=values or None,
        datetime_start=_local(row.datetime_start),
        datetime_complete=_local(row.datetime_complete),
        params={name: parts["params"][name][1] for name in order},
        distributions={name: parts["distributions"][name] for name in order},
        user_attrs=parts["user"],
        system_attrs=parts["system"],
        intermediate_values=parts["step"],
        trial_id=row.trial_id,
    )


def _local(moment: datetime | None) -> datetime | None:
    """Optuna stores UTC and shows local time."""
    return None if moment is None else moment.replace(tzinfo=UTC).astimezone().replace(tzinfo=None)


def _utc(moment: datetime | None = None) -> datetime:
    return (moment or datetime.now()).astimezone(UTC).replace(tzinfo=None)


# Writing -----------------------------------------------------------------------------------------


def lock_study(connection: Connection, study_id: int) -> None:
    """Let no other transaction that locks the study run until this one has ended."""
    wanted = sql.select(STUDIES.c.study_id).where(STUDIES.c.study_id == study_id)
    if connection.execute(wanted.with_for_update()).scalar() is None:
        raise KeyError("Record does not exist.")


def trial_with(connection: Connection, study_id: int, key: str, value: Any) -> int | None:
    """The id of the trial that has a system attribute with this value."""
    found = connection.execute(
        sql.select(TRIALS.c.trial_id).join(SYSTEM)
        .where(TRIALS.c.study_id == study_id, SYSTEM.c.key == key)
        .where(SYSTEM.c.value_json == json.dumps(value))
    )  # fmt: skip
    return found.scalar()


def insert_trial(connection: Connection, study_id: int, template: FrozenTrial) -> int:
    """A new trial with all that its template has; the study must be locked. Returns its id."""
    before = sql.select(sql.func.count()).select_from(TRIALS).where(TRIALS.c.study_id == study_id)
    started, ended = template.datetime_start, template.datetime_complete
    trial_id: int = connection.execute(
        sql.insert(TRIALS).returning(TRIALS.c.trial_id).values(
            study_id=study_id,
            number=before.scalar_subquery(),
            state=template.state,
            datetime_start=None if started is None else _utc(started),
            datetime_complete=None if ended is None else _utc(ended),
        )
    ).scalar_one()  # fmt: skip
    insert_params(connection, trial_id, {
        name: (template.distributions[name].to_internal_repr(value), template.distributions[name])
        for name, value in template.params.items()
    })  # fmt: skip
    insert_values(connection, trial_id, template.values or ())
    put_attributes(connection, USER, [trial_id], template.user_attrs)
    put_attributes(connection, SYSTEM, [trial_id], template.system_attrs)
    for step, value in template.intermediate_values.items():
        stored, kind = TrialIntermediateValueModel.intermediate_value_to_stored_repr(value)
        connection.execute(sql.insert(STEPS).values(
            trial_id=trial_id, step=step, intermediate_value=stored, intermediate_value_type=kind,
        ))  # fmt: skip
    return trial_id


def state_of(connection: Connection, trial_id: int) -> TrialState:
    """The state of a trial that no other process may change until the transaction has ended."""
    wanted = sql.select(TRIALS.c.state).where(TRIALS.c.trial_id == trial_id).with_for_update()
    found = connection.execute(wanted).scalar()
    if found is None:
        raise KeyError("Record does not exist.")
    return TrialState(found)


def check_updatable(connection: Connection, trial_id: int) -> None:
    if state_of(connection, trial_id).is_finished():
        raise UpdateFinishedTrialError(f"Trial#{trial_id} has already finished")


def set_state(connection: Connection, trial_id: int, state: TrialState) -> None:
    moments: dict[str, datetime] = {}
    if state == TrialState.RUNNING:
        moments["datetime_start"] = _utc()
    elif state.is_finished():
        moments["datetime_complete"] = _utc()
    connection.execute(
        sql.update(TRIALS).where(TRIALS.c.trial_id == trial_id).values(state=state, **moments)
    )


def insert_params(
    connection: Connection, trial_id: int, params: Mapping[str, tuple[float, BaseDistribution]]
) -> None:
    """Parameters in Optuna's internal representation; those that the trial has stay."""
    rows = [
        {
            "trial_id": trial_id,
            "param_name": name,
            "param_value": value,
            "distribution_json": distribution_to_json(distribution),
        }
        for name, (value, distribution) in params.items()
    ]
    if rows:
        into = DIALECTS[connection.dialect.name](PARAMS).values(rows)
        connection.execute(into.on_conflict_do_nothing())


def insert_values(connection: Connection, trial_id: int, values: Iterable[float]) -> None:
    rows = []
    for objective, value in enumerate(values):
        stored, kind = TrialValueModel.value_to_stored_repr(value)
        rows.append({"trial_id": trial_id, "objective": objective, "value": stored,
                     "value_type": kind})  # fmt: skip
    if rows:
        into = DIALECTS[connection.dialect.name](VALUES).values(rows)
        connection.execute(into.on_conflict_do_update(
            index_elements=["trial_id", "objective"],
            set_={"value": into.excluded.value, "value_type": into.excluded.value_type},
        ))  # fmt: skip


def put_attributes(
    connection: Connection, table: Table, trial_ids: Sequence[int], attrs: Mapping[str, Any]
) -> None:
    """Set attributes of trials, all in one statement."""
    rows = [
        {"trial_id": trial_id, "key": key, "value_json": json.dumps(value)}
        for trial_id in trial_ids
        for key, value in attrs.items()
    ]
    if rows:
        into = DIALECTS[connection.dialect.name](table).values(rows)
        connection.execute(into.on_conflict_do_update(
            index_elements=["trial_id", "key"], set_={"value_json": into.excluded.value_json},
        ))  # fmt: skip


def renew_attribute(
    connection: Connection, trial_ids: Collection[int], key: str, value: Any
) -> None:
    """Change a system attribute of those of the trials that are running."""
    running = sql.select(TRIALS.c.trial_id).where(
        TRIALS.c.trial_id.in_(sorted(trial_ids)), TRIALS.c.state == TrialState.RUNNING
    )
    connection.execute(
        sql.update(SYSTEM)
        .where(SYSTEM.c.key == key, SYSTEM.c.trial_id.in_(running.scalar_subquery()))
        .values(value_json=json.dumps(value))
    )
