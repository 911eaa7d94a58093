"""The branches of a conditional space: the values of its parents that can occur together."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from neurobo.space.conditions import Conditions
from neurobo.space.encoders import Matrix
from neurobo.space.parameters import Parameter

MOST = 4096
"""Branches that are listed. A space with more counts as infinite: it is too large to evaluate."""


class Branches:
    """All branches of a space, each as a point with values of parents only."""

    def __init__(
        self,
        parameters: Mapping[str, Parameter],
        columns: Mapping[str, slice],
        conditions: Conditions,
        points: Matrix,
    ) -> None:
        self._parameters, self._columns, self._conditions = parameters, columns, conditions
        self.points = points
        active = conditions.active(points)
        every = np.ones(len(points), dtype=bool)
        self._active = {name: active.get(name, every) for name in parameters}
        self._free = [name for name in parameters if name not in conditions.parents]
        patterns = np.stack([every, *active.values()], axis=1)
        _, first, self._pattern = np.unique(
            patterns, axis=0, return_index=True, return_inverse=True
        )
        self.patterns = len(first)
        """How many different sets of active parameters there are."""

    @staticmethod
    def of(
        parameters: Mapping[str, Parameter], columns: Mapping[str, slice], conditions: Conditions
    ) -> Branches | None:
        """None if there are too many to list."""
        points = np.zeros((1, max((c.stop for c in columns.values()), default=0)))
        for name in conditions.parents:
            parameter = parameters[name]
            active = conditions.active(points).get(name, np.ones(len(points), dtype=bool))
            if not math.isfinite(parameter.count) or active.sum() * parameter.count > MOST:
                return None
            count = int(parameter.count)
            more = np.repeat(points[active], count, axis=0)
            more[:, columns[name]] = parameter.nth(np.tile(np.arange(count), int(active.sum())))
            points = np.concatenate([points[~active], more])
        return Branches(parameters, columns, conditions, points) if len(points) <= MOST else None

    @property
    def sizes(self) -> Float[np.ndarray, " branches"]:
        """Points of each branch."""
        sizes = np.ones(len(self.points))
        for name in self._free:
            sizes = np.where(self._active[name], sizes * self._parameters[name].count, sizes)
        return sizes

    def by_index(self, index: Int[np.ndarray, " n"]) -> Matrix:
        """The points of a finite space, counted from 0: branch by branch, in mixed radix."""
        ends = np.cumsum(self.sizes.astype(np.int64))
        branch = np.searchsorted(ends, index, side="right")
        rest = index - np.r_[0, ends[:-1]][branch]
        found = self.points[branch]
        for name in self._free:
            parameter, active = self._parameters[name], self._active[name][branch]
            left, digit = np.divmod(rest, int(parameter.count))
            rest = np.where(active, left, rest)
            values = parameter.nth(np.where(active, digit, 0))
            found[:, self._columns[name]] = np.where(active[:, None], values, 0.0)
        return found

    def spread(self, x: Matrix, turns: Int[np.ndarray, " n"], u: Float[np.ndarray, " n"]) -> Matrix:
        """Points moved into other branches, so that each set of active parameters has its turn:
        `u` in [0, 1) chooses among the branches of a set."""
        found = x.copy()
        for i, turn in enumerate(turns % self.patterns):
            members = np.flatnonzero(self._pattern == turn)
            point = self.points[members[int(u[i] * len(members))]]
            for name in self._conditions.parents:
                found[i, self._columns[name]] = point[self._columns[name]]
        return self._conditions.canonical(found)
