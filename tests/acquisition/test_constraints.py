"""Unknown constraints: what the suggestions make of them, in good and in bad cases."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optuna
import pytest
from scipy.stats import norm
from small import ALGORITHMS

import neurobo
from neurobo.acquisition.constraints import Bounds, Feasibility, Reaching, Within, constrained
from neurobo.acquisition.normal_tails import log_probability
from neurobo.data.observations import CRASH, Data
from neurobo.data.scaling import Scale
from neurobo.data.trials import Trials
from neurobo.errors import InvalidInput, NeuroboWarning
from neurobo.integrations.optuna.history import trials_of_study
from neurobo.search.optimiser import minimise
from neurobo.search.scoring import evaluate
from neurobo.space.search_space import Space
from neurobo.suggestion import Plan, next_points
from neurobo.surrogates.multi_output import MultiOutput

SPACE = {"x": (-2.0, 2.0), "y": (-2.0, 2.0)}
FAST = neurobo.NeuralCBO(width=32)
History = list[tuple[dict[str, float], float | None, dict[str, float]]]


def _points(n: int, seed: int = 0) -> list[dict[str, float]]:
    rng = np.random.default_rng(seed)
    return [{"x": float(a), "y": float(b)} for a, b in rng.uniform(-2, 2, (n, 2))]


def _disc(p: dict[str, float]) -> float:
    return p["x"] ** 2 + p["y"] ** 2 - 1


def _history(constraints: Any, n: int = 14) -> History:
    """Minimise x + y where `constraints` allow it."""
    return [(p, p["x"] + p["y"], constraints(p)) for p in _points(n)]


def _next(history: Any, n: int = 1, **options: Any) -> list[dict[str, float]]:
    return neurobo.suggest(SPACE, history, n, **{"algorithm": FAST, "seed": 0, **options})


def _data(history: History) -> Data:
    points = [p for p, _, _ in history]
    values = [math.nan if v is None else v for _, v, _ in history]
    return Data.of(Space.of(SPACE), Trials(points, values, [], [c for _, _, c in history]))


# The parts --------------------------------------------------------------------------------------


def test_log_probability_is_that_of_the_normal_distribution(x64: None) -> None:
    z = np.concatenate([-np.logspace(-3, 3, 40), np.linspace(-5, 6, 40)])
    found = np.asarray(jax.jit(log_probability)(jnp.asarray(z)))
    np.testing.assert_allclose(found, norm.logcdf(z), rtol=1e-12, atol=1e-14)


def test_the_threshold_moves_with_the_scale() -> None:
    """Zero stays between what was below and what was above it, in any unit and at any offset."""
    for c in (np.array([-3.0, 2, 5, 1e6]), np.array([1e-300, -2e-300]), np.array([7.0, 8, 9])):
        scale = Scale.of(c)
        zero = scale(np.zeros(1))[0]
        np.testing.assert_array_equal(scale(c) > zero, c > 0)


def test_noisy_constraints_are_judged_by_what_is_expected(x64: None) -> None:
    """A lucky value far outside does not make a point feasible; without noise values decide."""
    rng = np.random.default_rng(2)
    known = _history(lambda p: {"disc": _disc(p) + 0.8 * rng.normal()}, 40)
    outside = np.array([_disc(p) for p, _, _ in known])
    lucky = int(np.argmin(np.abs(outside - 3)))
    known[lucky][2]["disc"] = -0.1
    told = np.array([c["disc"] for _, _, c in known])
    _, judged = Feasibility(width=64).learn(jax.random.key(0), _data(known), 0)
    assert judged.violation is not None
    wrong = np.mean((judged.violation <= 0) != (outside <= 0))
    assert wrong < np.mean((told <= 0) != (outside <= 0))
    assert judged.violation[lucky] > 0

    exact = _history(lambda p: {"disc": _disc(p)}, 40)
    _, judged = Feasibility(width=64).learn(jax.random.key(0), _data(exact), 0)
    assert judged.violation is not None
    np.testing.assert_array_equal(judged.violation <= 0, outside <= 0)


@pytest.mark.slow
def test_bounds_by_theory_follow_what_the_observations_have_told(x64: None) -> None:
    """The posterior assumes the noise that it finds, λ = R²: so many standard deviations are
    B + √(γ_t + 2 + 2 log(1/δ)), however much noise there is."""

    def deviations(n: int, noise: float) -> tuple[float, float]:
        rng = np.random.default_rng(1)
        data = _data(_history(lambda p: {"disc": _disc(p) + noise * rng.normal()}, n))
        bounds, _ = Feasibility("theory", width=32).learn(jax.random.key(0), data, 0)
        (group,) = bounds.groups
        assert isinstance(group, MultiOutput)
        return float(bounds.deviations[0]), float(group.information[0])

    for n, noise in ((8, 1.0), (24, 1.0), (24, 0.1)):
        found, gain = deviations(n, noise)
        assert found == pytest.approx(1 + np.sqrt(gain + 2 + 2 * np.log(10)))


@pytest.mark.parametrize("c", [-4.0, 0.0, 4.0])
def test_a_constant_constraint_says_only_on_which_side_it_is(c: float) -> None:
    (limit,) = _data(_history(lambda p: {"same": c})).constraints
    assert np.all(limit.data.y == 0)
    assert limit.threshold == -np.sign(c)


def test_constraints_are_aligned_by_name_and_may_be_partial() -> None:
    history = _history(lambda p: {"b": p["x"], "a": p["y"]}, 6)
    history[2] = (history[2][0], None, {"a": 1.0})  # failed, with one constraint
    history[4] = (history[4][0], history[4][1], {"b": 2.0})
    data = _data(history)
    assert [limit.name for limit in data.constraints] == ["a", "b"]
    a, b = data.constraints
    assert (data.n, a.data.n, b.data.n) == (5, 5, 5)
    assert np.isnan(a.known).tolist() == [False, False, False, True, False]
    assert 1.0 in a.data.values  # also of the failed trial


def test_observations_are_judged_by_value_or_else_by_expectation(x64: None) -> None:
    history = _history(lambda p: {"disc": _disc(p)}, 24)
    for i in (3, 7, 11):
        history[i] = (*history[i][:2], {})
    _, data = Feasibility(width=64).learn(jax.random.key(0), _data(history), 0)
    assert data.violation is not None
    true = np.array([_disc(p) for p, *_ in history])
    told = [i for i in range(24) if i not in (3, 7, 11)]
    np.testing.assert_array_equal(data.violation[told] > 0, true[told] > 0)
    for i in (3, 7, 11):  # far from the edge the networks know
        if abs(true[i]) > 1:
            assert (data.violation[i] > 0) == (true[i] > 0)
    assert set(data.eligible) == set(np.flatnonzero(data.violation <= 0))


@pytest.mark.slow
def test_the_bound_is_optimistic_and_cautious_in_turn(x64: None) -> None:
    data = _data(_history(lambda p: {"disc": _disc(p)}))
    bold, shy = (Feasibility(width=32).learn(jax.random.key(0), data, i)[0] for i in (0, 1))
    x = jnp.asarray(np.random.default_rng(1).uniform(-1, 1, (50, 2)))
    assert np.all(np.asarray(bold.lower(x)) < np.asarray(shy.lower(x)))


def _search(history: History, number: int = 0) -> tuple[Any, Bounds, Data]:
    bounds, data = Feasibility(width=32).learn(jax.random.key(0), _data(history), number)
    score = FAST.decide(jax.random.key(0), data, number).score
    return constrained(score, bounds, data), bounds, data


def test_only_allowed_points_are_scored(x64: None) -> None:
    score, bounds, data = _search(_history(lambda p: {"disc": _disc(p)}))
    assert isinstance(score, Within)
    x = minimise(score, Space.of(SPACE), data, np.random.default_rng(0))
    lower = jax.jit(lambda b, at: b.lower(at))(bounds, jnp.asarray(x[None]))
    assert float(np.max(np.asarray(lower))) <= 0
    # No random candidate that is allowed has a better score.
    others = np.random.default_rng(1).uniform(-1, 1, (2000, 2))
    here, there = (evaluate(score, Space.of(SPACE), at) for at in (x[None], others))
    assert here[0] <= there.min() + 1e-6


@pytest.mark.slow
def test_nothing_feasible_leads_to_the_likeliest_place(x64: None) -> None:
    far = _history(lambda p: {"corner": 3.5 - p["x"] - p["y"]})
    far = [h for h in far if h[2]["corner"] > 0]
    score, _, _ = _search(far)
    assert isinstance(score, Reaching)
    found = _next(far)[0]
    assert found["x"] + found["y"] > 2


# Suggestions ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_boundary_optimum_is_found() -> None:
    """The lowest x + y in the unit disc is -√2, where the boundary is hit."""
    study = neurobo.minimize(
        lambda p: (p["x"] + p["y"], {"disc": _disc(p)}), SPACE, 22, algorithm=FAST, seed=1,
        progress=False,
    )  # fmt: skip
    assert study.best_trial.constraints["disc"] <= 0
    assert study.best_value < -math.sqrt(2) + 0.03


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n != "auto")) for n in ALGORITHMS]
)
def test_every_algorithm_respects_constraints(name: str) -> None:
    """Where x + y is lowest is not allowed; the last suggestions know that."""
    history = _history(lambda p: {"half": -p["x"] - 0.5}, 24)
    found = _next(history, 4, algorithm=ALGORITHMS[name])
    assert sum(p["x"] > -1.0 for p in found) >= 3


BAD: dict[str, Any] = {
    "no feasible point": lambda p: {"never": 1 + p["x"] ** 2},
    "constant and broken": lambda p: {"same": 1.0},
    "constant and kept": lambda p: {"same": -1.0},
    "never violated": lambda p: {"easy": -5 + p["x"]},
    "half of them": lambda p: {"late": p["x"]} if p["y"] > 0 else {},
    "huge": lambda p: {"huge": 1e300 * p["x"]},
    "tiny": lambda p: {"tiny": 1e-300 * p["x"]},
    "many": lambda p: {f"c{i}": p["x"] - i for i in range(5)},
    "not a number at times": lambda p: {"c": math.nan if p["x"] > 1 else p["x"]},
}


SELDOM = ("many", "huge", "tiny")


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=[pytest.mark.slow] * (c in ("many", "huge", "tiny"))) for c in BAD],
)
def test_odd_constraints_still_give_good_points(case: str) -> None:
    history = _history(BAD[case], 9)
    found = _next(history, 2)
    assert found[0] != found[1]
    assert all(-2 <= v <= 2 for p in found for v in p.values())


@pytest.mark.slow
@pytest.mark.slow
def test_a_batch_while_nothing_is_feasible_is_spread() -> None:
    def bump(p: dict[str, float]) -> dict[str, float]:
        return {"bump": 1.9 - 2 * math.exp(-3 * ((p["x"] - 1) ** 2 + (p["y"] + 1) ** 2))}

    points = _next(_history(bump), 4)
    at = np.array([[p["x"], p["y"]] for p in points])
    gaps = [np.linalg.norm(a - b) for i, a in enumerate(at) for b in at[:i]]
    assert min(gaps) > 0.02


@pytest.mark.slow
def test_a_constraint_that_is_never_violated_changes_little() -> None:
    """Both runs see the same objective; the loose constraint must not keep one from the optimum."""

    def bowl(p: dict[str, float]) -> float:
        return (p["x"] - 1) ** 2 + p["y"] ** 2

    objectives: list[Any] = [bowl, lambda p: (bowl(p), {"easy": -1.0})]
    found = [
        neurobo.minimize(objective, SPACE, 14, algorithm=FAST, seed=0, progress=False)
        for objective in objectives
    ]
    first, other = ([[t.params["x"], t.params["y"]] for t in study.trials[:8]] for study in found)
    # Later points depend on rounding: two of nearly the same score may change places.
    np.testing.assert_allclose(other, first, atol=1e-3)
    assert all(study.best_value < 1e-3 for study in found)


def test_wrong_constraints_are_refused() -> None:
    at = {"x": 0.0, "y": 0.0}
    for wrong in (3.0, {1: 2.0}, {"a": "text"}, ["a"]):
        with pytest.raises(InvalidInput):
            _next([(at, 1.0, wrong)])


# Failures ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_failures_that_the_points_explain_are_learned() -> None:
    history: Any = [(p, None if p["x"] + p["y"] < 0 else p["x"] + p["y"]) for p in _points(30)]
    wise = _next(history, 6)
    assert min(p["x"] + p["y"] for p in wise) > -1  # near the edge, on both of its sides
    assert sum(p["x"] + p["y"] > 0 for p in wise) >= 3
    everywhere = neurobo.NeuralCBO(width=32, trust_region=False)  # the region stays near the best
    blind = _next(history, 6, algorithm=everywhere, learn_failures=False)
    assert max(p["x"] + p["y"] for p in blind) < -3  # where the objective would be lowest


def test_interrupted_trials_are_no_crashes() -> None:
    study = optuna.create_study()
    space = Space.of(SPACE)
    for reason in ("interrupted", "it broke"):
        trial = study.ask(space.distributions)
        trial.set_user_attr("failure", reason)
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
    assert trials_of_study(study, space).crashed == [False, True]


def test_a_crash_is_a_limit_of_its_own() -> None:
    points = _points(4)
    trials = Trials(
        points, [1.0, math.nan, 2.0, math.nan], [], [{}] * 4, [False, True, False, False]
    )
    (limit,) = Data.of(Space.of(SPACE), trials).constraints
    assert limit.name == CRASH
    assert limit.data.n == 3  # the fourth was stopped: nobody knows
    plan = Plan(FAST, 0, 0, "sobol", learn_failures=True)
    assert len(next_points(Space.of(SPACE), trials, plan, [4, 5])) == 2


# Optuna -----------------------------------------------------------------------------------------


def _study(objective: Any, n: int, **options: Any) -> optuna.Study:
    study = optuna.create_study(sampler=neurobo.NeuroSampler(FAST, seed=0, **options))
    study.optimize(objective, n)
    return study


@pytest.mark.slow
def test_optunas_constraints_steer_the_sampler() -> None:
    def objective(trial: optuna.Trial) -> float:
        x, y = (trial.suggest_float(name, -2, 2) for name in "xy")
        trial.set_constraint("disc", x * x + y * y - 1)
        return x + y

    study = _study(objective, 22)
    assert study.best_value < -math.sqrt(2) + 0.06
    late = study.trials[12:]
    assert np.median([t.constraints["disc"] for t in late]) < 0.3


def test_the_deprecated_list_form_is_read() -> None:
    study = optuna.create_study()
    space = Space.of(SPACE)
    trial = study.ask(space.distributions)
    study._storage.set_trial_system_attr(trial._trial_id, "constraints", [1.5, -2.0])
    study.tell(trial, 0.0)
    (known,) = trials_of_study(study, space).constraints
    assert sorted(known.values()) == [-2.0, 1.5]


def test_minimize_says_when_nothing_is_feasible() -> None:
    with pytest.warns(NeuroboWarning, match=r"none of 5 trials is feasible.*'wall'"):
        study = neurobo.minimize(
            lambda p: (p["x"], {"wall": 2 + p["y"] ** 2, "fine": -1.0}), SPACE, 5, algorithm=FAST,
            seed=0, progress=False,
        )  # fmt: skip
    with pytest.raises(ValueError, match="feasible"):
        _ = study.best_trial


def test_a_failed_evaluation_keeps_its_good_constraints() -> None:
    with pytest.warns(NeuroboWarning, match="evaluations failed"):
        study = neurobo.minimize(
            lambda p: (math.nan, {"a": 1.0, "b": math.inf}), SPACE, 2, algorithm=FAST, seed=0,
            progress=False,
        )  # fmt: skip
    assert [t.constraints for t in study.trials] == [{"a": 1.0}] * 2
    with pytest.warns(NeuroboWarning, match="the constraint 'b' must be a finite number"):
        neurobo.minimize(lambda p: (1.0, {"b": math.nan}), SPACE, 1, seed=0, progress=False)
