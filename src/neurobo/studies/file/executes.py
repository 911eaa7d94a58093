"""What a study executes when it runs, and whether it is there. Nothing is executed to find out."""

from __future__ import annotations

import ast
import re
import shutil
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from neurobo.errors import did_you_mean
from neurobo.space.pool import CANDIDATE
from neurobo.studies.file.command import ID, NAMES, STUDY_FOLDER, arguments
from neurobo.studies.file.study_file import StudyFile

_FILE = re.compile(r"[^\s:]*\.[A-Za-z]\w{0,7}")
"""A word that ends like a file's name: simulate.py, data/mesh.msh; not 1.5, not a URL."""
_NO_FILE_YET = re.compile(r"(-m|-o|--?(out|output|log|save|write|report)[\w-]*)$")
"""Options whose value is a file that need not be there yet, or a module (`python -m`)."""


def executed(file: StudyFile) -> list[str]:
    """What `neurobo run` executes of a study file, one sentence each."""
    objective, physics, found = file.table.objective, file.table.physics, []
    if objective is not None and objective.command is not None:
        found.append(f"the program {command_line(file)}")
    elif objective is not None:
        found.append(f"the Python function {objective.python}")
    if physics is not None:
        found.append(f"the Python function {physics.residual} (also `neurobo ask`)")
    return found


def command_line(file: StudyFile) -> str:
    """The objective's program with names of parameters in the place of values."""
    point = {name: f"<{name}>" for name in (*file.table.space, CANDIDATE, ID)}
    shown = arguments(file, point, 0, Path("<folder of the trial>"))
    return " ".join(repr(a) if " " in a else a for a in shown)


def doubts(file: StudyFile) -> list[str]:
    """What is no mistake in the file, but will not work as things are now."""
    objective, physics, found = file.table.objective, file.table.physics, list[str]()
    if objective is None:
        found.append("there is no [objective]: only `neurobo ask` and `neurobo tell` will work")
    elif objective.command is not None:
        line = file.line("objective", "command")
        found += [f"line {line}: {text}" for text in _doubts_about_command(file)]
    else:
        found += _doubts_about_python(file, str(objective.python), "objective", "python")
    if physics is not None:
        found += _doubts_about_python(file, physics.residual, "physics", "residual")
    return found


def _doubts_about_command(file: StudyFile) -> list[str]:
    objective = file.table.objective
    assert objective is not None
    command = objective.command or [""]
    found, program = [], command[0]
    place = file.folder / program
    missing = not place.is_file() if "/" in program else shutil.which(program) is None
    if missing and "{" not in program:
        where = f"in {file.folder}" if "/" in program else "on the PATH"
        found.append(f"the program {program!r} is not there ({where})")
    elif "/" in program and not missing and not shutil.which(str(place)):
        found.append(f"{program!r} may not be executed (chmod +x)")
    for before, argument in pairwise(command):
        if not _NO_FILE_YET.match(before) and (name := _missing_file(file, argument)):
            others = [path.name for path in Path(name).parent.glob("*") if path.is_file()]
            hint = did_you_mean(Path(name).name, others)
            found.append(f"the file {argument!r} is not there ({name}){hint}")
    unused = [n for n in file.table.space if not any(f"{{{n}}}" in a for a in command)]
    if unused and objective.stdin == "none" and not objective.params_file:
        found.append(f"the program does not get {', '.join(unused)}")
    return found


def _missing_file(file: StudyFile, argument: str) -> str:
    """The path that an argument names, if it looks like a file's and there is none."""
    path = argument.replace(f"{{{STUDY_FOLDER}}}", str(file.folder))
    if NAMES.search(path) or path.startswith("-") or not _FILE.fullmatch(path):
        return ""
    place = file.folder / path
    return "" if place.exists() else str(place)


def _doubts_about_python(file: StudyFile, reference: str, *key: str) -> list[str]:
    """Looks at the text of the module; importing it would run it."""
    module, _, function = reference.partition(":")
    line, name = file.line(*key), function.split(".")[0]
    spec = _found(file, module)
    if spec is None:
        others = [path.stem for path in file.folder.glob("*.py")]
        hint = did_you_mean(module, others)
        return [
            f"line {line}: there is no module {module!r} beside the study file or installed{hint}"
        ]
    if not spec.origin or not spec.origin.endswith(".py"):
        return []  # compiled: only an import could tell more
    source = Path(spec.origin)
    try:
        tree = ast.parse(source.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:
        return [f"line {line}: {source.name} is not valid Python: {error}"]
    names = {found for node in ast.walk(tree) if (found := _name(node))}
    if name not in names and "*" not in names:
        hint = did_you_mean(name, names)
        return [f"line {line}: {source.name} does not define {function!r}{hint}"]
    return []


def _found(file: StudyFile, module: str) -> ModuleSpec | None:
    """Where a module is, without importing it or a package around it."""
    first, *rest = module.split(".")
    try:
        spec = PathFinder.find_spec(first, [str(file.folder)]) or find_spec(first)
    except ValueError:  # a module of this process without a file, such as __main__
        return None
    for i, _ in enumerate(rest, start=2):
        if spec is None or spec.submodule_search_locations is None:
            return None
        name = ".".join(module.split(".")[:i])
        spec = PathFinder.find_spec(name, list(spec.submodule_search_locations))
    return spec


def _name(node: ast.AST) -> str | None:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Name(id=name, ctx=ast.Store()) | ast.alias(asname=None, name=name):
            return name
        case ast.alias(asname=str(name)):
            return name
    return None
