"""Small data sets that come with the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np

FOLDER = files("neurobo.bench.problems") / "data"


@cache
def stored(name: str) -> dict[str, np.ndarray]:
    """The arrays of the file `name`.npz."""
    with (FOLDER / f"{name}.npz").open("rb") as file, np.load(file) as arrays:
        return {key: arrays[key] for key in arrays.files}
