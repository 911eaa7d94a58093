"""Callables of `where` as a function of encoded points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from neurobo.space.encoders import Matrix, Numeric
from neurobo.space.input_constraints import InputConstraints
from neurobo.space.parameters import Fixed, Parameter

TRIED = 8
"""Points on which a callable must give the same values for arrays as one by one."""


@dataclass(frozen=True, eq=False)
class Oracle:
    """x -> the largest value of the callables; a point is allowed where that is at most 0."""

    where: InputConstraints
    parameters: dict[str, Parameter]
    vectorised: tuple[bool, ...]
    """Which callables take arrays: the others are called once for each point."""

    @staticmethod
    def of(where: InputConstraints, parameters: dict[str, Parameter]) -> Oracle:
        one_by_one = Oracle(where, parameters, (False,) * len(where.callables))
        unit = np.random.default_rng(0).random((TRIED, len(parameters)))
        blocks = [p.from_unit(unit[:, i]) for i, p in enumerate(parameters.values())]
        x = np.concatenate([np.zeros((TRIED, 0)), *blocks], axis=1)
        columns = one_by_one.decoded(x)
        flags = tuple(one_by_one.takes_arrays(one, columns) for one in where.callables)
        return Oracle(where, parameters, flags)

    @property
    def fast(self) -> bool:
        return all(self.vectorised)

    def __call__(self, x: Matrix) -> Float[np.ndarray, " n"]:
        columns = self.decoded(x)
        found = [
            self._at_once(one, columns) if fast else self._one_by_one(one, columns)
            for one, fast in zip(self.where.callables, self.vectorised, strict=True)
        ]
        worst = np.max(found, axis=0)
        return np.where(np.isnan(worst), np.inf, worst)

    def decoded(self, x: Matrix) -> dict[str, np.ndarray]:
        """The parameters' values, an array for each."""
        columns, at = {}, 0
        for name, p in self.parameters.items():
            block = x[:, at : at + p.width]
            at += p.width
            if isinstance(p, Fixed):
                columns[name] = _constant(p.value, len(x))
            elif isinstance(p, Numeric):
                values = p.in_units(block[:, 0])
                whole = isinstance(p.distribution.low, int)
                columns[name] = np.round(values).astype(int) if whole else values
            else:
                choices = np.empty(int(p.count), dtype=object)
                choices[:] = p.distribution.choices
                columns[name] = choices[p.places(block)]
        return columns

    def takes_arrays(self, one: Callable[[Any], Any], columns: dict[str, np.ndarray]) -> bool:
        expected = self._one_by_one(one, columns)
        try:
            with np.errstate(all="ignore"):
                found = self._at_once(one, columns)
        except Exception:  # whatever it does with arrays, numbers it takes
            return False
        return found.shape == expected.shape and np.allclose(found, expected, equal_nan=True)

    def _at_once(
        self, one: Callable[[Any], Any], columns: dict[str, np.ndarray]
    ) -> Float[np.ndarray, " n"]:
        full = dict(self.where.constants) | columns
        n = len(next(iter(columns.values())))
        point: Any = {name: np.broadcast_to(full[name], n) for name in self.where.order}
        given = np.stack(list(point.values())) if self.where.as_array else point
        return np.asarray(one(given), dtype=float)

    def _one_by_one(
        self, one: Callable[[Any], Any], columns: dict[str, np.ndarray]
    ) -> Float[np.ndarray, " n"]:
        lists = [column.tolist() for column in columns.values()]
        rows = zip(*lists, strict=True)
        return np.array(
            [self.where.value(one, dict(zip(columns, row, strict=True))) for row in rows]
        )


def _constant(value: Any, n: int) -> np.ndarray:
    """Numbers as an array of numbers, which callables may calculate with."""
    kind = None if isinstance(value, int | float) else object
    return np.full(n, value, dtype=kind)
