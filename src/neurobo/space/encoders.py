"""Parameters as columns in [-1, 1]: what an encoded point is made of.

A numeric parameter is one column, linear or logarithmic in its range. A categorical parameter is
one 0/1 column per choice (one-hot), or one column if its choices have an order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

Matrix = Float[np.ndarray, "_ columns"]
Moves = Float[np.ndarray, "n moves width"]


def _others(values: Matrix, here: Int[np.ndarray, " n"]) -> Moves:
    """All values but the one that each point has."""
    place = np.arange(len(values) - 1)
    return np.asarray(values[place + (place >= here[:, None])])


@dataclass(frozen=True)
class Numeric:
    """A float or integer parameter: one column."""

    distribution: FloatDistribution | IntDistribution

    width = 1
    ordered = True
    """Whether values that are near each other are alike."""

    @property
    def step(self) -> float | None:
        return self.distribution.step

    @cached_property
    def count(self) -> float:
        """How many values there are; infinite for a continuous range."""
        if self.step is None:
            return math.inf
        return round((self.distribution.high - self.distribution.low) / self.step) + 1

    def _scale(self, values: Any) -> Any:
        return np.log(values) if self.distribution.log else np.asarray(values, dtype=float)

    def encode(self, values: Sequence[Any]) -> Matrix:
        low, high = self._scale(self.distribution.low), self._scale(self.distribution.high)
        v = self._scale(np.asarray(values, dtype=float))
        # Halves first: high - low may overflow for ranges near the largest float.
        unit = (v / 2 - low / 2) / (high / 2 - low / 2)
        return np.clip(2 * unit - 1, -1.0, 1.0)[:, None]

    def in_units(self, column: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The nearest valid values, as floats."""
        d = self.distribution
        unit = (np.clip(column, -1.0, 1.0) + 1) / 2
        v = self._scale(d.low) * (1 - unit) + self._scale(d.high) * unit
        if d.log:
            v = np.exp(v)
        if self.step is not None:
            v = d.low + np.round((v - d.low) / self.step) * self.step
        # exp(log(low)) is not quite low: the ends are exact by decree.
        v = np.where(unit <= 0, d.low, np.where(unit >= 1, d.high, v))
        return np.clip(v, d.low, d.high)

    def places(self, x: Matrix) -> Int[np.ndarray, " n"]:
        """Of the values of a stepped range, counted from 0: the inverse of `nth`."""
        assert self.step is not None
        here = (self.in_units(x[:, 0]) - self.distribution.low) / self.step
        return np.round(here).astype(int)

    def place(self, value: Any) -> int:
        """Of one value of a stepped range."""
        assert self.step is not None
        return round((value - self.distribution.low) / self.step)

    def decode(self, x: Matrix) -> list[float] | list[int]:
        values: list[float] = self.in_units(x[:, 0]).tolist()
        whole = isinstance(self.distribution, IntDistribution)
        return list(map(round, values)) if whole else values

    def snap(self, x: Matrix) -> Matrix:
        if self.step is None:
            return np.clip(x, -1.0, 1.0)
        return self.encode(self.in_units(x[:, 0]).tolist())

    def nth(self, index: Int[np.ndarray, " n"]) -> Matrix:
        """The columns of the values number `index` of a stepped range."""
        assert self.step is not None
        return self.encode((self.distribution.low + index * self.step).tolist())

    def from_unit(self, u: Float[np.ndarray, " n"]) -> Matrix:
        """Map uniform numbers in [0, 1) to columns, giving every value an equal share."""
        if self.step is None or self.distribution.log:
            return self.snap((2 * u - 1)[:, None])
        return self.nth(np.minimum(u * self.count, self.count - 1).astype(int))

    def all_moves(self, x: Matrix) -> Moves | None:
        """Every other value for each point; None if there are too many."""
        if self.step is None or self.count > 16:
            return np.empty((len(x), 0, 1)) if self.step is None else None
        return _others(self.nth(np.arange(int(self.count))), self.places(x))

    def moves(self, row: Float[np.ndarray, " width"], rng: np.random.Generator) -> Matrix:
        """Other values to try from here: all if they are few, else steps near and far."""
        if self.step is None:
            return np.empty((0, 1))
        here = int(self.places(row[None])[0])
        last = int(self.count) - 1
        if last < 16:
            there = np.arange(last + 1)
        else:
            jumps = np.geomspace(1, last / 4, 5).astype(int)
            far = (rng.random(4) * last).astype(int)
            there = np.unique(np.clip(np.r_[here - jumps, here + jumps, far], 0, last))
        return self.nth(there[there != here])


@dataclass(frozen=True)
class Category:
    """A categorical parameter: one column per choice."""

    distribution: CategoricalDistribution

    ordered = False

    @property
    def width(self) -> int:
        return len(self.distribution.choices)

    @property
    def count(self) -> float:
        return self.width

    def nth(self, index: Int[np.ndarray, " n"]) -> Matrix:
        """The columns of the choices number `index`."""
        return np.asarray(np.eye(self.width)[index])

    def places(self, x: Matrix) -> Int[np.ndarray, " n"]:
        """Of the choices: the inverse of `nth`."""
        return np.asarray(np.argmax(x, axis=1))

    def place(self, value: Any) -> int:
        """Of one choice."""
        return int(self.distribution.to_internal_repr(value))

    def encode(self, values: Sequence[Any]) -> Matrix:
        return self.nth(np.array([self.place(v) for v in values], dtype=int))

    def decode(self, x: Matrix) -> list[Any]:
        return [self.distribution.choices[i] for i in self.places(x)]

    def snap(self, x: Matrix) -> Matrix:
        return self.nth(np.argmax(x, axis=1))

    def from_unit(self, u: Float[np.ndarray, " n"]) -> Matrix:
        return self.nth(np.minimum(u * self.width, self.width - 1).astype(int))

    def all_moves(self, x: Matrix) -> Moves | None:
        """Every other choice for each point; None if there are too many."""
        if self.width > 33:
            return None
        return _others(np.eye(self.width), self.places(x))

    def moves(self, row: Float[np.ndarray, " width"], rng: np.random.Generator) -> Matrix:
        others = np.delete(np.arange(self.width), np.argmax(row))
        if len(others) > 32:
            others = rng.choice(others, 32, replace=False)
        return self.nth(others)


@dataclass(frozen=True)
class Ordered:
    """A categorical parameter whose choices have an order: one column, like the integer that counts
    them."""

    distribution: CategoricalDistribution

    width = 1
    ordered = True
    step = 1

    @cached_property
    def _index(self) -> Numeric:
        return Numeric(IntDistribution(0, len(self.distribution.choices) - 1))

    @property
    def count(self) -> float:
        return len(self.distribution.choices)

    def place(self, value: Any) -> int:
        """Of one choice."""
        return int(self.distribution.to_internal_repr(value))

    def places(self, x: Matrix) -> Int[np.ndarray, " n"]:
        return self._index.places(x)

    def nth(self, index: Int[np.ndarray, " n"]) -> Matrix:
        return self._index.nth(index)

    def encode(self, values: Sequence[Any]) -> Matrix:
        return self.nth(np.array([self.place(v) for v in values], dtype=int))

    def decode(self, x: Matrix) -> list[Any]:
        return [self.distribution.choices[i] for i in self.places(x)]

    def snap(self, x: Matrix) -> Matrix:
        return self._index.snap(x)

    def from_unit(self, u: Float[np.ndarray, " n"]) -> Matrix:
        return self._index.from_unit(u)

    def all_moves(self, x: Matrix) -> Moves | None:
        return self._index.all_moves(x)

    def moves(self, row: Float[np.ndarray, " width"], rng: np.random.Generator) -> Matrix:
        return self._index.moves(row, rng)
