"""The columns of encoded points: whose they are, which may move, what networks see of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from optuna.distributions import BaseDistribution

from neurobo.space.conditions import Conditions, When
from neurobo.space.encoders import Matrix
from neurobo.space.parameters import Candidate, Fixed, Parameter, parameter_of
from neurobo.space.pool import Pool

# Two points closer than this in a continuous column are the same point.
SAME_POINT = 1e-6


class Columns:
    """The parameters that can vary side by side, each with one or more columns."""

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        pools: Mapping[str, Pool],
        when: Mapping[str, When],
        optional: frozenset[str],
        fixed: Mapping[str, Any],
        ordered: frozenset[str] = frozenset(),
    ) -> None:
        free = {n: d for n, d in distributions.items() if not d.single()}
        plain = {n: parameter_of(n, d, pools.get(n), ordered=n in ordered) for n, d in free.items()}
        edges = np.cumsum([0, *(p.width for p in plain.values())])
        places = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self.columns = dict(zip(plain, places, strict=True))
        """Of each parameter."""
        self.dim = int(edges[-1])
        """Columns of an encoded point."""
        self.conditions = Conditions(distributions, plain, self.columns, when, optional)
        self.parameters: dict[str, Parameter] = {
            n: Fixed(p, fixed[n]) if n in fixed else p for n, p in plain.items()
        }

    def blocks(self) -> Iterator[tuple[Parameter, slice]]:
        """The parameters that can vary and their columns."""
        return zip(self.parameters.values(), self.columns.values(), strict=True)

    @property
    def n_parameters(self) -> int:
        """Parameters that can vary."""
        return len(self.parameters)

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
        parts = zip(self.parameters.values(), self.columns.values(), strict=True)
        flags = [
            np.full(p.pool.columns, False) if isinstance(p, Candidate) else self.continuous[c]
            for p, c in parts
        ]
        switches = np.full(len(self.conditions.switches), False)
        return np.concatenate([np.zeros(0, dtype=bool), *flags, switches])

    def places(self, columns: Int[np.ndarray, " k"]) -> Int[np.ndarray, " k"]:
        """The networks' input columns of these encoded ones, which belong to no pool."""
        pooled = [p.pool.columns - 1 if isinstance(p, Candidate) else 0 for p, _ in self.blocks()]
        owner = np.searchsorted([c.start for _, c in self.blocks()], columns, side="right") - 1
        return columns + np.cumsum([0, *pooled])[owner]

    def inputs(self, x: Matrix) -> Matrix:
        """What networks see of encoded points: candidates of pools as their features, and which
        conditions hold."""
        parts = zip(self.parameters.values(), self.columns.values(), strict=True)
        blocks = [p.inputs(x[:, c]) if isinstance(p, Candidate) else x[:, c] for p, c in parts]
        if self.conditions:
            active = self.conditions.active(x)
            for i, name in enumerate(self.parameters):
                if name in active:  # the features of an inactive candidate are 0, too
                    blocks[i] = np.where(active[name][:, None], blocks[i], 0.0)
            blocks.append(self.conditions.activity(x))
        return np.concatenate([np.zeros((len(x), 0)), *blocks], axis=1)

    @cached_property
    def tolerance(self) -> Float[np.ndarray, " columns"]:
        """Points that differ by less than this in every column are the same point."""
        return np.where(self.continuous, SAME_POINT, 1e-9)

    @property
    def first_parent(self) -> int:
        """The place of the first parameter that conditions name, among all that can vary."""
        return list(self.parameters).index(self.conditions.parents[0])

    def active_columns(self, x: Matrix) -> Bool[np.ndarray, "n columns"]:
        """Which columns take part at encoded points."""
        return self.conditions.active_columns(x)

    def n_active(self, x: Matrix) -> Int[np.ndarray, " n"]:
        """How many of the parameters that can vary are active at encoded points."""
        active = self.conditions.active(x)
        missing = [~active[n] for n in self.parameters if n in active]
        return self.n_parameters - np.sum([np.zeros(len(x), dtype=int), *missing], axis=0)

    def with_inactive(self, u: Float[np.ndarray, "n parameters"]) -> Matrix:
        """Points of the unit cube, one coordinate per parameter, with values in inactive columns,
        too: another value of a parent may want them."""
        blocks = [p.from_unit(u[:, i]) for i, p in enumerate(self.parameters.values())]
        return np.concatenate([np.zeros((len(u), 0)), *blocks], axis=1)

    def filled(self, x: Matrix, rng: np.random.Generator) -> Matrix:
        """Points with random values in inactive columns."""
        if not self.conditions:
            return x
        drawn = self.with_inactive(rng.random((len(x), self.n_parameters)))
        return np.where(self.active_columns(x), x, drawn)

    def snap(self, x: Matrix) -> Matrix:
        """The nearest valid encoded points."""
        if not self.dim:
            return x
        parts = zip(self.parameters.values(), self.columns.values(), strict=True)
        snapped = np.concatenate([p.snap(x[:, c]) for p, c in parts], axis=1)
        return self.conditions.canonical(snapped)

    def from_unit(self, u: Float[np.ndarray, "n parameters"]) -> Matrix:
        """Points of the unit cube, one coordinate per parameter, as valid encoded points."""
        return self.conditions.canonical(self.with_inactive(u))

    def mutate(
        self,
        x: Matrix,
        rng: np.random.Generator,
        radius: Float[np.ndarray, " n"],
        rate: Float[np.ndarray, " n"],
    ) -> Matrix:
        """Move numeric columns by up to `radius`, and redraw categories with chance `rate`."""
        x = self.filled(x, rng)
        out = x.copy()
        for parameter, columns in self.blocks():
            if parameter.ordered:
                changed = rng.random(len(x)) < rate
                jump = radius * rng.uniform(-1, 1, len(x)) * changed
                out[:, columns] += jump[:, None]
            else:
                redrawn = parameter.from_unit(rng.random(len(x)))
                out[:, columns] = np.where(
                    rng.random((len(x), 1)) < rate[:, None] / 2, redrawn, x[:, columns]
                )
        return self.snap(out)
