"""The law that a study file names: the user's own code, beside the file."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from neurobo.errors import InvalidInput
from neurobo.physics.pde import PDE
from neurobo.studies.file.study_file import StudyFile


def law(file: StudyFile) -> PDE:
    """Imported now: by `run` and `ask`, and by nothing that only looks at a study."""
    given = file.table.physics
    assert given is not None
    module, _, function = given.residual.partition(":")
    if str(file.folder) not in sys.path:
        sys.path.insert(0, str(file.folder))
    try:
        found: Any = importlib.import_module(module)
        for part in function.split("."):
            found = getattr(found, part)
    except Exception as error:  # it is the user's code: anything may happen
        raise InvalidInput(
            f"line {file.line('physics', 'residual')}: physics.residual must be a function that "
            f"can be imported, got {given.residual!r}: {error!r}"
        ) from error
    if isinstance(found, PDE):
        return found
    return PDE(found, names=given.names, n_points=given.n_points, weight=given.weight)
