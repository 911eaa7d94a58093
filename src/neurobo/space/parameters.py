"""The parameters of a space by their kind: numbers and categories (`encoders.py`), candidates of a
pool, and parameters that keep one value.

A candidate of a pool is one column, its place in the pool; networks see its features instead, which
`Candidate.inputs` looks up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from neurobo.errors import InvalidInput
from neurobo.space.distributions import check_distribution
from neurobo.space.encoders import Category, Matrix, Moves, Numeric, Ordered
from neurobo.space.pool import Pool


@dataclass(frozen=True)
class Candidate(Numeric):
    """A place in a pool: one column, but places next to each other have nothing in common."""

    distribution: IntDistribution
    pool: Pool

    ordered = False

    def all_moves(self, x: Matrix) -> Moves | None:
        return None

    def moves(self, row: Float[np.ndarray, " width"], rng: np.random.Generator) -> Matrix:
        index = np.arange(len(self.pool))
        if len(self.pool) > 32:
            index = rng.choice(len(self.pool), 32, replace=False)
        others = self.nth(index)
        return others[others[:, 0] != row[0]]

    def inputs(self, x: Matrix) -> Matrix:
        """What networks see of the candidates."""
        return self.pool.features(self.in_units(x[:, 0]).astype(int))


@dataclass(frozen=True)
class Fixed:
    """A parameter that keeps one value in every new point, while observations may have others."""

    parameter: Numeric | Category | Ordered
    value: Any

    ordered = False
    """No trust region moves it."""
    count = 1.0

    @property
    def distribution(self) -> FloatDistribution | IntDistribution | CategoricalDistribution:
        return self.parameter.distribution

    @property
    def width(self) -> int:
        return self.parameter.width

    @property
    def step(self) -> float | None:
        return None if isinstance(self.parameter, Category) else self.parameter.step

    @cached_property
    def _row(self) -> Matrix:
        return self.parameter.encode([self.value])

    def nth(self, index: Int[np.ndarray, " n"]) -> Matrix:
        return np.tile(self._row, (len(index), 1))

    def places(self, x: Matrix) -> Int[np.ndarray, " n"]:
        return self.parameter.places(x)

    def place(self, value: Any) -> int:
        return self.parameter.place(value)

    def encode(self, values: Sequence[Any]) -> Matrix:
        return self.parameter.encode(values)

    def decode(self, x: Matrix) -> list[Any]:
        return [self.value] * len(x)

    def snap(self, x: Matrix) -> Matrix:
        return np.tile(self._row, (len(x), 1))

    def from_unit(self, u: Float[np.ndarray, " n"]) -> Matrix:
        return np.tile(self._row, (len(u), 1))

    def all_moves(self, x: Matrix) -> Moves | None:
        return np.empty((len(x), 0, self.width))

    def moves(self, row: Float[np.ndarray, " width"], rng: np.random.Generator) -> Matrix:
        return np.empty((0, self.width))


Parameter = Numeric | Category | Ordered | Fixed


def parameter_of(
    name: str, distribution: BaseDistribution, pool: Pool | None, *, ordered: bool = False
) -> Numeric | Category | Ordered:
    """The columns that go with a distribution, which may count the candidates of a pool. `ordered`
    says whether choices have an order."""
    if pool is not None:
        if distribution != pool.distribution:
            raise InvalidInput(
                f"{name!r} counts the candidates of a pool and must be {pool.distribution}, got "
                f"{distribution}"
            )
        return Candidate(pool.distribution, pool)
    check_distribution(name, distribution)
    if isinstance(distribution, CategoricalDistribution):
        return Ordered(distribution) if ordered else Category(distribution)
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    return Numeric(distribution)
