"""What a benchmark problem is: one record that the runner, the docs and the listing all read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from neurobo.errors import InvalidInput
from neurobo.space.distributions import contains
from neurobo.space.search_space import Params, Space, SpaceLike

Vector = Float[np.ndarray, " d"]


@dataclass(frozen=True)
class Evaluation:
    """What one evaluation gave."""

    value: float
    """What the optimiser is told, lower is better; NaN if the evaluation failed."""
    constraints: Mapping[str, float] = field(default_factory=dict)
    """Feasible where every one is at most 0."""
    truth: float | None = None
    """The value without noise, where it is known and differs."""
    true_constraints: Mapping[str, float] | None = None
    """The constraints without noise, where they are known and differ."""
    failure: str = ""
    """Why there is no value."""

    @property
    def noiseless(self) -> float:
        return self.value if self.truth is None else self.truth

    @property
    def violation(self) -> float:
        """By how much the constraints are broken as told, all together; 0 where feasible."""
        return _broken(self.constraints)

    @property
    def true_violation(self) -> float:
        return _broken(self.noiseless_constraints)

    @property
    def noiseless_constraints(self) -> Mapping[str, float]:
        return self.constraints if self.true_constraints is None else self.true_constraints


def _broken(constraints: Mapping[str, float]) -> float:
    return sum(max(0.0, c) for c in constraints.values())


Evaluate = Callable[[Params, np.random.Generator], Evaluation]
"""A pure function: all chance comes from the generator."""
ValueAndConstraints = tuple[float, dict[str, float]]
Law = Callable[[Callable[[Any], Any], Any], Any]
"""residual(u, x) of a differential equation, zero where it holds; written in JAX."""


@dataclass(frozen=True)
class Problem:
    """A function to minimise, and all that is known of it."""

    name: str
    summary: str
    source: str
    """Where the definition comes from."""
    space: Space
    evaluate: Evaluate
    budget: int
    """Evaluations in the experiments it comes from."""
    optimum: float | None = None
    """The lowest feasible value without noise, where it is known."""
    best: Params | None = None
    """One point that has it."""
    constraints: tuple[str, ...] = ()
    laws: tuple[Law, ...] = ()
    """Differential equations that the function obeys, in the space's own coordinates."""
    pool: Callable[[], Mapping[str, np.ndarray]] | None = None
    """Features of the candidates that an integer parameter counts, loaded when asked for."""
    start: Callable[[int], Sequence[Params]] | None = None
    """The points that runs with a seed begin with, where published ones did."""
    noisy: bool = False
    batch: int = 1
    """Points that are evaluated at the same time."""
    everywhere: bool = False
    """Whether the formula holds, with the same lowest value, outside the box too, so that the
    problem can be shifted and rotated."""

    @property
    def dim(self) -> int:
        return len(self.space.distributions)

    @property
    def centred(self) -> bool:
        """Whether the optimum sits in the middle of the box, which flatters many methods."""
        if self.best is None or self.space.conditions or not self.space.numeric.all():
            return False
        return bool(np.abs(self.space.encode([self.best])).max() < 0.05)

    @property
    def kinds(self) -> frozenset[str]:
        """What an optimiser must be able to handle."""
        kinds = set()
        if not self.space.continuous.all():
            kinds.add("mixed")
        if self.constraints:
            kinds.add("constraints")
        if self.space.conditions:
            kinds.add("conditional")
        if self.pool is not None:
            kinds = {"pool"}
        if self.batch > 1:
            kinds.add("batch")
        return frozenset(kinds)

    @property
    def offers(self) -> frozenset[str]:
        """What an optimiser may be told, and can do without."""
        return frozenset({"laws"} if self.laws else ())

    def check(self, params: Params) -> None:
        """Refuse what is not a point: values of the active parameters and no others."""
        inactive = self.space.conditions.inactive(params)
        names = [name for name in self.space.distributions if name not in inactive]
        if params.keys() != set(names):
            raise InvalidInput(
                f"a point must give every parameter that it has, {names}, and no others, got "
                f"{list(params)}"
            )
        for name in names:
            distribution = self.space.distributions[name]
            if not contains(distribution, params[name]):
                raise InvalidInput(
                    f"the value of {name!r} must lie in {distribution}, got {params[name]!r}"
                )

    def regret(self, value: float) -> float:
        return math.nan if self.optimum is None else value - self.optimum

    def renamed(self, addition: str, **changes: Any) -> Problem:
        return replace(self, name=f"{self.name}+{addition}", **changes)


def of_vector(
    name: str,
    summary: str,
    function: Callable[[Vector], float | ValueAndConstraints],
    bounds: Sequence[tuple[float, float]],
    *,
    best: Sequence[float] | None = None,
    **known: Any,
) -> Problem:
    """A problem whose noiseless function takes a vector of a box."""
    space = Space.of(list(bounds))
    at = None if best is None else space.params(np.array(best, dtype=float))
    return of_function(name, summary, lambda p: function(space.point(p)), space, best=at, **known)


def of_function(
    name: str,
    summary: str,
    function: Callable[[Params], float | ValueAndConstraints],
    space: SpaceLike | Space,
    **known: Any,
) -> Problem:
    """A problem whose noiseless function takes a dict of parameters."""

    def evaluate(params: Params, rng: np.random.Generator) -> Evaluation:
        result = function(params)
        value, constraints = result if isinstance(result, tuple) else (result, {})
        return Evaluation(float(value), {n: float(c) for n, c in constraints.items()})

    return Problem(name, summary, space=Space.of(space), evaluate=evaluate, **known)
