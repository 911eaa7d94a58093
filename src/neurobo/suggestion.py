"""The one pass from trials to a suggestion; everything else is a shell around it.

trials - space -> Data - algorithm -> Decision(score, region) - search -> x - space -> suggestion

The algorithm fits its surrogate to the data and scores points by its acquisition function.
"""

from __future__ import annotations

import contextlib
import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import jax
import numpy as np
from jax import Array

from neurobo.acquisition.constraints import Bounds
from neurobo.acquisition.failure_regions import without_random
from neurobo.algorithm import Algorithm, check_physics, resolve
from neurobo.algorithm.protocols import (
    Decision,
    constrained,
    decide,
    feasibility_of,
    informed,
)
from neurobo.data.observations import CRASH, Data
from neurobo.data.trials import Trials
from neurobo.errors import InvalidInput, check_count
from neurobo.search.initial_design import check_design, start_point, start_size
from neurobo.search.optimiser import minimise
from neurobo.space.search_space import Params, Space, SpaceLike
from neurobo.training.blas_threads import one_blas_thread

if TYPE_CHECKING:
    from optuna.study import Study

    from neurobo.physics.laws import Laws, Physics


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
    """Suggestions that are pending together."""
    if not plan.learn_failures:
        trials = replace(trials, crashed=())
    proposals: list[Proposal] = []
    decisions: dict[int, Decision] = {}
    for i, number in enumerate(numbers):
        data = Data.of(space, trials)  # 1 encode
        begun, member = len(trials.params) + len(trials.pending), ""
        if begun < plan.n_start or (plan.n_start and data.n == 0):
            x = start_point(
                space, data.excluded,
                design=plan.design, size=plan.n_start, seed=plan.seed, number=number,
            )  # fmt: skip
        else:
            with jax.enable_x64(True), one_blas_thread():
                key = jax.random.key(plan.seed)
                bounds, data = _bounds(plan, key, data, number)
                if number not in decisions:  # 2 fit, 3 posterior, 4 acquisition
                    algorithm = informed(plan.algorithm, space, trials, plan.laws)
                    decisions |= decide(algorithm, key, data, numbers[i:])
                decision = constrained(decisions[number], bounds, data, number)
                rng = np.random.default_rng([plan.seed, number])
                x = minimise(decision.score, space, data, rng, region=decision.region)  # 5 search
                member = decision.member
        proposals.append(Proposal(space.decode(x), member))  # 6 decode
        trials = trials.with_pending(proposals[-1].params)
    return proposals


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
    if space.repeats or len(points) < space.size:
        return False
    return len(np.unique(space.encode(points).round(9), axis=0)) >= space.size


def suggest(
    space: SpaceLike,
    history: Iterable[tuple[Any, ...]] | Study = (),
    n: int = 1,
    *,
    algorithm: str | Algorithm = "auto",
    seed: int | None = None,
    pending: Sequence[Any] = (),
    n_startup_trials: int | None = None,
    start: str = "sobol",
    learn_failures: bool | Literal["auto"] = "auto",
    physics: Physics | None = None,
) -> list[Any]:
    """The next `n` points to evaluate, as a pure function: no study, no storage.

    `history` is a list of (params, value) or (params, value, {constraint: c}), where None or a
    non-finite value marks a failed evaluation, or an Optuna study. A point is feasible where every
    constraint is at most 0. `learn_failures` says whether regions
    where evaluations fail are learned and avoided; "auto" does so if the points explain the
    failures.
    `pending` are points being evaluated. `physics` is a law that the objective obeys, a
    `neurobo.PDE`, or several. The same arguments with the same seed give the same points in any
    process; without a seed every call differs.
    """
    checked = Space.of(space)
    chosen = resolve(algorithm)
    check_physics(chosen, physics)
    plan = Plan(
        algorithm=chosen,
        seed=check_seed(seed),
        n_start=start_size(checked, n_startup_trials, lawful=physics is not None),
        design=start,
        learn_failures=check_learn_failures(learn_failures),
        laws=laws_of(physics, checked, history),
    )
    check_design(start)
    check_count("n", n)
    trials = trials_of(checked, history, pending)
    first = len(trials.params) + len(trials.pending)
    found = next_points(checked, trials, plan, range(first, first + n))
    return [checked.point(proposal.params) for proposal in found]


def laws_of(physics: Physics | None, space: Space, history: Any = ()) -> Laws | None:
    """The laws in a space; a study may be one of maximisation."""
    if physics is None:
        return None
    from neurobo.physics.laws import bind

    maximised = getattr(getattr(history, "direction", None), "name", "") == "MAXIMIZE"
    return bind(physics, space, sign=-1.0 if maximised else 1.0)


def check_learn_failures(given: bool | str) -> bool | Literal["auto"]:
    if given != "auto" and not isinstance(given, bool):
        raise InvalidInput(f'learn_failures must be True, False or "auto", got {given!r}')
    return given  # type: ignore[return-value]


def check_seed(seed: int | None) -> int:
    """The given seed, or a fresh one."""
    if seed is None:
        return secrets.randbits(32)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise InvalidInput(f"seed must be a whole number from 0 to 2**63 - 1, got {seed!r}")
    return int(seed)


def trials_of(space: Space, history: Any, pending: Sequence[Any] = ()) -> Trials:
    """A history in any of the forms that `suggest` takes."""
    if hasattr(history, "get_trials"):
        from neurobo.integrations.optuna.sampler import (
            trials_of_study,  # Optuna's side of the house
        )

        found = trials_of_study(history, space)
        return replace(found, pending=[*found.pending, *map(space.params, pending)])
    params, values, constraints = [], [], []
    for i, entry in enumerate(history):
        if not isinstance(entry, tuple | list) or len(entry) not in (2, 3):
            raise InvalidInput(
                "a history entry must be (params, value) or (params, value, constraints), got "
                f"{entry!r} at {i}"
            )
        point, value, *known = entry
        params.append(space.params(point))
        values.append(_number(value, "history value", i))
        constraints.append(_constraints(known[0] if known else {}, i))
    crashed = [not math.isfinite(value) for value in values]
    return Trials(params, values, [space.params(p) for p in pending], constraints, crashed)


def _constraints(known: Any, i: int) -> dict[str, float]:
    if not isinstance(known, Mapping) or not all(isinstance(name, str) for name in known):
        raise InvalidInput(f"constraints must be a dict by name, got {known!r} at {i}")
    found = {name: _number(c, f"constraint {name!r}", i) for name, c in known.items()}
    return {name: c for name, c in found.items() if math.isfinite(c)}  # what is not is not known


def _number(value: Any, what: str, i: int) -> float:
    if value is None:
        return float("nan")
    if not isinstance(value, str | bytes) and np.ndim(value) == 0:
        with contextlib.suppress(TypeError, ValueError):
            return float(value)
    raise InvalidInput(f"a {what} must be a number or None, got {value!r} at {i}")
