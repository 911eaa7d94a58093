"""What a study file means, in words, without running or importing anything that it names."""

from __future__ import annotations

import math
from typing import Any

from neurobo.algorithm import describe
from neurobo.integrations.optuna.storage_errors import public_url
from neurobo.space.pool import CANDIDATE
from neurobo.studies.file.command import kept_folder
from neurobo.studies.file.executes import command_line
from neurobo.studies.file.pool_file import read_with
from neurobo.studies.file.schema import Parameter
from neurobo.studies.file.study_file import StudyFile


def meaning(file: StudyFile) -> dict[str, str]:
    """One line for each thing that the file decides."""
    table = file.table
    spent = f"{table.budget.trials} trials"
    if table.budget.hours is not None:
        spent += f", none begun after {table.budget.hours:g} hours of a run"
    options = ", ".join(f"{name} = {value!r}" for name, value in table.options.items())
    found = {
        "study": f"{table.name!r}, to {table.direction}",
        "budget": spent,
        "space": _size(file),
        **({"where": _where(file)} if table.where else {}),
        "algorithm": f"{table.algorithm}{f' ({options})' if options else ''}: "
        f"{describe(table.algorithm)}",
        "start": f"{file.n_start} points of {_design(file)}, seed {table.seed}",
        "objective": _objective(file),
    }
    if table.constraints:
        found["constraints"] = f"{', '.join(table.constraints)}; feasible where all are <= 0"
    if table.objective is not None:
        found["evaluation"] = _evaluation(file)
    hours = f"{table.lease.ask_hours:g} hours for `ask`"
    found["leases"] = f"{table.lease.seconds:g} s for `run`, renewed; {hours}"
    found["storage"] = _storage(file)
    if table.physics is not None:
        found["physics"] = f"{table.physics.residual} is zero where the law holds"
    return found


def parameters(file: StudyFile) -> list[dict[str, Any]]:
    """The space as rows of a table."""
    rows = []
    for name, p in file.table.space.items():
        if p.choices is not None:
            order = " in this order" * p.ordered
            values = f"one of {', '.join(map(repr, p.choices))}{order}"
        else:
            kind = "whole numbers " if p.type == "int" else ""
            how = ", logarithmic" if p.log else f", in steps of {p.step:g}" if p.step else ""
            values = f"{kind}{p.low:g} to {p.high:g}{how}"
        rows.append({"name": name, "values": f"{values}{_condition(p)}"})
    if file.pool is not None:
        count, columns = len(file.pool), file.pool.columns
        how = read_with(file.folder, file.table.pool) if file.table.pool is not None else ""
        values = f"{count} candidates, {columns} features each"
        values += f" (read with {how})" if how else ""
        rows.append({"name": CANDIDATE, "values": values})
    return rows


def _condition(p: Parameter) -> str:
    """When a parameter exists, in words."""
    parts = []
    for parent, allowed in (p.when or {}).items():
        if isinstance(allowed, list):
            values = " or ".join(map(repr, allowed))
            parts.append(f"{parent} is {values}")
        else:
            low = [] if allowed.low is None else [f"at least {allowed.low:g}"]
            high = [] if allowed.high is None else [f"at most {allowed.high:g}"]
            parts.append(f"{parent} is {' and '.join([*low, *high])}")
    return f"; only if {' and '.join(parts)}" if parts else ""


def _where(file: StudyFile) -> str:
    assert file.space.where is not None
    return f"every point meets: {'; '.join(file.space.where.words())}"


def _design(file: StudyFile) -> str:
    return "an even design of what `where` allows" if file.table.where else "a Sobol design"


def _size(file: StudyFile) -> str:
    count, size = len(parameters(file)), file.space.size
    points = "" if math.isinf(size) else f", {size:.0f} points"
    conditional = len(file.space.conditions.requirements)
    some = f", {conditional} of them only for some values of others" * bool(conditional)
    return f"{count} parameter{'s' * (count != 1)}{some}{points}"


def _objective(file: StudyFile) -> str:
    objective = file.table.objective
    if objective is None:
        return "none: points by `neurobo ask`, values by `neurobo tell`"
    if objective.python is not None:
        return f"the Python function {objective.python}"
    return f"the program {command_line(file)}"


def _evaluation(file: StudyFile) -> str:
    objective = file.table.objective
    assert objective is not None
    where = "in a folder of its own" if objective.working_folder == "trial" else "in this folder"
    parts = [_engine(file), where]
    if objective.timeout is not None:
        parts.append(f"killed after {objective.timeout:g} s")
    if objective.keep != "none":
        parts.append(f"folders kept in {kept_folder(file, 0).parent} ({objective.keep})")
    retries = file.table.retries
    parts.append(f"retried up to {retries} time{'s' * (retries != 1)} if lost")
    return ", ".join(parts)


def _engine(file: StudyFile) -> str:
    """Where and how many at a time, as far as the file says."""
    engine, given = file.table.engine, "workers" in file.table.model_fields_set
    local = engine.kind in ("processes", "threads")
    count = f"{file.table.workers} at a time" if local or given else "as many as it can run"
    if engine.kind == "processes":
        return count
    kind = engine.kind.capitalize() if not local else "threads of the runner"
    return f"on {kind}{f' at {engine.address}' if engine.address else ''}, {count}"


def _storage(file: StudyFile) -> str:
    path = file.database
    if path is None:
        return public_url(file.storage)
    return f"{path}" + ("" if path.exists() else " (not there yet)")
