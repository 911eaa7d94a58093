"""Results from and to other files: CSV, JSON, Parquet."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

from neurobo.errors import InvalidInput, MissingPackage, did_you_mean
from neurobo.integrations.optuna.attributes import (
    FAILURE,
    RETRY_OF,
    SOURCE,
    counting,
    is_feasible,
    replaced,
)
from neurobo.space.search_space import Params, Space
from neurobo.studies.file.command import written
from neurobo.studies.file.sheet import Sheet, read_sheet
from neurobo.studies.file.study_file import StudyFile

FORMATS = ("csv", "json", "parquet")
OWN = ("id", "state", "value", "feasible", "started", "ended", "failure", "retry_of", "replaced_by")
"""Columns of an export besides parameters, constraints and attributes."""


# Import -----------------------------------------------------------------------------------------


class Row(NamedTuple):
    line: int
    params: Params
    value: float | None
    """None: it failed."""
    constraints: dict[str, float]


class Reading(NamedTuple):
    rows: list[Row]
    bad: list[str]
    """One sentence for each bad line."""
    ignored: list[str]
    """Columns that mean nothing to the study."""
    digest: str
    read_with: str
    """Separator and decimal commas, if they are not the usual ones."""


def read_results(file: StudyFile, path: Path, value_column: str = "value") -> Reading:
    """The rows of a CSV file with a heading; columns are matched by name. Nothing is stored."""
    distributions = file.space.distributions
    names = [*distributions, value_column, *file.table.constraints]

    def numeric(name: str) -> bool:
        return name in names and not isinstance(distributions.get(name), CategoricalDistribution)

    sheet = read_sheet(path, "the results", needed=names, numeric=numeric)
    header = sheet.header
    missing = [name for name in names if name not in header]
    if missing:
        hint = did_you_mean(missing[0], [name for name in header if name not in names])
        raise InvalidInput(
            f"the heading of {path} must name every parameter, constraint and `{value_column}`, "
            f"got none for {missing}{hint}"
        )
    twice = sorted({name for name in names if header.count(name) > 1})
    if twice:
        raise InvalidInput(f"a column must stand only once in {path}, got {twice} twice")
    rows, bad = [], []
    for number, cells in enumerate(sheet.rows, start=2):
        if not any(cell.strip() for cell in cells):
            continue
        try:
            if len(cells) != len(header):
                raise InvalidInput(f"a row must have {len(header)} cells, got {len(cells)}")
            named = dict(zip(header, cells, strict=True))
            rows.append(_row(file, sheet, number, named, value_column))
        except InvalidInput as error:
            bad.append(f"line {number}: {error}")
    ignored = [name for name in header if name not in names]
    return Reading(rows, bad, ignored, sheet.digest, sheet.read_with)


def _row(
    file: StudyFile, sheet: Sheet, line: int, cells: Mapping[str, str], value_column: str
) -> Row:
    space = file.space
    given = {
        name: _value(space, sheet, name, cells[name])
        for name in space.distributions
        if cells[name].strip() or name not in space.conditions.requirements
    }
    params = space.params(given)
    text = cells[value_column].strip()
    value = sheet.number(value_column, text) if text else None
    constraints = {}
    for name in file.table.constraints:
        if cells[name].strip() or value is not None:
            constraints[name] = sheet.number(name, cells[name])
            if not math.isfinite(constraints[name]):
                raise InvalidInput(f"{name!r} must be a finite number, got {cells[name]!r}")
    return Row(line, params, value if value is not None and math.isfinite(value) else None,
               constraints)  # fmt: skip


def _value(space: Space, sheet: Sheet, name: str, text: str) -> Any:
    distribution = space.distributions[name]
    if isinstance(distribution, CategoricalDistribution):
        forms = {text, text.replace(",", ".")} if sheet.decimal_comma else {text}
        for choice in distribution.choices:
            if forms & {written(choice), str(choice)}:
                return choice
        known = list(distribution.choices)
        raise InvalidInput(
            f"{name!r} must be one of {known}, got {text!r}{did_you_mean(text, known)}"
        )
    number = sheet.number(name, text)
    if isinstance(distribution, IntDistribution) and math.isfinite(number):
        return int(number) if number == int(number) else number
    return number


def store_rows(study: Study, space: Space, path: Path, reading: Reading) -> Iterator[bool]:
    """Add the rows as trials, one at a time; whether each was new.

    A row that an import of the same file has added before is passed over, so that an import that
    broke off can be repeated.
    """
    known = {t.user_attrs.get(SOURCE) for t in study.get_trials(deepcopy=False)}
    for row in reading.rows:
        source = f"{path.name} {reading.digest} line {row.line}"
        if source in known:
            yield False
            continue
        failed = row.value is None
        study.add_trial(
            create_trial(
                state=TrialState.FAIL if failed else TrialState.COMPLETE,
                value=row.value,
                params=row.params,
                distributions={name: space.distributions[name] for name in row.params},
                constraints=row.constraints,
                user_attrs={SOURCE: source, **({FAILURE: "imported"} if failed else {})},
            )
        )
        yield True


# Export -----------------------------------------------------------------------------------------


def table_of(study: Study, file: StudyFile, *, everything: bool = False) -> list[dict[str, Any]]:
    """One row for each trial that counts and has ended; with `everything` for all trials, and which
    one stands in the place of which."""
    known = study.get_trials(deepcopy=False)
    trials = known if everything else counting(study)
    params = _columns(file.space.distributions, "param_")
    constraints = _columns(file.table.constraints, "constraint_", {*params.values()})
    taken = {*params.values(), *constraints.values()}
    names = sorted({name for t in trials for name in t.user_attrs} - {FAILURE, RETRY_OF})
    attrs = _columns(names, "attr_", taken)
    rows = [_exported(trial, params, constraints, attrs) for trial in trials]
    if everything:
        places = replaced(known)
        rows = [{**row, "replaced_by": places.get(row["id"])} for row in rows]
    return rows


def _columns(names: Iterable[str], prefix: str, taken: set[str] | None = None) -> dict[str, str]:
    """Names of columns; a name that is taken gets a prefix."""
    used = {*OWN, *(taken or ())}
    return {name: prefix + name if name in used else name for name in names}


def _exported(
    trial: FrozenTrial,
    params: Mapping[str, str],
    constraints: Mapping[str, str],
    attrs: Mapping[str, str],
) -> dict[str, Any]:
    started, ended = trial.datetime_start, trial.datetime_complete
    return {
        "id": trial.number,
        "state": trial.state.name,
        "value": trial.value if trial.state == TrialState.COMPLETE else None,
        **{column: trial.params.get(name) for name, column in params.items()},
        **{column: trial.constraints.get(name) for name, column in constraints.items()},
        "feasible": is_feasible(trial) if trial.state == TrialState.COMPLETE else None,
        "started": started.isoformat(timespec="seconds") if started else None,
        "ended": ended.isoformat(timespec="seconds") if ended else None,
        "failure": trial.user_attrs.get(FAILURE),
        "retry_of": trial.user_attrs.get(RETRY_OF),
        **{column: trial.user_attrs.get(name) for name, column in attrs.items()},
    }


def as_text(rows: Sequence[Mapping[str, Any]], form: str) -> str:
    if form == "json":
        return json.dumps(rows, indent=1) + "\n"
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
        for row in rows:
            writer.writerow([_cell(value) for value in row.values()])
    return out.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, list | dict) else written(value)


def write_parquet(rows: Sequence[Mapping[str, Any]], target: Path) -> None:
    try:
        arrow, writer = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingPackage("Parquet files need another package: pip install pyarrow") from None
    plain = [
        {k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in row.items()}
        for row in rows
    ]
    writer.write_table(arrow.Table.from_pylist(plain), target)
