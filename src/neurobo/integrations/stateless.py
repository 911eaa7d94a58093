"""`neurobo.suggest`: the suggestion pass as a pure function of a history that the caller keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from neurobo.algorithm import Algorithm, check_physics, resolve
from neurobo.errors import check_count, check_seed
from neurobo.integrations.history import is_study, trials_of
from neurobo.integrations.optuna.history import sign_of
from neurobo.search.feasible_points import check_not_empty
from neurobo.search.initial_design import check_design, start_size
from neurobo.space.input_constraints import Where
from neurobo.space.search_space import Space, SpaceLike
from neurobo.suggestion import Plan, check_learn_failures, next_points

if TYPE_CHECKING:
    from optuna.study import Study

    from neurobo.physics.laws import Laws, Physics


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
    fixed: Mapping[str, Any] | None = None,
    where: Where | None = None,
) -> list[Any]:
    """The next `n` points to evaluate, as a pure function: no study, no storage.

    The same arguments with the same seed give the same points in any process. Values are minimised,
    unless `history` is an Optuna study that maximises.

    Args:
        space: The search space, as in `minimize`.
        history: Results so far: a list of `(params, value)` or `(params, value, {name: c})`, or an
            Optuna study. None or a non-finite value marks a failed evaluation; a point is feasible
            where every constraint c is at most 0.
        n: Number of points. Up to 8 are chosen one after the other, each as if those before it had
            turned out as expected; more share eight such decisions, each of which gives good
            points that are far from each other.
        algorithm: One of `neurobo.algorithms()`, or an object such as `neurobo.NTKGP(beta=9.0)`.
        seed: Seed of all random numbers. None: every call differs.
        pending: Points that are being evaluated. They are not suggested again, and the surrogate
            takes them into account.
        n_startup_trials: Number of points of the initial design. None: the number of parameters
            plus two, between 5 and 20.
        start: Kind of the initial design: "sobol", "lhs", "random" or "uncertainty".
        learn_failures: Whether regions where evaluations fail are learned and avoided. "auto": if
            the points explain the failures.
        physics: A differential equation that the objective obeys, a `neurobo.PDE`, or a list.
        fixed: Values of some parameters, such as today's temperature. The other parameters are
            chosen for them, given the whole history.
        where: Known constraints between parameters, as in `minimize`, which every point satisfies.

    Returns:
        The points in the form that an objective of `minimize` gets: dicts, 1-D arrays if `space` is
        a list of bounds, or indices or ids if it is a pool.

    Raises:
        InvalidInput: An argument breaks a rule.
        SpaceExhausted: Every point of a finite space is evaluated or pending.
    """
    checked = Space.of(space, where)
    check_not_empty(checked)
    chosen = resolve(algorithm)
    check_physics(chosen, physics)
    plan = Plan(
        algorithm=chosen,
        seed=check_seed(seed),
        n_start=start_size(checked, n_startup_trials, lawful=physics is not None),
        design=start,
        learn_failures=check_learn_failures(learn_failures),
        laws=_laws(physics, checked, history),
    )
    check_design(start)
    check_count("n", n)
    trials = trials_of(checked, history, pending)
    first = len(trials.params) + len(trials.pending)
    searched = checked if fixed is None else checked.holding(fixed)
    found = next_points(searched, trials, plan, range(first, first + n))
    return [checked.point(proposal.params) for proposal in found]


def _laws(physics: Physics | None, space: Space, history: Any) -> Laws | None:
    """The laws in a space; a study may be one of maximisation."""
    if physics is None:
        return None
    from neurobo.physics.laws import bind

    return bind(physics, space, sign=sign_of(history) if is_study(history) else 1.0)
