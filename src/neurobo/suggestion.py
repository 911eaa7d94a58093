"""The one pass from trials to a suggestion; everything else is a shell around it.

trials - space -> Data - algorithm -> Decision(score, region) - search -> x - space -> suggestion

The algorithm fits its surrogate to the data and scores points by its acquisition function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import jax
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.acquisition.constraints import Bounds
from neurobo.acquisition.failure_regions import without_random
from neurobo.algorithm import Algorithm
from neurobo.algorithm.protocols import (
    Decision,
    constrained,
    decide,
    feasibility_of,
    informed,
)
from neurobo.compilation import ahead
from neurobo.data.observations import CRASH, Data
from neurobo.data.trials import Trials
from neurobo.errors import InvalidInput, SpaceExhausted
from neurobo.networks import keys
from neurobo.search.initial_design import start_point
from neurobo.search.optimiser import best_points
from neurobo.space.search_space import Params, Space
from neurobo.training.blas_threads import one_blas_thread

if TYPE_CHECKING:
    from neurobo.physics.laws import Laws


DECISIONS = 8
"""Decisions that many suggestions at once share: each costs a posterior and a search."""


@dataclass(frozen=True)
class Plan:
    """How suggestions are made, apart from the data."""

    algorithm: Algorithm
    seed: int
    n_start: int
    design: str
    learn_failures: bool | Literal["auto"] = "auto"
    """Whether failed evaluations are a constraint to learn; "auto": if the points explain them."""
    laws: Laws | None = None


class Proposal(NamedTuple):
    params: Params
    member: str
    """Of a portfolio, that proposed it; else ""."""


def next_point(space: Space, trials: Trials, plan: Plan, number: int) -> Proposal:
    """Suggestion `number`: a pure function of its arguments."""
    return next_points(space, trials, plan, [number])[0]


def next_points(
    space: Space, trials: Trials, plan: Plan, numbers: Sequence[int], most: int = DECISIONS
) -> list[Proposal]:
    """Suggestions that are pending together: up to `most` by decisions of their own, each of which
    knows the points before it; more share that many decisions."""
    if not plan.learn_failures:
        trials = replace(trials, crashed=())
    trials = trials.encoded_in(space)
    proposals: list[Proposal] = []
    decisions: dict[int, Decision] = {}
    share = -(-len(numbers) // most)
    while len(proposals) < len(numbers):
        i = len(proposals)
        number = numbers[i]
        if not trials.repeats and is_exhausted(space, trials):  # before any model is fitted
            raise SpaceExhausted(
                f"every point of the space must be evaluated only once, and all {space.size:.0f} "
                "are evaluated or pending"
            )
        data = Data.of(space, trials)  # 1 encode
        begun, member = len(trials.params) + len(trials.pending), ""
        if begun < plan.n_start or (plan.n_start and data.n == 0):
            count = len(numbers) - i if data.n == 0 else min(plan.n_start - begun, len(numbers) - i)
            found = _start_points(space, plan, data.excluded, numbers[i : i + count])
        else:
            with jax.enable_x64(True), _blas():
                key = keys.key(plan.seed)
                bounds, data = _bounds(plan, key, data, number)
                if number not in decisions:  # 2 fit, 3 posterior, 4 acquisition
                    algorithm = informed(plan.algorithm, space, trials, plan.laws)
                    decisions |= decide(algorithm, key, data, numbers[i::share])
                decision = constrained(decisions[number], bounds, data, number)
                rng = np.random.default_rng([plan.seed, number])
                # The best point may have been found at other values of fixed parameters.
                region = None if space.fixed else decision.region
                found = best_points(  # 5 search
                    decision.score, space, data, rng,
                    region=region, candidates=decision.candidates,
                    count=min(share, len(numbers) - i),
                )  # fmt: skip
                member = decision.member
        points = space.decode_all(found)  # 6 decode
        proposals += [Proposal(point, member) for point in points]
        if len(proposals) < len(numbers):
            trials = trials.with_pending(space, points)
    return proposals


def _start_points(
    space: Space, plan: Plan, excluded: Float[np.ndarray, "m d"], numbers: Sequence[int]
) -> Float[np.ndarray, "n d"]:
    """Points of the initial design, each of them free; only the first in a finite space, which may
    be exhausted by it."""
    found: list[np.ndarray] = []
    for number in numbers if space.n_points == math.inf else numbers[:1]:
        x = start_point(
            space, np.concatenate([excluded, *(one[None] for one in found)]),
            design=plan.design, size=plan.n_start, seed=plan.seed, number=number,
        )  # fmt: skip
        found.append(x)
    return np.stack(found)


def _blas() -> AbstractContextManager[None]:
    """A rehearsal leaves the threads of BLAS to the evaluation that runs meanwhile."""
    return nullcontext() if ahead.in_background() else one_blas_thread()


REHEARSED = 5
"""Suggestions: an untried middle of the space, the members of a portfolio, another kernel."""


def compile_ahead(space: Space, plan: Plan) -> None:
    """Compile in the background what the first suggestions of a model will need."""

    def suggest() -> None:
        rng = np.random.default_rng(0)
        x = space.from_unit(rng.random((plan.n_start, space.n_parameters)))
        points, values = space.decode_all(x), np.mean((x - 0.3) ** 2, axis=1).tolist()
        for n in range(plan.n_start, plan.n_start + REHEARSED):
            proposed = next_point(space, Trials(points, values).repeatable(), plan, n).params
            points.append(proposed)
            values.append(float(np.mean((space.encode([proposed]) - 0.3) ** 2)))

    ahead.rehearse(suggest)


def _bounds(plan: Plan, key: Array, data: Data, number: int) -> tuple[Bounds | None, Data]:
    """Where constraints allow a point, if there are any, and the data judged by them."""
    if not data.constraints:
        return None, data
    handling = feasibility_of(plan.algorithm)
    if plan.learn_failures == "auto":
        data = without_random(data, handling.network(data, CRASH))
        if not data.constraints:
            return None, data
    return handling.learn(key, data, number)


def is_exhausted(space: Space, trials: Trials) -> bool:
    """Whether every point of a finite space is evaluated or pending."""
    points = [*trials.params, *trials.pending]
    if space.repeats or len(points) < space.n_points:
        return False
    x = space.encode(points)
    if space.fixed:  # points elsewhere do not count
        x = x[np.all(np.abs(space.snap(x) - x) <= space.tolerance, axis=1)]
    if space.feasible is not None:  # nor do those from before the constraints
        x = x[space.feasible.contains(x)]
    return len(np.unique(x.round(9), axis=0)) >= space.n_points


def check_learn_failures(given: bool | str) -> bool | Literal["auto"]:
    if given != "auto" and not isinstance(given, bool):
        raise InvalidInput(f'learn_failures must be True, False or "auto", got {given!r}')
    return given  # type: ignore[return-value]
