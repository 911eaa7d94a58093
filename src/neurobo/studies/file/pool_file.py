"""A pool of candidates from a `.npy` or `.csv` file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from neurobo.errors import InvalidInput, check_choice
from neurobo.space.pool import Pool
from neurobo.studies.file.schema import PoolTable
from neurobo.studies.file.sheet import Sheet, read_sheet


def read_pool(folder: Path, table: PoolTable) -> Pool:
    path = folder / table.path
    if not path.is_file():
        raise InvalidInput(f"the pool must be a file, got {path}, which does not exist")
    if table.path.endswith(".npy"):
        return Pool(_array(path), replace=table.replace)
    features, ids = _rows(path, table.ids)
    return Pool(features, ids, replace=table.replace)


def read_with(folder: Path, table: PoolTable) -> str:
    """The separator and decimal commas of a `.csv` file, if they are not the usual ones."""
    if table.path.endswith(".npy"):
        return ""
    return _sheet(folder / table.path, table.ids).read_with


def _array(path: Path) -> np.ndarray:
    try:
        # NumPy refuses arrays of objects, which could run code.
        return np.asarray(np.load(path))
    except (ValueError, OSError, EOFError) as error:
        raise InvalidInput(
            f"the pool must be a .npy array of numbers, got {path}: {error}"
        ) from None


def _sheet(path: Path, ids: str | None) -> Sheet:
    needed = [] if ids is None else [ids]
    return read_sheet(path, "the pool", needed=needed, numeric=lambda name: name != ids)


def _rows(path: Path, ids: str | None) -> tuple[np.ndarray, list[str] | None]:
    sheet = _sheet(path, ids)
    header, rows = sheet.header, sheet.rows
    if not rows:
        raise InvalidInput(f"the pool must have a heading and rows, got only a heading: {path}")
    if ids is not None:
        check_choice("`ids`", ids, header)
    features = [i for i, name in enumerate(header) if name != ids]
    numbers = np.empty((len(rows), len(features)))
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InvalidInput(
                f"{path.name}, line {line}: a row must have {len(header)} cells, got {len(row)}"
            )
        for place, column in enumerate(features):
            try:
                numbers[line - 2, place] = sheet.number(header[column], row[column])
            except InvalidInput as error:
                raise InvalidInput(f"{path.name}, line {line}: {error}") from None
    names = None if ids is None else [row[header.index(ids)] for row in rows]
    return numbers, names
