"""The command of a study file: names in its arguments, and what they stand for in a trial."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neurobo.space.pool import CANDIDATE
from neurobo.studies.file.schema import StudyTable
from neurobo.studies.file.study_file import StudyFile

NAMES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
"""`{name}`, and doubled braces that stand for themselves."""
TRIAL, TRIAL_FOLDER, STUDY_FOLDER, PARAMS_FILE, ID = (
    "trial", "trial_folder", "study_folder", "params_file", "id",
)  # fmt: skip


def placeholders(table: StudyTable) -> set[str]:
    """Names that stand for something in a command, besides the parameters."""
    names = {TRIAL, TRIAL_FOLDER, STUDY_FOLDER}
    if table.objective is not None and table.objective.params_file:
        names.add(PARAMS_FILE)
    if table.pool is not None:
        names |= {CANDIDATE} | ({ID} if table.pool.ids else set())
    return names


def filled(argument: str, values: Mapping[str, Any]) -> str:
    """One argument with its names replaced, once: what a value contains stays as it is."""

    def replace(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0][0]
        return written(values.get(found[1], ""))  # the value of an inactive parameter

    return NAMES.sub(replace, argument)


def written(value: Any) -> str:
    """A value as a program reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def unknown_names(argument: str, known: set[str]) -> list[str]:
    """Names in an argument that stand for nothing."""
    found = [m[1] for m in NAMES.finditer(argument) if m[1] is not None]
    return [name for name in found if name not in known]


def kept_folder(study: StudyFile, number: int) -> Path:
    return study.path.with_suffix(".trials") / f"{number:05d}"


def arguments(study: StudyFile, params: Mapping[str, Any], number: int, folder: Path) -> list[str]:
    """The program and its arguments. What names a file beside the study file is given with its
    full path, because programs run in a folder of their own."""
    objective = study.table.objective
    assert objective is not None
    values = {
        TRIAL: number,
        TRIAL_FOLDER: folder,
        STUDY_FOLDER: study.folder,
        PARAMS_FILE: folder / (objective.params_file or ""),
        **params,
    }
    found = []
    for i, argument in enumerate(objective.command or ()):
        beside = study.folder / argument
        # A bare first word is a program of the PATH, as everywhere.
        if (i or "/" in argument) and not NAMES.search(argument) and _is_file(beside):
            found.append(str(beside))
        else:
            found.append(filled(argument, values))
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long to be a name
        return False
