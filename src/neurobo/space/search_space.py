"""Search spaces: Optuna distributions on the user's side, vectors in [-1, 1] on ours.

The columns of a point are those of its parameters side by side (`encoders.py`). Parameters with a
single possible value take no column. Columns of inactive parameters are 0 (`conditions.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from optuna.distributions import BaseDistribution
from scipy.optimize import Bounds

from neurobo.errors import InvalidInput
from neurobo.space.branches import Branches
from neurobo.space.columns import Columns
from neurobo.space.conditions import Conditional, When
from neurobo.space.constraint_geometry import feasible_set
from neurobo.space.distributions import (
    Ordinal,
    checked_values,
    contains,
    distribution_of,
    only_value,
)
from neurobo.space.encoders import Matrix
from neurobo.space.feasible_set import FeasibleSet
from neurobo.space.input_constraints import InputConstraints, Where, bound
from neurobo.space.parameters import Fixed
from neurobo.space.pool import CANDIDATE, Pool

Params = dict[str, Any]
SpaceLike = Mapping[str, Any] | Sequence[tuple[float, float]] | Bounds | Pool

COUNTABLE = 2**16
"""Points of a space whose allowed ones are counted."""


class Space(Columns):
    """The search space and its encoding. `Space.of` accepts what users write."""

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        *,
        as_array: bool = False,
        pools: Mapping[str, Pool] | None = None,
        pool: Pool | None = None,
        when: Mapping[str, When] | None = None,
        optional: Iterable[str] = (),
        fixed: Params | None = None,
        where: Where | InputConstraints | None = None,
        ordered: Iterable[str] = (),
    ):
        self.distributions = dict(distributions)
        self.as_array = as_array
        """Whether the user gave a list of bounds and wants points as arrays."""
        self.pool = pool
        """The pool that the user gave as the space, who wants points as names of candidates."""
        self.pools = dict(pools or {})
        """The pools whose candidates an integer parameter counts."""
        self._single: Params = {
            n: only_value(d) for n, d in self.distributions.items() if d.single()
        }
        self.fixed = checked_values(self.distributions, fixed or {}, without=self.pools)
        """Values that every new point has; observations may have others."""
        self.ordered = frozenset(ordered)
        """Categories whose choices have an order."""
        super().__init__(
            self.distributions, self.pools, when or {}, frozenset(optional), self.fixed,
            self.ordered,
        )  # fmt: skip
        self.where = bound(
            where,
            self.distributions,
            as_array=as_array,
            conditional=self.conditions.requirements.keys() | self.conditions.optional,
            fixed=self.fixed,
        )
        """Known constraints between parameters, in the user's terms."""
        self.feasible: FeasibleSet | None = None
        """Where they allow a point."""
        if self.where is not None:
            self.feasible = feasible_set(self.where, tuple(self.parameters.items()))

    @staticmethod
    def of(space: SpaceLike | Space, where: Where | None = None) -> Space:
        """The space that a user wrote, with known constraints between its parameters."""
        checked = Space._of(space)
        return checked if where is None else checked._with(where=where)

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
        when = {n: given.when for n, given in pairs if isinstance(given, Conditional)}
        if when and as_array:
            raise InvalidInput("a space with conditions must be a dict, got a list")
        plain = {n: g.distribution if isinstance(g, Conditional) else g for n, g in pairs}
        distributions = {n: distribution_of(n, given) for n, given in plain.items()}
        ordered = [n for n, given in plain.items() if isinstance(given, Ordinal)]
        return Space(distributions, as_array=as_array, when=when, ordered=ordered)

    def holding(self, fixed: Any) -> Space:
        """The same space, in which new points have these values; a fixed parameter with a condition
        has its value where it is active."""
        if not isinstance(fixed, Mapping):
            raise InvalidInput(f"fixed must be a dict of parameters and values, got {fixed!r}")
        return self._with(fixed={**self.fixed, **fixed})

    def _with(self, **changes: Any) -> Space:
        same: dict[str, Any] = {
            "as_array": self.as_array,
            "pools": self.pools,
            "pool": self.pool,
            "when": self.conditions.when,
            "optional": self.conditions.optional,
            "fixed": self.fixed,
            "where": self.where,
            "ordered": self.ordered,
        }
        return Space(self.distributions, **same | changes)

    def described(self) -> str:
        """What an objective gets, in words."""
        if self.pool is not None:
            return f"the {'index' if self.pool.ids is None else 'id'} of a candidate"
        if self.as_array:
            return f"a 1-D array of length {len(self.distributions)}"
        some = " (those that are active)" if self.conditions else ""
        return f"a dict with the keys {list(self.distributions)}{some}"

    @cached_property
    def size(self) -> float:
        """How many different points there are; infinite if any parameter is continuous."""
        if self.conditions:
            return math.inf if self.branches is None else float(self.branches.sizes.sum())
        return math.prod(p.count for p in self.parameters.values())

    @cached_property
    def n_points(self) -> float:
        """How many of them are allowed; infinite if not counted."""
        if self.feasible is None:
            return self.size
        if self.size <= COUNTABLE:
            return int(self.feasible.contains(self.by_index(np.arange(int(self.size)))).sum())
        free = [n for n, p in self.parameters.items() if not isinstance(p, Fixed)]
        return math.inf if self.feasible.extended or set(free) - {*self.feasible.names} else 1

    @cached_property
    def branches(self) -> Branches | None:
        """Of a space with conditions; None: too many to list, or no conditions."""
        if not self.conditions:
            return None
        return Branches.of(self.parameters, self.columns, self.conditions)

    def contains(self, params: Mapping[str, Any]) -> bool:
        try:
            self._check(params)
        except InvalidInput:
            return False
        return True

    def _check(self, params: Mapping[str, Any]) -> None:
        inactive = self.conditions.inactive(params)
        needed = [name for name in self.distributions if name not in inactive]
        for name in needed:
            distribution = self.distributions[name]
            if name not in params:
                if name in self.conditions.optional:
                    continue
                raise InvalidInput(
                    f"a point must give every parameter of the space {sorted(needed)}, "
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
        inactive = self.conditions.inactive(point)
        return {n: point[n] for n in self.distributions if n in point and n not in inactive}

    def asked(self, ask: Callable[[str, BaseDistribution], Any]) -> Params:
        """The values of all active parameters, each asked for once, parents first."""
        found: Params = {}
        conditional = self.conditions.requirements
        outer = [name for name in self.distributions if name not in conditional]
        for name in (*outer, *conditional):
            if name not in self.conditions.inactive(found):
                found[name] = ask(name, self.distributions[name])
        return {name: found[name] for name in self.distributions if name in found}

    def point(self, params: Mapping[str, Any]) -> Any:
        """Parameters as the user's objective wants them: a candidate, an array or a dict."""
        if self.pool is not None:
            return self.pool.name(params[CANDIDATE])
        if self.as_array:
            return np.array([params[name] for name in self.distributions])
        return {name: params[name] for name in self.distributions if name in params}

    def encode(self, points: Iterable[Mapping[str, Any]]) -> Matrix:
        points = list(points)
        x = np.zeros((len(points), self.dim))  # what a point does not have stays 0
        partial = self.conditions or self.conditions.optional
        inactive = [self.conditions.inactive(q) for q in points] if partial else []
        for name, parameter in self.parameters.items():
            rows = [i for i, q in enumerate(points) if name in q and name not in inactive[i]
                    ] if partial else range(len(points))  # fmt: skip
            x[rows, self.columns[name]] = parameter.encode([points[i][name] for i in rows])
        return x

    def decode(self, x: Float[np.ndarray, " columns"]) -> Params:
        """The active parameters of an encoded point."""
        return self.decode_all(x[None])[0]

    def decode_all(self, x: Matrix) -> list[Params]:
        """The active parameters of encoded points."""
        active = self.conditions.active(x)
        columns = {n: p.decode(x[:, self.columns[n]]) for n, p in self.parameters.items()}
        points = []
        for i in range(len(x)):
            free = {name: values[i] for name, values in columns.items()}
            if self.feasible is not None:
                free = self.feasible.settle(free)
            points.append({
                n: self._single[n] if n in self._single else free[n]
                for n in self.distributions
                if n not in active or active[n][i]
            })  # fmt: skip
        return points

    def by_index(self, index: Int[np.ndarray, " n"]) -> Matrix:
        """The points of a finite space, counted from 0 in mixed radix."""
        if self.branches is not None:
            return self.branches.by_index(index)
        blocks = [np.zeros((len(index), 0))]
        for parameter in self.parameters.values():
            index, digit = np.divmod(index, int(parameter.count))
            blocks.append(parameter.nth(digit))
        return np.concatenate(blocks, axis=1)
