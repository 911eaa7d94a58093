"""Search spaces: Optuna distributions on the user's side, vectors in [-1, 1] on ours.

A numeric parameter is one column, linear or logarithmic in its range. A categorical parameter is
one 0/1 column per choice (one-hot). Parameters with a single possible value take no column.
A candidate of a pool is one column too, its place in the pool; networks see its features instead,
which `Space.inputs` looks up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from neurobo.errors import InvalidInput
from neurobo.pool import CANDIDATE, Pool

Params = dict[str, Any]
SpaceLike = Mapping[str, Any] | Sequence[tuple[float, float]] | Pool
Matrix = Float[np.ndarray, "_ columns"]

# Two points closer than this in a continuous column are the same point.
SAME_POINT = 1e-6


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

    def _values(self, column: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
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

    def decode(self, row: Float[np.ndarray, " width"]) -> float | int:
        value = float(self._values(np.asarray(row))[0])
        return round(value) if isinstance(self.distribution, IntDistribution) else value

    def snap(self, x: Matrix) -> Matrix:
        if self.step is None:
            return np.clip(x, -1.0, 1.0)
        return self.encode(self._values(x[:, 0]).tolist())

    def nth(self, index: Int[np.ndarray, " n"]) -> Matrix:
        """The columns of the values number `index` of a stepped range."""
        assert self.step is not None
        return self.encode((self.distribution.low + index * self.step).tolist())

    def from_unit(self, u: Float[np.ndarray, " n"]) -> Matrix:
        """Map uniform numbers in [0, 1) to columns, giving every value an equal share."""
        if self.step is None or self.distribution.log:
            return self.snap((2 * u - 1)[:, None])
        return self.nth(np.minimum(u * self.count, self.count - 1).astype(int))

    def moves(self, row: Float[np.ndarray, " width"], rng: np.random.Generator) -> Matrix:
        """Other values to try from here: all if they are few, else steps near and far."""
        if self.step is None:
            return np.empty((0, 1))
        here = round((self._values(row)[0] - self.distribution.low) / self.step)
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

    def encode(self, values: Sequence[Any]) -> Matrix:
        index = [int(self.distribution.to_internal_repr(v)) for v in values]
        return self.nth(np.array(index, dtype=int))

    def decode(self, row: Float[np.ndarray, " width"]) -> Any:
        return self.distribution.choices[int(np.argmax(row))]

    def snap(self, x: Matrix) -> Matrix:
        return self.nth(np.argmax(x, axis=1))

    def from_unit(self, u: Float[np.ndarray, " n"]) -> Matrix:
        return self.nth(np.minimum(u * self.width, self.width - 1).astype(int))

    def moves(self, row: Float[np.ndarray, " width"], rng: np.random.Generator) -> Matrix:
        others = np.delete(np.arange(self.width), np.argmax(row))
        if len(others) > 32:
            others = rng.choice(others, 32, replace=False)
        return self.nth(others)


@dataclass(frozen=True)
class Candidate(Numeric):
    """A place in a pool: one column, but places next to each other have nothing in common."""

    distribution: IntDistribution
    pool: Pool

    ordered = False

    def moves(self, row: Float[np.ndarray, " width"], rng: np.random.Generator) -> Matrix:
        index = np.arange(len(self.pool))
        if len(self.pool) > 32:
            index = rng.choice(len(self.pool), 32, replace=False)
        others = self.nth(index)
        return others[others[:, 0] != row[0]]

    def inputs(self, x: Matrix) -> Matrix:
        """What networks see of the candidates."""
        return self.pool.features(self._values(x[:, 0]).astype(int))


Parameter = Numeric | Category


def _parameter(name: str, distribution: BaseDistribution, pool: Pool | None) -> Parameter:
    if pool is not None:
        if distribution != pool.distribution:
            raise InvalidInput(
                f"{name!r} counts the candidates of a pool and must be {pool.distribution}, got "
                f"{distribution}"
            )
        return Candidate(pool.distribution, pool)
    if isinstance(distribution, CategoricalDistribution):
        return Category(distribution)
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    return Numeric(distribution)


class Space:
    """The search space and its encoding. `Space.of` accepts what users write."""

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        *,
        as_array: bool = False,
        pools: Mapping[str, Pool] | None = None,
        pool: Pool | None = None,
    ):
        self.distributions = dict(distributions)
        self.as_array = as_array
        """Whether the user gave a list of bounds and wants points as arrays."""
        self.pool = pool
        """The pool that the user gave as the space, who wants points as names of candidates."""
        self.pools = dict(pools or {})
        """The pools whose candidates an integer parameter counts."""
        free = {n: d for n, d in self.distributions.items() if not d.single()}
        self._fixed: Params = {
            n: _only_value(d) for n, d in self.distributions.items() if d.single()
        }
        self.parameters = {n: _parameter(n, d, self.pools.get(n)) for n, d in free.items()}
        edges = np.cumsum([0, *(p.width for p in self.parameters.values())])
        self._columns = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self.dim = int(edges[-1])
        """Columns of an encoded point."""

    @staticmethod
    def of(space: SpaceLike | Space) -> Space:
        if isinstance(space, Space):
            return space
        if isinstance(space, Pool):
            return Space({CANDIDATE: space.distribution}, pools={CANDIDATE: space}, pool=space)
        if isinstance(space, Mapping):
            for name in space:
                if not isinstance(name, str) or not name:
                    raise InvalidInput(f"a parameter name must be a non-empty str, got {name!r}")
            pairs, as_array = list(space.items()), False
        elif isinstance(space, list | tuple | np.ndarray):
            pairs, as_array = [(f"x{i}", b) for i, b in enumerate(space)], True
        else:
            raise InvalidInput(
                "a space must be a dict of name: distribution, a list of (low, high) or a Pool, "
                f"got {type(space).__name__}"
            )
        if not pairs:
            raise InvalidInput("a space must have at least one parameter, got none")
        return Space({n: _distribution(n, given) for n, given in pairs}, as_array=as_array)

    @property
    def n_parameters(self) -> int:
        """Parameters that can vary."""
        return len(self.parameters)

    @cached_property
    def size(self) -> float:
        """How many different points there are; infinite if any parameter is continuous."""
        return math.prod(p.count for p in self.parameters.values())

    @cached_property
    def continuous(self) -> Bool[np.ndarray, " columns"]:
        """Which columns may move freely in [-1, 1]."""
        flags = [np.full(p.width, p.count == math.inf) for p in self.parameters.values()]
        return np.concatenate(flags) if flags else np.zeros(0, dtype=bool)

    @cached_property
    def numeric(self) -> Bool[np.ndarray, " columns"]:
        """Which columns belong to numbers rather than categories or candidates."""
        flags = [np.full(p.width, p.ordered) for p in self.parameters.values()]
        return np.concatenate(flags) if flags else np.zeros(0, dtype=bool)

    @cached_property
    def choosing(self) -> bool:
        """Whether there is nothing to choose but one candidate of a pool."""
        return self.n_parameters == 1 and all(
            isinstance(p, Candidate) for p in self.parameters.values()
        )

    @cached_property
    def image(self) -> tuple[int, int, int] | None:
        """Height, width and channels, if a point is nothing but an image of a pool."""
        (one,) = self.parameters.values() if self.choosing else (None,)
        return one.pool.image if isinstance(one, Candidate) else None

    @cached_property
    def repeats(self) -> bool:
        """Whether a point may be suggested again."""
        pools = [p.pool for p in self.parameters.values() if isinstance(p, Candidate)]
        return any(pool.replace for pool in pools)

    @cached_property
    def movable(self) -> Bool[np.ndarray, " inputs"]:
        """Which of the networks' input columns may move freely: those of `continuous`."""
        parts = zip(self.parameters.values(), self._columns, strict=True)
        flags = [
            np.full(p.pool.columns, False) if isinstance(p, Candidate) else self.continuous[c]
            for p, c in parts
        ]
        return np.concatenate([np.zeros(0, dtype=bool), *flags])

    def inputs(self, x: Matrix) -> Matrix:
        """What networks see of encoded points: candidates of pools as their features."""
        parts = zip(self.parameters.values(), self._columns, strict=True)
        blocks = [p.inputs(x[:, c]) if isinstance(p, Candidate) else x[:, c] for p, c in parts]
        return np.concatenate([np.zeros((len(x), 0)), *blocks], axis=1)

    @cached_property
    def tolerance(self) -> Float[np.ndarray, " columns"]:
        """Points that differ by less than this in every column are the same point."""
        return np.where(self.continuous, SAME_POINT, 1e-9)

    def contains(self, params: Mapping[str, Any]) -> bool:
        try:
            self._check(params)
        except InvalidInput:
            return False
        return True

    def _check(self, params: Mapping[str, Any]) -> None:
        for name, distribution in self.distributions.items():
            if name not in params:
                raise InvalidInput(
                    f"a point must give every parameter of the space {sorted(self.distributions)}, "
                    f"got {sorted(params)}"
                )
            try:
                inside = distribution._contains(distribution.to_internal_repr(params[name]))
            except (ValueError, TypeError):
                inside = False
            if not inside:
                raise InvalidInput(
                    f"the value of {name!r} must lie in {distribution}, got {params[name]!r}"
                )

    def params(self, point: Any) -> Params:
        """A user's point (dict, array for bounds, or a pool's candidate) as a checked dict."""
        if self.pool is not None and not isinstance(point, Mapping):
            return {CANDIDATE: self.pool.index(point)}
        if self.as_array and not isinstance(point, Mapping):
            try:
                values = np.asarray(point, dtype=float).ravel()
            except (TypeError, ValueError):
                raise InvalidInput(f"a point must be numbers or a dict, got {point!r}") from None
            if len(values) != len(self.distributions):
                raise InvalidInput(
                    f"a point must have {len(self.distributions)} coordinates, got {len(values)}"
                )
            point = dict(zip(self.distributions, values.tolist(), strict=True))
        if not isinstance(point, Mapping):
            raise InvalidInput(f"a point must be a dict of parameters, got {point!r}")
        self._check(point)
        return {name: point[name] for name in self.distributions}

    def point(self, params: Mapping[str, Any]) -> Any:
        """Parameters as the user's objective wants them: a candidate, an array or a dict."""
        if self.pool is not None:
            return self.pool.name(params[CANDIDATE])
        if self.as_array:
            return np.array([params[name] for name in self.distributions])
        return {name: params[name] for name in self.distributions}

    def encode(self, points: Iterable[Mapping[str, Any]]) -> Matrix:
        points = list(points)
        blocks = [p.encode([q[n] for q in points]) for n, p in self.parameters.items()]
        return np.concatenate([np.zeros((len(points), 0)), *blocks], axis=1)

    def decode(self, x: Float[np.ndarray, " columns"]) -> Params:
        free = {
            name: parameter.decode(x[columns])
            for (name, parameter), columns in zip(
                self.parameters.items(), self._columns, strict=True
            )
        }
        return {n: self._fixed[n] if n in self._fixed else free[n] for n in self.distributions}

    def snap(self, x: Matrix) -> Matrix:
        """The nearest valid encoded points."""
        if not self.dim:
            return x
        parts = zip(self.parameters.values(), self._columns, strict=True)
        return np.concatenate([p.snap(x[:, c]) for p, c in parts], axis=1)

    def from_unit(self, u: Float[np.ndarray, "n parameters"]) -> Matrix:
        """Points of the unit cube, one coordinate per parameter, as valid encoded points."""
        blocks = [p.from_unit(u[:, i]) for i, p in enumerate(self.parameters.values())]
        return np.concatenate([np.zeros((len(u), 0)), *blocks], axis=1)

    def neighbours(self, x: Float[np.ndarray, " columns"], rng: np.random.Generator) -> Matrix:
        """Points that differ from `x` in one discrete parameter."""
        found = [np.zeros((0, self.dim))]
        for parameter, columns in zip(self.parameters.values(), self._columns, strict=True):
            moves = parameter.moves(x[columns], rng)
            points = np.tile(x, (len(moves), 1))
            points[:, columns] = moves
            found.append(points)
        return np.concatenate(found)

    def mutate(
        self, x: Matrix, rng: np.random.Generator, radius: Float[np.ndarray, " n"], rate: float
    ) -> Matrix:
        """Move numeric columns by up to `radius`, and redraw categories with chance `rate`."""
        out = x.copy()
        for parameter, columns in zip(self.parameters.values(), self._columns, strict=True):
            if parameter.ordered:
                changed = rng.random(len(x)) < rate
                jump = radius * rng.uniform(-1, 1, len(x)) * changed
                out[:, columns] += jump[:, None]
            else:
                redrawn = parameter.from_unit(rng.random(len(x)))
                out[:, columns] = np.where(
                    rng.random((len(x), 1)) < rate / 2, redrawn, x[:, columns]
                )
        return self.snap(out)

    def by_index(self, index: Int[np.ndarray, " n"]) -> Matrix:
        """The points of a finite space, counted from 0 in mixed radix."""
        blocks = [np.zeros((len(index), 0))]
        for parameter in self.parameters.values():
            index, digit = np.divmod(index, int(parameter.count))
            blocks.append(parameter.nth(digit))
        return np.concatenate(blocks, axis=1)


def _only_value(distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[0]
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    return distribution.low


def _distribution(name: str, given: Any) -> BaseDistribution:
    if isinstance(given, BaseDistribution):
        if isinstance(given, FloatDistribution) and not (
            math.isfinite(given.low) and math.isfinite(given.high)
        ):
            raise InvalidInput(f"bounds of {name!r} must be finite, got {given}")
        return given
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) and len(given) == 2:
        try:
            low, high = (float(v) for v in given)
        except (TypeError, ValueError):
            raise InvalidInput(f"bounds of {name!r} must be two numbers, got {given!r}") from None
        return float_range(low, high, name=name)
    raise InvalidInput(
        f"parameter {name!r} must be (low, high), neurobo.Float, neurobo.Int or "
        f"neurobo.Categorical, got {given!r}"
    )


def float_range(
    low: float, high: float, *, log: bool = False, step: float | None = None, name: str = ""
) -> FloatDistribution:
    """A float parameter in [low, high]; `neurobo.Float`. Returns Optuna's own distribution."""
    _check_bounds(low, high, log, name)
    if not low < high:
        raise InvalidInput(f"{_of(name)}`low` must be below `high`, got low={low}, high={high}")
    if step is not None:
        if log:
            raise InvalidInput(f"{_of(name)}`step` and `log` cannot be combined, got step={step}")
        if not step > 0:
            raise InvalidInput(f"{_of(name)}`step` must be positive, got step={step}")
    return FloatDistribution(low, high, log=log, step=step)


def int_range(low: int, high: int, *, log: bool = False, step: int = 1) -> IntDistribution:
    """An integer parameter in [low, high]; `neurobo.Int`. Returns Optuna's own distribution."""
    _check_bounds(low, high, log)
    if low != int(low) or high != int(high):
        raise InvalidInput(f"`low` and `high` must be whole, got low={low}, high={high}")
    if low > high:
        raise InvalidInput(f"`low` must not be above `high`, got low={low}, high={high}")
    if step < 1 or step != int(step):
        raise InvalidInput(f"`step` must be a whole number of at least 1, got step={step}")
    if log and step != 1:
        raise InvalidInput(f"`step` and `log` cannot be combined, got step={step}")
    return IntDistribution(int(low), int(high), log=log, step=int(step))


def categorical(choices: Iterable[Any]) -> CategoricalDistribution:
    """A choice among values; `neurobo.Categorical`. Returns Optuna's own distribution."""
    choices = tuple(choices)
    if not choices:
        raise InvalidInput("`choices` must not be empty, got none")
    for choice in choices:
        if choice is not None and not isinstance(choice, bool | int | float | str):
            raise InvalidInput(
                f"a choice must be None, bool, int, float or str, got {choice!r} "
                f"({type(choice).__name__})"
            )
    if len({(type(c), c) for c in choices}) < len(choices):
        raise InvalidInput(f"`choices` must be different from each other, got {list(choices)}")
    return CategoricalDistribution(choices)


def _of(name: str) -> str:
    return f"{name}: " if name else ""


def _check_bounds(low: float, high: float, log: bool, name: str = "") -> None:
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidInput(
            f"{_of(name)}`low` and `high` must be finite, got low={low}, high={high}"
        )
    if log and low <= 0:
        raise InvalidInput(f"{_of(name)}a log range needs `low` above 0, got low={low}")
