"""What an algorithm is: one method, and abilities that it may have besides.

Only this file and the registry ask which abilities an algorithm has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from jax import Array

from neurobo.acquisition import constraints
from neurobo.acquisition.constraints import Bounds, Feasibility
from neurobo.acquisition.score import Score
from neurobo.data.observations import Data
from neurobo.data.trials import Trials
from neurobo.physics.laws import Laws
from neurobo.search.trust_region import Region, while_infeasible
from neurobo.space.search_space import Space
from neurobo.surrogates.hyperparameters import Logarithms
from neurobo.surrogates.posterior import Function, Posterior


@dataclass(frozen=True)
class Decision:
    """What an algorithm decides about one suggestion: its point has the lowest score."""

    score: Score
    region: Region | None = None
    """Where to search; None: everywhere."""
    member: str = ""
    """Which member of a portfolio decided; else ""."""
    candidates: int | None = None
    """How many Sobol points to score, and nothing else; None: all that the search does."""


@runtime_checkable
class Algorithm(Protocol):
    """A surrogate and an acquisition: what to minimise, and where."""

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        """The decision about suggestion `number`.

        `key` is the run's: what shall be new in each suggestion comes from it and the number.
        """
        ...


@runtime_checkable
class SupportsBatch(Protocol):
    """Several decisions from one fit."""

    def decide_batch(self, key: Array, data: Data, numbers: Sequence[int]) -> list[Decision]:
        """The first of a batch, and as many more as do not depend on those before."""
        ...


@runtime_checkable
class SupportsConstraints(Protocol):
    """Settings of its own for the constraints' surrogates and bounds."""

    @property
    def feasibility(self) -> Feasibility: ...


@runtime_checkable
class SupportsPhysics(Protocol):
    """It can use differential equations that the objective obeys."""

    @property
    def requires_physics(self) -> bool: ...

    def with_laws(self, laws: Laws) -> Algorithm:
        """The same algorithm for an objective that obeys these laws."""
        ...


@runtime_checkable
class Portfolio(Protocol):
    """It leaves each suggestion to one of several members."""

    def with_history(self, space: Space, trials: Trials) -> Algorithm:
        """The same algorithm after these trials: who proposed them and where they were says whose
        turn it is."""
        ...


@runtime_checkable
class SupportsWarmStart(Protocol):
    """Its search for hyper-parameters can begin where another one ended."""

    def with_start(self, start: Logarithms) -> Algorithm: ...


@runtime_checkable
class HasPosterior(Protocol):
    """Its surrogate has a closed-form posterior: for plots."""

    def posterior(self, key: Array, data: Data) -> Posterior: ...


@runtime_checkable
class Samples(Protocol):
    """Its surrogate can be sampled, although its score is no sample."""

    def sample(self, key: Array, data: Data, number: int) -> Function: ...


def informed(algorithm: Algorithm, space: Space, trials: Trials, laws: Laws | None) -> Algorithm:
    """The algorithm with what it can use beyond observations."""
    if isinstance(algorithm, Portfolio):
        algorithm = algorithm.with_history(space, trials)
    if laws is not None and isinstance(algorithm, SupportsPhysics):
        algorithm = algorithm.with_laws(laws)
    return algorithm


def warm_started(algorithm: Algorithm, start: Logarithms | None) -> Algorithm:
    """The algorithm with what is known about its hyper-parameters."""
    if start is None or not isinstance(algorithm, SupportsWarmStart):
        return algorithm
    return algorithm.with_start(start)


def decide(
    algorithm: Algorithm, key: Array, data: Data, numbers: Sequence[int]
) -> dict[int, Decision]:
    """About the first of these suggestions, and about more if they do not depend on each other."""
    if len(numbers) > 1 and isinstance(algorithm, SupportsBatch):
        return dict(zip(numbers, algorithm.decide_batch(key, data, numbers), strict=False))
    return {numbers[0]: algorithm.decide(key, data, numbers[0])}


def feasibility_of(algorithm: Algorithm) -> Feasibility:
    """How constraints are handled."""
    return algorithm.feasibility if isinstance(algorithm, SupportsConstraints) else Feasibility()


def constrained(decision: Decision, bounds: Bounds | None, data: Data, number: int) -> Decision:
    """The decision where constraints allow it; without bounds there are none."""
    if bounds is None:
        return decision
    score = constraints.constrained(decision.score, bounds, data)
    return replace(decision, score=score, region=while_infeasible(decision.region, data, number))


def posterior_of(algorithm: Algorithm, key: Array, data: Data) -> Posterior | None:
    """None: only samples are to be had."""
    return algorithm.posterior(key, data) if isinstance(algorithm, HasPosterior) else None


def sample_of(algorithm: Algorithm, key: Array, data: Data, number: int) -> Function:
    """A posterior sample, which is the score itself in Thompson sampling."""
    if isinstance(algorithm, Samples):
        return algorithm.sample(key, data, number)
    return algorithm.decide(key, data, number).score
