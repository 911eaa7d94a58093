"""The one pass from trials to a suggestion; everything else is a shell around it.

trials - space -> Data - algorithm -> score(x) - minimise -> x - space -> suggestion
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import jax
import numpy as np

from neurobo.acquisition.constraints import Bounds, Feasibility, search
from neurobo.acquisition.failure_regions import without_random
from neurobo.algorithm import Algorithm, Portfolio
from neurobo.data.observations import CRASH, Data, Trials
from neurobo.errors import InvalidInput
from neurobo.search.initial_design import start_point
from neurobo.search.optimiser import Score, minimise
from neurobo.space.search_space import Params, Space
from neurobo.training.blas_threads import one_blas_thread

if TYPE_CHECKING:
    from neurobo.physics.laws import Laws


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


def next_points(space: Space, trials: Trials, plan: Plan, numbers: Sequence[int]) -> list[Proposal]:
    """Suggestions that are pending together. Algorithms that draw functions draw all at once."""
    if not plan.learn_failures:
        trials = replace(trials, crashed=())
    points: list[Proposal] = []
    drawn: dict[int, Score] = {}
    for i, number in enumerate(numbers):
        data = replace(Data.of(space, trials), laws=plan.laws)  # 1 encode
        begun, member = len(trials.params) + len(trials.pending), ""
        if begun < plan.n_start or (plan.n_start and data.n == 0):
            x = start_point(
                space, data.taken,
                design=plan.design, size=plan.n_start, seed=plan.seed, number=number,
            )  # fmt: skip
        else:
            with jax.enable_x64(True), one_blas_thread():
                bounds, data = _bounds(plan, data, number)
                if number not in drawn:
                    drawn |= _scores(plan, data, numbers[i:])  # 2 fit, 3 posterior, 4 acquire
                score, region = drawn[number], plan.algorithm.region(data, number)
                if bounds is not None:
                    score, region = search(score, bounds, data, number, region)
                if isinstance(plan.algorithm, Portfolio):
                    member = plan.algorithm.member(data, number)
                rng = np.random.default_rng([plan.seed, number])
                x = minimise(score, space, data, rng, region=region)  # 5
        points.append(Proposal(space.decode(x), member))  # 6 decode
        trials = trials.with_pending(points[-1].params)
    return points


def _bounds(plan: Plan, data: Data, number: int) -> tuple[Bounds | None, Data]:
    """Where constraints allow a point, if there are any, and the data judged by them."""
    if not data.limits:
        return None, data
    handling = getattr(plan.algorithm, "feasibility", Feasibility())
    if plan.learn_failures == "auto":
        data = without_random(data, handling.network(data, CRASH))
        if not data.limits:
            return None, data
    return handling.learn(jax.random.key(plan.seed), data, number)


def _scores(plan: Plan, data: Data, numbers: Sequence[int]) -> dict[int, Score]:
    """What to minimise for the first of these suggestions, and for more if they do not depend on
    each other."""
    key = jax.random.key(plan.seed)
    together = getattr(plan.algorithm, "scores", None)
    if together is None or len(numbers) == 1:
        return {numbers[0]: plan.algorithm.score(key, data, numbers[0])}
    return dict(zip(numbers, together(key, data, numbers), strict=False))  # some of them


def is_exhausted(space: Space, trials: Trials) -> bool:
    """Whether every point of a finite space is evaluated or pending."""
    points = [*trials.params, *trials.pending]
    if space.repeats or len(points) < space.size:
        return False
    return len(np.unique(space.encode(points).round(9), axis=0)) >= space.size


def check_learn_failures(given: bool | str) -> bool | Literal["auto"]:
    if given != "auto" and not isinstance(given, bool):
        raise InvalidInput(f'learn_failures must be True, False or "auto", got {given!r}')
    return given  # type: ignore[return-value]
