"""The one pass from trials to a suggestion; everything else is a shell around it.

trials - space -> Data - algorithm -> score(x) - minimise -> x - space -> suggestion
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from neurobo.algorithms import Algorithm, check_physics, resolve
from neurobo.data import Data, Trials
from neurobo.errors import InvalidInput, check_count
from neurobo.maximise import Score, minimise
from neurobo.space import Params, Space, SpaceLike
from neurobo.start import check_design, start_point, start_size
from neurobo.threads import one_blas_thread

if TYPE_CHECKING:
    from optuna.study import Study

    from neurobo.laws import Laws, Physics


@dataclass(frozen=True)
class Plan:
    """How suggestions are made, apart from the data."""

    algorithm: Algorithm
    seed: int
    n_start: int
    design: str
    laws: Laws | None = None


def next_point(space: Space, trials: Trials, plan: Plan, number: int) -> Params:
    """Suggestion `number`: a pure function of its arguments."""
    return next_points(space, trials, plan, [number])[0]


def next_points(space: Space, trials: Trials, plan: Plan, numbers: Sequence[int]) -> list[Params]:
    """Suggestions that are pending together. Algorithms that draw functions draw all at once."""
    points: list[Params] = []
    drawn: dict[int, Score] = {}
    for i, number in enumerate(numbers):
        data = replace(Data.of(space, trials), laws=plan.laws)  # 1 encode
        begun = len(trials.params) + len(trials.pending)
        if begun < plan.n_start or (plan.n_start and data.n == 0):
            x = start_point(
                space, data.taken,
                design=plan.design, size=plan.n_start, seed=plan.seed, number=number,
            )  # fmt: skip
        else:
            with jax.enable_x64(True), one_blas_thread():
                if number not in drawn:
                    drawn |= _scores(plan, data, numbers[i:])  # 2 fit, 3 posterior, 4 acquire
                rng = np.random.default_rng([plan.seed, number])
                region = plan.algorithm.region(data, number)
                x = minimise(drawn[number], space, data, rng, region=region)  # 5
        points.append(space.decode(x))  # 6 decode
        trials = trials.with_pending(points[-1])
    return points


def _scores(plan: Plan, data: Data, numbers: Sequence[int]) -> dict[int, Score]:
    """What to minimise for the first of these suggestions, and for more if they do not depend on
    each other."""
    key = jax.random.key(plan.seed)
    together = getattr(plan.algorithm, "scores", None)
    if together is None or len(numbers) == 1:
        return {numbers[0]: plan.algorithm.score(key, data, numbers[0])}
    return dict(zip(numbers, together(key, data, numbers), strict=True))


def is_exhausted(space: Space, trials: Trials) -> bool:
    """Whether every point of a finite space is evaluated or pending."""
    points = [*trials.params, *trials.pending]
    if space.repeats or len(points) < space.size:
        return False
    return len(np.unique(space.encode(points).round(9), axis=0)) >= space.size


def suggest(
    space: SpaceLike,
    history: Iterable[tuple[Any, float | None]] | Study = (),
    n: int = 1,
    *,
    algorithm: str | Algorithm = "auto",
    seed: int | None = None,
    pending: Sequence[Any] = (),
    n_startup_trials: int | None = None,
    start: str = "sobol",
    physics: Physics | None = None,
) -> list[Any]:
    """The next `n` points to evaluate, as a pure function: no study, no storage.

    `history` is a list of (params, value), where None or a non-finite value marks a failed
    evaluation, or an Optuna study. `pending` are points being evaluated. `physics` is a law that
    the objective obeys, a `neurobo.PDE`, or several. The same arguments with the same seed give the
    same points in any process; without a seed every call differs.
    """
    checked = Space.of(space)
    chosen = resolve(algorithm)
    check_physics(chosen, physics)
    plan = Plan(
        algorithm=chosen,
        seed=check_seed(seed),
        n_start=start_size(checked, n_startup_trials),
        design=start,
        laws=laws_of(physics, checked, history),
    )
    check_design(start)
    check_count("n", n)
    trials = trials_of(checked, history, pending)
    first = len(trials.params) + len(trials.pending)
    found = next_points(checked, trials, plan, range(first, first + n))
    return [checked.point(params) for params in found]


def laws_of(physics: Physics | None, space: Space, history: Any = ()) -> Laws | None:
    """The laws in a space; a study may be one of maximisation."""
    if physics is None:
        return None
    from neurobo.laws import bind

    maximised = getattr(getattr(history, "direction", None), "name", "") == "MAXIMIZE"
    return bind(physics, space, sign=-1.0 if maximised else 1.0)


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
        from neurobo.sampler import trials_of_study  # Optuna's side of the house

        found = trials_of_study(history, space)
        return Trials(found.params, found.values, [*found.pending, *map(space.params, pending)])
    params, values = [], []
    for i, entry in enumerate(history):
        if not isinstance(entry, tuple | list) or len(entry) != 2:
            raise InvalidInput(f"a history entry must be (params, value), got {entry!r} at {i}")
        point, value = entry
        params.append(space.params(point))
        values.append(_value(value, i))
    return Trials(params, values, [space.params(p) for p in pending])


def _value(value: Any, i: int) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, str | bytes) or np.ndim(value) != 0:
        raise InvalidInput(f"a history value must be a number or None, got {value!r} at {i}")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"a history value must be a number or None, got {value!r} at {i}"
        ) from None
