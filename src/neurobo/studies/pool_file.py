"""A pool of candidates from a `.npy` or `.csv` file."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from neurobo.errors import InvalidInput
from neurobo.pool import Pool
from neurobo.studies.schema import PoolTable


def read_pool(folder: Path, table: PoolTable) -> Pool:
    path = folder / table.path
    if not path.is_file():
        raise InvalidInput(f"the pool must be a file, got {path}, which does not exist")
    if table.path.endswith(".npy"):
        return Pool(_array(path), replace=table.replace)
    features, ids = _rows(path, table.ids)
    return Pool(features, ids, replace=table.replace)


def _array(path: Path) -> np.ndarray:
    try:
        return np.asarray(np.load(path))  # NumPy refuses arrays of objects, which could run code
    except (ValueError, OSError, EOFError) as error:
        raise InvalidInput(
            f"the pool must be a .npy array of numbers, got {path}: {error}"
        ) from None


def _rows(path: Path, ids: str | None) -> tuple[np.ndarray, list[str] | None]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"the pool must be a .csv file in UTF-8, got {path}: {error}") from None
    if len(rows) < 2:
        raise InvalidInput(f"the pool must have a heading and rows, got {len(rows)} rows: {path}")
    header = rows[0]
    if ids is not None and ids not in header:
        raise InvalidInput(f"`ids` must be one of the columns {header}, got {ids!r}")
    features = [i for i, name in enumerate(header) if name != ids]
    numbers = np.empty((len(rows) - 1, len(features)))
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise InvalidInput(
                f"{path.name}, line {line}: a row must have {len(header)} cells, got {len(row)}"
            )
        for place, column in enumerate(features):
            try:
                numbers[line - 2, place] = float(row[column])
            except ValueError:
                raise InvalidInput(
                    f"{path.name}, line {line}: {header[column]!r} must be a number, got "
                    f"{row[column]!r}"
                ) from None
    names = None if ids is None else [row[header.index(ids)] for row in rows[1:]]
    return numbers, names
