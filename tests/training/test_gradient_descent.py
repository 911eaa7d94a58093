"""Adam and stochastic gradient descent do what the papers' texts say."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurobo.data.observations import Data
from neurobo.networks.mlp import MLP
from neurobo.training.gradient_descent import sgd
from neurobo.training.problem import TrainingProblem
from neurobo.training.residuals import ValueRows

NETWORK, GAMMA = MLP(24, 2, "relu"), (1.0, 0.0)
RIDGE = 0.3


def _problem(n: int = 7) -> TrainingProblem:
    rng = np.random.default_rng(0)
    data = Data.pad(rng.uniform(-1, 1, (n, 3)), rng.normal(size=n))
    return TrainingProblem(
        ValueRows(NETWORK, jnp.asarray(GAMMA), jnp.asarray(data.x)),
        jnp.asarray(data.y),
        jnp.asarray(data.mask),
        jnp.asarray(RIDGE),
        NETWORK.init(jax.random.key(0), 3),
    )


def _value(theta: object, x: jax.Array) -> jax.Array:
    return NETWORK.apply(theta, jnp.asarray(GAMMA), x[None])[0]


def test_sgd_is_one_pass_of_equation_4_2(x64: None) -> None:
    """θ ← θ + α (y_t - a(x_t; θ)) ∂a(x_t; θ)/∂θ, one observation after the other, α = 0.001."""
    problem = _problem()
    theta = problem.theta0
    for x, y in zip(problem.rows.x[:7], problem.targets, strict=False):  # type: ignore[attr-defined]
        value, slope = jax.value_and_grad(_value)(theta, x)
        theta = jax.tree.map(lambda leaf, g, e=y - value: leaf + 1e-3 * e * g, theta, slope)
    fit = sgd(problem)
    assert fit.steps == 7
    for a, b in zip(jax.tree.leaves(fit.theta), jax.tree.leaves(theta), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("batch", [3, 50])
def test_batches_go_down_the_gradient_of_their_share_of_the_objective(
    x64: None, batch: int
) -> None:
    """A batch that holds every row is gradient descent on half of (*)."""
    problem = _problem()
    fit = sgd(problem, epochs=2, batch=batch, penalised=True)
    assert fit.objective < float(_objective(problem, problem.theta0))
    if batch == 50:
        theta = problem.theta0
        for _ in range(2):
            slope = jax.grad(lambda t: _objective(problem, t) / 2)(theta)
            theta = jax.tree.map(lambda leaf, g: leaf - 1e-3 * g, theta, slope)
        for a, b in zip(jax.tree.leaves(fit.theta), jax.tree.leaves(theta), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def _objective(problem: TrainingProblem, theta: object) -> jax.Array:
    away = jax.tree.map(jnp.subtract, theta, problem.theta0)
    distance = sum(jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(away))
    errors = problem.weights * (problem.targets - problem.rows.values(theta)) ** 2
    return jnp.sum(errors) + RIDGE * distance
