"""What a study file means, in words, without running or importing anything that it names."""

from __future__ import annotations

import ast
import math
import shutil
import sys
from pathlib import Path
from typing import Any

from neurobo.pool import CANDIDATE
from neurobo.studies.objective import arguments, kept_folder
from neurobo.studies.study_file import StudyFile


def meaning(file: StudyFile) -> dict[str, str]:
    """One line for each thing that the file decides."""
    table = file.table
    from neurobo.algorithms import describe

    spent = f"{table.budget.trials} trials"
    if table.budget.hours is not None:
        spent += f", none begun after {table.budget.hours:g} hours of a run"
    options = ", ".join(f"{name} = {value!r}" for name, value in table.options.items())
    found = {
        "study": f"{table.name!r}, to {table.direction}",
        "budget": spent,
        "space": _size(file),
        "algorithm": f"{table.algorithm}{f' ({options})' if options else ''}: "
        f"{describe(table.algorithm)}",
        "start": f"{file.n_start} points of a Sobol design, seed {table.seed}",
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


def doubts(file: StudyFile) -> list[str]:
    """What is no mistake in the file, but will not work as things are now."""
    objective, found = file.table.objective, []
    if objective is None:
        found.append("there is no [objective]: only `neurobo ask` and `neurobo tell` will work")
    elif objective.command is not None:
        program = objective.command[0]
        place = file.folder / program
        missing = not place.is_file() if "/" in program else shutil.which(program) is None
        line = file.line("objective", "command")
        if missing and "{" not in program:
            found.append(f"line {line}: the program {program!r} is not there")
        elif "/" in program and not missing and not shutil.which(str(place)):
            found.append(f"line {line}: {program!r} may not be executed (chmod +x)")
        unused = [n for n in file.table.space if not _used(n, file)]
        if unused and objective.stdin == "none" and not objective.params_file:
            found.append(f"line {line}: the program does not get {', '.join(unused)}")
    else:
        found += _doubts_about_python(file, str(objective.python))
    return found


def _used(name: str, file: StudyFile) -> bool:
    assert file.table.objective is not None
    return any(f"{{{name}}}" in argument for argument in file.table.objective.command or ())


def _doubts_about_python(file: StudyFile, reference: str) -> list[str]:
    """Looks at the text of the module; importing it would run it."""
    module, _, function = reference.partition(":")
    line = file.line("objective", "python")
    relative = Path(*module.split("."))
    places = [file.folder, *(Path(p) for p in sys.path if p)]
    found = [
        path
        for place in places
        for path in (place / relative.with_suffix(".py"), place / relative / "__init__.py")
        if path.is_file()
    ]
    if not found:
        return [f"line {line}: there is no module {module!r} beside the study file or installed"]
    try:
        tree = ast.parse(found[0].read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:
        return [f"line {line}: {found[0].name} is not valid Python: {error}"]
    names = {_name(node) for node in ast.walk(tree)}
    if function.split(".")[0] not in names:
        return [f"line {line}: {found[0].name} does not define {function!r}"]
    return []


def _name(node: ast.AST) -> str | None:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Name(id=name, ctx=ast.Store()) | ast.alias(asname=None, name=name):
            return name
        case ast.alias(asname=str(name)):
            return name
    return None


def parameters(file: StudyFile) -> list[dict[str, Any]]:
    """The space as rows of a table."""
    rows = []
    for name, p in file.table.space.items():
        if p.choices is not None:
            rows.append({"name": name, "values": f"one of {', '.join(map(repr, p.choices))}"})
            continue
        kind = "whole numbers " if p.type == "int" else ""
        how = ", logarithmic" if p.log else f", in steps of {p.step:g}" if p.step else ""
        rows.append({"name": name, "values": f"{kind}{p.low:g} to {p.high:g}{how}"})
    if file.pool is not None:
        count, columns = len(file.pool), file.pool.columns
        rows.append({"name": CANDIDATE, "values": f"{count} candidates, {columns} features each"})
    return rows


def _size(file: StudyFile) -> str:
    count, size = len(parameters(file)), file.space.size
    points = "" if math.isinf(size) else f", {size:.0f} points"
    return f"{count} parameter{'s' * (count != 1)}{points}"


def _objective(file: StudyFile) -> str:
    objective = file.table.objective
    if objective is None:
        return "none: points by `neurobo ask`, values by `neurobo tell`"
    if objective.python is not None:
        return f"the Python function {objective.python}"
    point = {name: f"<{name}>" for name in (*file.table.space, CANDIDATE, "id")}
    shown = arguments(file, point, 0, Path("<folder of the trial>"))
    return "the program " + " ".join(repr(a) if " " in a else a for a in shown)


def _evaluation(file: StudyFile) -> str:
    objective = file.table.objective
    assert objective is not None
    where = "in a folder of its own" if objective.working_folder == "trial" else "in this folder"
    parts = [f"{file.table.workers} at a time", where]
    if objective.timeout is not None:
        parts.append(f"killed after {objective.timeout:g} s")
    if objective.keep != "none":
        parts.append(f"folders kept in {kept_folder(file, 0).parent} ({objective.keep})")
    retries = file.table.retries
    parts.append(f"begun again up to {retries} time{'s' * (retries != 1)} if lost")
    return ", ".join(parts)


def _storage(file: StudyFile) -> str:
    path = file.database
    if path is None:
        from neurobo.studies.store import public_url

        return public_url(file)
    return f"{path}" + ("" if path.exists() else " (not there yet)")
