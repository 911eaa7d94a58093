"""Search spaces: Optuna distributions on the user's side, vectors in [-1, 1] on ours.

The columns of a point are those of its parameters side by side (`columns.py`). Parameters with a
single possible value take no column.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from optuna.distributions import BaseDistribution
from scipy.optimize import Bounds

from neurobo.errors import InvalidInput
from neurobo.space.constraint_geometry import feasible_set
from neurobo.space.distributions import contains, distribution_of, only_value
from neurobo.space.encoders import Candidate, Matrix, Parameter, parameter_of
from neurobo.space.feasible_set import FeasibleSet
from neurobo.space.input_constraints import InputConstraints, Where, bound
from neurobo.space.pool import CANDIDATE, Pool

Params = dict[str, Any]
SpaceLike = Mapping[str, Any] | Sequence[tuple[float, float]] | Bounds | Pool

# Two points closer than this in a continuous column are the same point.
SAME_POINT = 1e-6
COUNTABLE = 2**16
"""Points of a space whose allowed ones are counted."""


class Space:
    """The search space and its encoding. `Space.of` accepts what users write."""

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        *,
        as_array: bool = False,
        pools: Mapping[str, Pool] | None = None,
        pool: Pool | None = None,
        where: Where | InputConstraints | None = None,
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
            n: only_value(d) for n, d in self.distributions.items() if d.single()
        }
        self.parameters = {n: parameter_of(n, d, self.pools.get(n)) for n, d in free.items()}
        edges = np.cumsum([0, *(p.width for p in self.parameters.values())])
        self._columns = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self.dim = int(edges[-1])
        """Columns of an encoded point."""
        self.where = bound(where, self.distributions, as_array=as_array)
        """Known constraints between parameters, in the user's terms."""
        self.feasible: FeasibleSet | None = None
        """Where they allow a point."""
        if self.where is not None:
            self.feasible = feasible_set(self.where, tuple(self.parameters.items()))

    @staticmethod
    def of(space: SpaceLike | Space, where: Where | None = None) -> Space:
        """The space that a user wrote, with known constraints between its parameters."""
        checked = Space._of(space)
        if where is None:
            return checked
        known: Any = {"as_array": checked.as_array, "pools": checked.pools, "pool": checked.pool}
        return Space(checked.distributions, where=where, **known)

    @staticmethod
    def _of(space: SpaceLike | Space) -> Space:
        if isinstance(space, Space):
            return space
        if isinstance(space, Pool):
            return Space({CANDIDATE: space.distribution}, pools={CANDIDATE: space}, pool=space)
        if isinstance(space, Bounds):
            low, high = np.atleast_1d(*np.broadcast_arrays(space.lb, space.ub))
            space = list(zip(low.tolist(), high.tolist(), strict=True))
        if isinstance(space, Mapping):
            for name in space:
                if not isinstance(name, str) or not name:
                    raise InvalidInput(f"a parameter name must be a non-empty str, got {name!r}")
            pairs, as_array = list(space.items()), False
        elif isinstance(space, list | tuple | np.ndarray):
            pairs, as_array = [(f"x{i}", b) for i, b in enumerate(space)], True
        else:
            raise InvalidInput(
                "a space must be a dict of name: distribution, a list of (low, high), "
                f"scipy.optimize.Bounds or a Pool, got {type(space).__name__}"
            )
        if not pairs:
            raise InvalidInput("a space must have at least one parameter, got none")
        return Space({n: distribution_of(n, given) for n, given in pairs}, as_array=as_array)

    def described(self) -> str:
        """What an objective gets, in words."""
        if self.pool is not None:
            return f"the {'index' if self.pool.ids is None else 'id'} of a candidate"
        if self.as_array:
            return f"a 1-D array of length {len(self.distributions)}"
        return f"a dict with the keys {list(self.distributions)}"

    def blocks(self) -> Iterator[tuple[Parameter, slice]]:
        """The parameters that can vary and their columns."""
        return zip(self.parameters.values(), self._columns, strict=True)

    @property
    def n_parameters(self) -> int:
        """Parameters that can vary."""
        return len(self.parameters)

    @cached_property
    def size(self) -> float:
        """How many different points there are; infinite if any parameter is continuous."""
        return math.prod(p.count for p in self.parameters.values())

    @cached_property
    def n_points(self) -> float:
        """How many of them are allowed; infinite if nobody has counted."""
        if self.feasible is None or self.size > COUNTABLE:
            return self.size if self.feasible is None else math.inf
        return int(self.feasible.contains(self.by_index(np.arange(int(self.size)))).sum())

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

    def places(self, columns: Int[np.ndarray, " k"]) -> Int[np.ndarray, " k"]:
        """The networks' input columns of these encoded ones, which belong to no pool."""
        pooled = [p.pool.columns - 1 if isinstance(p, Candidate) else 0 for p, _ in self.blocks()]
        owner = np.searchsorted([c.start for c in self._columns], columns, side="right") - 1
        return columns + np.cumsum([0, *pooled])[owner]

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
            if not contains(distribution, params[name]):
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
        if self.feasible is not None:
            free = self.feasible.settle(free)
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
