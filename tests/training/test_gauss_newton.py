from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jax.test_util import check_grads

from neurobo.data.observations import Data
from neurobo.networks.mlp import MLP
from neurobo.surrogates.draws import Recipe, draw
from neurobo.training.gauss_newton import gauss_newton
from neurobo.training.gradient_descent import adam
from neurobo.training.problem import JITTER, TrainingProblem, objective_at
from neurobo.training.residuals import GeneralRows, ValueRows

GAMMA = np.array([1.5, 0.8])


def _problem(
    n: int = 12, *, network: MLP | None = None, ridge: float = 0.1, padding: int = 0
) -> TrainingProblem:
    network = network or MLP(width=64, depth=2, activation="tanh")
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (n, 3))
    y = np.sin(3 * x[:, 0]) + x[:, 1]
    theta0 = network.init(jax.random.key(1), 3)
    rows = ValueRows(network, jnp.asarray(GAMMA), jnp.asarray(np.pad(x, ((0, padding), (0, 0)))))
    weights = np.pad(np.ones(n), (0, padding))
    return TrainingProblem(
        rows, jnp.asarray(np.pad(y, (0, padding))), jnp.asarray(weights), jnp.asarray(ridge), theta0
    )


def _gradient_of_objective(problem: TrainingProblem, theta: Any, ridge: float) -> float:
    def objective(at: Any) -> Any:
        return objective_at(problem, jnp.asarray(ridge), at, problem.rows.values(at))[0]

    gradient = jax.grad(objective)(theta)
    return float(jnp.linalg.norm(ravel_pytree(gradient)[0]))


def test_a_linear_problem_is_solved_in_one_step_as_ridge_regression(x64: None) -> None:
    a = np.random.default_rng(0).normal(size=(8, 20))
    t, theta0, ridge = np.arange(8.0), np.ones(20), 0.3
    rows = GeneralRows(jnp.vdot, jnp.asarray(a))
    problem = TrainingProblem(
        rows, jnp.asarray(t), jnp.ones(8), jnp.asarray(ridge), jnp.asarray(theta0)
    )
    fit = gauss_newton(problem, max_steps=1)
    primal = np.linalg.solve(a.T @ a + ridge * np.eye(20), a.T @ (t - a @ theta0)) + theta0
    np.testing.assert_allclose(fit.theta, primal, rtol=1e-10)
    expected = np.sum((t - a @ primal) ** 2) + ridge * np.sum((primal - theta0) ** 2)
    assert fit.objective == pytest.approx(expected, rel=1e-10)
    assert fit.residual == pytest.approx(np.sqrt(np.mean((t - a @ primal) ** 2)), rel=1e-10)


@pytest.mark.parametrize(  # relu stops at kinks
    "activation", ["erf", pytest.param("tanh", marks=pytest.mark.slow)]
)
def test_gauss_newton_ends_at_a_stationary_point(x64: None, activation: str) -> None:
    problem = _problem(network=MLP(width=128, depth=1, activation=activation))
    start = _gradient_of_objective(problem, problem.theta0, 0.1)
    fit = gauss_newton(problem, max_steps=200, tolerance=1e-12)
    assert fit.converged
    assert _gradient_of_objective(problem, fit.theta, 0.1) < 1e-4 * start


def test_adam_agrees_with_gauss_newton(x64: None) -> None:
    problem = _problem(network=MLP(width=256, depth=1, activation="tanh"))
    exact, slow = gauss_newton(problem, max_steps=200, tolerance=1e-9), adam(problem, steps=5000)
    assert exact.objective <= slow.objective * (1 + 1e-9)
    assert slow.objective == pytest.approx(exact.objective, rel=0.02)
    assert slow.steps == 5000


def test_without_noise_the_data_are_interpolated(x64: None) -> None:
    fit = gauss_newton(_problem(ridge=0.0))
    assert fit.residual < 1e-4
    assert fit.converged


def test_without_noise_the_interpolant_is_the_nearest_to_the_start(x64: None) -> None:
    """In the linear case: θ0 + J⁺ (t - J θ0), up to the stated jitter."""
    a = np.random.default_rng(0).normal(size=(5, 20))
    theta0, t = np.ones(20), np.arange(5.0)
    problem = TrainingProblem(
        GeneralRows(jnp.vdot, jnp.asarray(a)), jnp.asarray(t), jnp.ones(5), jnp.asarray(0.0),
        jnp.asarray(theta0),
    )  # fmt: skip
    nearest = theta0 + np.linalg.pinv(a) @ (t - a @ theta0)
    fit = gauss_newton(problem)
    np.testing.assert_allclose(fit.theta, nearest, rtol=1e3 * JITTER, atol=1e3 * JITTER)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_padding_changes_nothing(x64: None, ridge: float) -> None:
    plain, padded = (
        gauss_newton(_problem(ridge=ridge)),
        gauss_newton(_problem(ridge=ridge, padding=20)),
    )
    assert padded.steps == plain.steps
    assert padded.objective == pytest.approx(plain.objective, rel=1e-8)
    assert padded.residual == pytest.approx(plain.residual, rel=1e-6)
    at = jnp.asarray(np.random.default_rng(1).uniform(-1, 1, (50, 3)))
    network = _problem().rows.network  # type: ignore[attr-defined]
    a, b = (network.apply(fit.theta, jnp.asarray(GAMMA), at) for fit in (plain, padded))
    np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("surrogate", ["simple", "posterior", "linear"])
def test_draws_do_not_depend_on_the_bucket(x64: None, surrogate: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (10, 2)), rng.normal(size=10)
    at = jnp.asarray(rng.uniform(-1, 1, (40, 2)))
    values, losses = [], []
    for size in (10, 16, 128):
        drawn, fit = draw(
            jax.random.key(3),
            Data.pad(x, y, size=size),
            Recipe(MLP(width=128), gamma=(1.5, 1.5), noise=0.01, surrogate=surrogate),
        )
        values.append(np.asarray(drawn(at)))
        losses.append(fit.objective)
    np.testing.assert_allclose(losses, losses[0], rtol=1e-8)
    np.testing.assert_allclose(values[1], values[0], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(values[2], values[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_copies_of_one_point_do_no_harm(x64: None, ridge: float) -> None:
    network = MLP(width=32)
    x = jnp.ones((40, 3)) * 0.3
    rows = ValueRows(network, jnp.asarray(GAMMA), x)
    targets = jnp.asarray(np.random.default_rng(0).normal(size=40))
    theta0 = network.init(jax.random.key(0), 3)
    fit = gauss_newton(TrainingProblem(rows, targets, jnp.ones(40), jnp.asarray(ridge), theta0))
    assert np.isfinite(fit.objective)
    np.testing.assert_allclose(rows.values(fit.theta), targets.mean(), atol=0.01)


def test_no_rows_leave_the_network_at_its_start(x64: None) -> None:
    problem = _problem(0, padding=16)
    fit = gauss_newton(problem)
    assert fit.objective == 0
    assert fit.converged
    np.testing.assert_array_equal(ravel_pytree(fit.theta)[0], ravel_pytree(problem.theta0)[0])


@pytest.mark.slow
def test_gradients_of_the_objective(x64: None) -> None:
    problem = _problem(5, network=MLP(width=6, depth=2, activation="tanh"))
    flat, restore = ravel_pytree(problem.theta0)

    def objective(at: jax.Array) -> jax.Array:
        theta = restore(at)
        return objective_at(problem, problem.ridge, theta, problem.rows.values(theta))[0]

    check_grads(objective, (flat + 0.1,), order=1, modes=["rev"], rtol=1e-5)
