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

    `history` is a list of (params, value) or (params, value, {constraint: c}), where None or a
    non-finite value marks a failed evaluation, or an Optuna study. A point is feasible where every
    constraint is at most 0. `learn_failures` says whether regions
    where evaluations fail are learned and avoided; "auto" does so if the points explain the
    failures.
    `fixed` gives the values of some parameters, such as today's temperature: the suggestions are
    the best rest for these, given the whole history.
    `pending` are points being evaluated. `physics` is a law that the objective obeys, a
    `neurobo.PDE`, or several. `where` are known constraints between parameters, which every point
    meets: texts such as "a + b == 1", `neurobo.AtMost`, and callables that are at most 0 where a
    point is allowed. The same arguments with the same seed give the same points in any process;
    without a seed every call differs.
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
