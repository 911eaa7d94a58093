"""CONFIG, UCB-C and ADMMBO do what their papers say; what all peers must do is tested elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from neurobo.bench.peers import method
from neurobo.bench.peers.base import Task
from neurobo.bench.peers.botorch_admm import Splitting
from neurobo.bench.peers.botorch_common import EXACT, Peer, Told, bounded_noise, fit, tensor
from neurobo.bench.peers.botorch_constrained import (
    CLOSE,
    METHODS,
    Bounds,
    Optimistic,
    every_broken,
    worst_broken,
)
from neurobo.bench.peers.botorch_gp import GaussianProcess
from neurobo.bench.problem import Evaluation, Problem, of_vector
from neurobo.bench.problems import problem
from neurobo.bench.run_one import start_design
from neurobo.errors import require
from neurobo.space.search_space import Params

peers = pytest.mark.peers


def valley(offset: float = 0.0) -> Problem:
    """Lower to the left, feasible to the right of 0.6; the optimum is at 0.6."""
    return of_vector(
        "valley",
        "",
        lambda x: (1000 * float(x[0]), {"right": 0.6 - float(x[0]) + offset}),
        [(0.0, 1.0), (0.0, 1.0)],
        source="",
        budget=20,
        constraints=("right",),
    )


def task_of(given: Problem, **more: object) -> Task:
    return Task(given.space, 30, 6, 0, given.constraints, noisy=given.noisy, **more)  # type: ignore[arg-type]


def told_of(given: Problem, points: list[Params]) -> Told:
    told, rng = Told(task_of(given)), np.random.default_rng(0)
    for params in points:
        told.add(given.space.encode([params]), given.evaluate(params, rng))
    return told


def optimistic(given: Problem, beta: Callable[[int], float] = lambda t: 4.0) -> Optimistic:
    Peer(task_of(given), lambda told: np.zeros(2))  # imports BoTorch without its warnings
    return Optimistic(task_of(given), beta, every_broken, noisy=False, restarts=4, raw_samples=64)


def test_they_need_constraints_and_a_box() -> None:
    for found in METHODS:
        assert found.needs == found.handles == {"constraints"}
        assert method(found.name).name == found.name


# Confidence bounds


def test_what_counts_where_nothing_can_be_feasible() -> None:
    limits = np.array([[1.0, -2.0, 3.0], [-1.0, -1.0, -1.0], [2.0, 2.0, 0.0]])
    assert every_broken(limits).tolist() == [[1, 0, 1], [0, 0, 0], [1, 1, 0]]
    assert worst_broken(limits).tolist() == [[0, 0, 1], [0, 0, 0], [0.5, 0.5, 0]]
    assert (worst_broken(limits) * limits).sum(axis=1).tolist() == [3, 0, 2]


@peers
def test_bounds_are_optimistic_and_keep_the_threshold() -> None:
    given = valley()
    way = optimistic(given)
    told = told_of(given, start_design(given.space, 6, 0))
    fitted = way._fit(told)
    rows = np.random.default_rng(0).random((20, 2))
    mean, wide = (Bounds(fitted, root).at(rows) for root in (0.0, 2.0))
    assert (wide < mean).all()
    # At evaluated points both are the functions themselves, divided by their observed spread.
    there = Bounds(fitted, 0.0).at(way.cube.rows(told.x))
    np.testing.assert_allclose(there[:, 0] * told.y.std(), -told.y, atol=20)
    np.testing.assert_allclose(there[:, 1] * told.c.std(), told.c[:, 0], atol=0.02)


@peers
@pytest.mark.parametrize("noisy", [True, False])
def test_models_fitted_together_are_those_fitted_alone(noisy: bool) -> None:
    given = problem("constrained-ackley-5", 0)
    Peer(task_of(given), lambda told: np.zeros(5))  # imports BoTorch without its warnings
    way = GaussianProcess(task_of(given), None, noisy=noisy, restarts=4, raw_samples=64)
    together = way._fit(told_of(given, start_design(given.space, 30, 0)))
    at = tensor(np.random.default_rng(0).random((50, 5)))
    for i, limit in enumerate(together.c.T):
        noise = None if noisy else bounded_noise(EXACT)
        alone = fit(
            require("botorch.models").SingleTaskGP(together.x, limit[:, None], likelihood=noise)
        )
        with require("torch").no_grad():
            a, b = alone.posterior(at), together.model.posterior(at)
        mean, variance = b.mean[:, [i + 1]], b.variance[:, [i + 1]]
        assert np.allclose(a.mean, mean, atol=0.05 * float(limit.std()))
        assert np.allclose(a.variance.sqrt(), variance.sqrt(), rtol=0.1)


@peers
def test_slopes_are_those_of_the_bounds() -> None:
    given = problem("constrained-ackley-5")
    way = optimistic(given)
    bounds = Bounds(way._fit(told_of(given, start_design(given.space, 8, 0))), 1.5)
    row = np.full(5, 0.4)
    found, slopes = bounds.with_slopes(row)
    np.testing.assert_allclose(found, bounds.at(row[None])[0], rtol=1e-6)
    for i, step in enumerate(1e-5 * np.eye(5)):
        high, low = bounds.at(np.array([row + step, row - step]))
        np.testing.assert_allclose(slopes[:, i], (high - low) / 2e-5, rtol=1e-3, atol=1e-5)


@peers
def test_the_lowest_bound_lies_on_the_edge_of_what_may_be_feasible() -> None:
    given = valley()
    way = optimistic(given)
    told = told_of(given, start_design(given.space, 6, 0))
    bounds = Bounds(way._fit(told), 2.0)
    x = way._search(bounds)
    at = bounds.at(way.cube.rows(x[None]))[0]
    assert at[1] == pytest.approx(0, abs=10 * CLOSE)
    every = bounds.at(np.random.default_rng(1).random((5000, 2)))
    assert at[0] <= every[every[:, 1] <= 0, 0].min() + 1e-6


@peers
def test_the_least_violation_where_nothing_can_be_feasible() -> None:
    given = valley(offset=5.0)
    way = optimistic(given)
    told = told_of(given, start_design(given.space, 6, 0))
    assert way.propose(told)[0] == pytest.approx(1, abs=1e-3)  # the right side, in [-1, 1]


@peers
def test_config_and_ucb_c_differ_by_their_beta() -> None:
    given = problem("constrained-branin-2")
    points = start_design(given.space, 8, 1)
    asked = {}
    for text in ("config-opt", "ucb-c", f"config-opt:beta={0.4 * math.log(16)}"):
        optimiser = method(text).start(task_of(given))
        for params in points:
            optimiser.tell(params, given.evaluate(params, np.random.default_rng(0)))
        asked[text] = list(optimiser.ask().values())
    config, ucb_c, same_beta = asked.values()
    assert not np.allclose(config, ucb_c, atol=1e-3)
    np.testing.assert_allclose(ucb_c, same_beta)


@peers
@pytest.mark.parametrize("name", ["config-opt", "ucb-c"])
def test_optimists_come_to_the_edge_from_outside(name: str) -> None:
    """Their points tend to break a constraint by a little: what its bound still allows."""
    given = valley()
    optimiser = method(name).start(task_of(given))
    asked, rng = [], np.random.default_rng(0)
    for x in ([0.1, 0.2], [0.3, 0.9], [0.2, 0.6], [0.5, 0.4]):
        params = given.space.params(np.array(x))
        optimiser.tell(params, given.evaluate(params, rng))
    for _ in range(10):
        asked.append(optimiser.ask())
        optimiser.tell(asked[-1], given.evaluate(asked[-1], rng))
    places = np.array([p["x0"] for p in asked])
    assert np.abs(places - 0.6).min() < 0.01
    assert np.median(np.abs(places - 0.6)) < 0.15


@peers
@pytest.mark.parametrize(("name", "close"), [("config-opt", 0.1), ("ucb-c", 0.5), ("admmbo", 1.0)])
def test_they_come_close_on_branin_within_a_disc(name: str, close: float) -> None:
    given = problem("constrained-branin-2")
    optimiser = method(name).start(task_of(given))
    rng, rated = np.random.default_rng(0), []
    for i, params in enumerate([*start_design(given.space, 6, 1), *[None] * 24]):
        params = optimiser.ask() if params is None else params
        outcome = given.evaluate(params, rng)
        optimiser.tell(params, outcome)
        rated.append(max(given.regret(outcome.value), 0) + outcome.violation)
        assert given.space.contains(params), i
    assert min(rated) < close < min(rated[:6])


# Splitting


def splitting(given: Problem, inner: int = 1) -> Splitting:
    return Splitting(
        task_of(given),
        penalty=2.0,
        weight=27.0,
        inner=inner,
        noisy=False,
        restarts=4,
        raw_samples=64,
    )


def begun(
    points: list[list[float]], values: list[float], limits: list[float]
) -> tuple[Splitting, Told]:
    given = valley()
    way, told = splitting(given), Told(task_of(given))
    for x, value, limit in zip(points, values, limits, strict=True):
        told.add(2 * np.array([x]) - 1, Evaluation(value, {"right": limit}))
    way._begin(told)
    return way, told


def test_copies_start_where_constraints_are_broken_least() -> None:
    way, _ = begun([[0.1, 0.1], [0.5, 0.5], [0.9, 0.9]], [1.0, 3.0, 2.0], [1.0, 0.0, -1.0])
    assert way.x.tolist() == [0.9, 0.9]  # the better one of the feasible
    assert way.z.tolist() == [[0.9, 0.9]]
    assert way.scale == pytest.approx(np.std([1, 3, 2]))


def test_a_round_of_admm() -> None:
    way, told = begun([[0.125, 0.125], [0.875, 0.875]], [0.0, 10.0], [1.0, -1.0])
    # Optimality: the first value is 2 units lower, for a penalty of 2/2 · 2 · 0.75² = 1.125.
    way._finish(told)
    assert way.x.tolist() == [0.125, 0.125]
    assert way.turn == 1  # its copy has something to improve: the point is not feasible
    # Feasibility: being infeasible costs 1, being apart 1.125 / 27.
    way._finish(told)
    assert way.z.tolist() == [[0.875, 0.875]]
    np.testing.assert_allclose(way.y, [[-1.5, -1.5]])  # ρ (x - z)
    assert way.turn == 0
    assert way.rho == 4.0  # the copy is apart and did not move
    # The multipliers now make the feasible point the better one.
    way._finish(told)
    assert way.x.tolist() == [0.875, 0.875]


def test_what_is_solved_takes_no_evaluation() -> None:
    way, told = begun([[0.1, 0.1], [0.9, 0.9]], [10.0, 0.0], [1.0, -1.0])
    way._finish(told)
    assert (way.turn, way.x.tolist(), way.z.tolist()) == (0, [0.9, 0.9], [[0.9, 0.9]])
    assert not way.y.any()


def test_the_penalty_keeps_distance_and_movement_in_balance() -> None:
    way, _ = begun([[0.1, 0.1], [0.9, 0.9]], [10.0, 0.0], [1.0, -1.0])
    way.x, way.z, way.moved = np.ones(2), np.zeros((1, 2)), np.full((1, 2), 0.01)
    way._adapt()
    assert way.rho == 4.0
    way.x, way.z, way.moved = np.zeros(2), np.full((1, 2), 0.01), np.ones((1, 2))
    way._adapt()
    assert way.rho == 2.0
    way.x = np.ones(2)
    way._adapt()
    assert way.rho == 2.0


@peers
def test_expected_improvement_of_feasibility_is_that_of_draws() -> None:
    import torch

    given = valley()
    way = splitting(given)
    told = told_of(given, start_design(given.space, 6, 0))
    Peer(task_of(given), way.propose)
    way._begin(told)
    way.turn, way.y = 1, np.array([[0.5, -0.3]])
    fitted = way._fit(told)
    rows = torch.tensor(np.random.default_rng(0).random((10, 1, 2)))
    best = way._infeasibility(fitted.x, fitted.y, 0).min()
    draws = fitted.model.posterior(rows).rsample(torch.Size([20000]))[..., 0, 0]
    improved = (best - way._infeasibility(rows[:, 0], draws, 0)).clamp_min(0).mean(dim=0)
    found = way._feasibility(fitted)(rows) * best
    gain = best - way._away(rows[:, 0], 0)
    # Beyond what can be gained it is the way back, below 0.
    np.testing.assert_allclose(
        found.detach().clamp_min(0), improved.detach(), atol=0.02 * float(best)
    )
    assert bool((found[gain < 0] < 0).all())
