"""Adam and stochastic gradient descent for the training problem (*): the papers' own ways."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from neurobo.networks.architectures import Theta
from neurobo.training.problem import (
    Fit,
    Loss,
    TrainingProblem,
    mean_size,
    objective_at,
    raised_ridge,
)


@partial(jax.jit, static_argnames=("steps", "learning_rate"))
def _adam(problem: TrainingProblem, steps: int, learning_rate: float) -> tuple[Theta, Loss]:
    ridge = raised_ridge(problem.ridge, mean_size(problem, problem.theta0))

    def objective(theta: Theta) -> Loss:
        return objective_at(problem, ridge, theta, problem.rows.values(theta))

    optimiser = optax.adam(learning_rate)
    gradient = jax.grad(lambda theta: objective(theta)[0])

    def one(_: Array, carry: tuple[Theta, Any]) -> tuple[Theta, Any]:
        theta, memory = carry
        updates, memory = optimiser.update(gradient(theta), memory)
        return optax.apply_updates(theta, updates), memory

    start = (problem.theta0, optimiser.init(problem.theta0))
    theta, _ = jax.lax.fori_loop(0, steps, one, start)
    return theta, objective(theta)


def adam(problem: TrainingProblem, *, steps: int = 5000, learning_rate: float = 1e-3) -> Fit:
    """Solve (*) as the papers do (Greedy, appendix F.2): Adam with a fixed learning rate.

    It has no convergence test, so `converged` only says that the result is finite.
    """
    theta, (objective, residual) = _adam(problem, steps, learning_rate)
    return Fit(theta, float(objective), float(residual), steps, bool(np.isfinite(objective)))


@jax.jit
def _sgd(problem: TrainingProblem) -> tuple[Theta, Loss]:
    size = mean_size(problem, problem.theta0)
    ridge = raised_ridge(problem.ridge, size)
    rate = 1 / (2 * jnp.where(size > 0, size, 1.0))
    count = jnp.maximum(jnp.sum(problem.weights), 1)

    def loss(theta: Theta, i: Array) -> Array:
        alone = problem.weights * (jnp.arange(len(problem.weights)) == i)
        values = problem.rows.values(theta)
        return objective_at(problem._replace(weights=alone), ridge / count, theta, values)[0]

    def one(i: Array, theta: Theta) -> Theta:
        step = rate * problem.weights[i]
        return jax.tree.map(lambda leaf, g: leaf - step * g, theta, jax.grad(loss)(theta, i))

    theta = jax.lax.fori_loop(0, len(problem.weights), one, problem.theta0)
    return theta, objective_at(problem, ridge, theta, problem.rows.values(theta))


def sgd(problem: TrainingProblem) -> Fit:
    """One pass of stochastic gradient descent (Neural-CBO, Algorithm 4): not an optimum of (*).

    A step of this length would meet a row of average size exactly, were it linear.
    """
    theta, (objective, residual) = _sgd(problem)
    steps = int(np.asarray(problem.weights).sum())
    return Fit(theta, float(objective), float(residual), steps, bool(np.isfinite(objective)))
