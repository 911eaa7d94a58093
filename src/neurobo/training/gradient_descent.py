"""Adam and stochastic gradient descent for the training problem (*): the papers' own ways."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from neurobo.compilation import compiled
from neurobo.networks.architectures import Theta
from neurobo.training.problem import (
    Fit,
    Loss,
    TrainingProblem,
    mean_size,
    objective_at,
    raised_ridge,
)
from neurobo.training.residuals import ValueRows


@compiled(static="steps learning_rate")
def _adam(problem: TrainingProblem, steps: int, learning_rate: float) -> tuple[Theta, Loss]:
    import optax  # only the papers' settings need it

    single = _in_single_precision(problem)
    ridge = raised_ridge(single.ridge, mean_size(single, single.theta0))

    def objective(theta: Theta) -> Array:
        return objective_at(single, ridge, theta, single.rows.values(theta))[0]

    optimiser = optax.adam(learning_rate)
    gradient = jax.grad(objective)

    def one(_: Array, carry: tuple[Theta, Any]) -> tuple[Theta, Any]:
        theta, memory = carry
        updates, memory = optimiser.update(gradient(theta), memory)
        return optax.apply_updates(theta, updates), memory

    start = (single.theta0, optimiser.init(single.theta0))
    found, _ = jax.lax.fori_loop(0, steps, one, start)
    theta = jax.tree.map(lambda leaf, first: leaf.astype(first.dtype), found, problem.theta0)
    ridge = raised_ridge(problem.ridge, mean_size(problem, problem.theta0))
    return theta, objective_at(problem, ridge, theta, problem.rows.values(theta))


def _in_single_precision(problem: TrainingProblem) -> TrainingProblem:
    """As the papers' programs compute. Rounding is far below what a step of Adam still moves, and
    a step takes half to two thirds of the time; matrix factorisations would need the double."""

    def single(leaf: Array) -> Array:
        return leaf.astype(jnp.float32) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

    return jax.tree.map(single, problem)


ADAM_STEPS = 5000


def adam(problem: TrainingProblem, *, steps: int = ADAM_STEPS, learning_rate: float = 1e-3) -> Fit:
    """Solve (*) as the papers do (Greedy, appendix F.2): Adam with a fixed learning rate, in single
    precision.

    It has no convergence test, so `converged` only says that the result is finite.
    """
    theta, (objective, residual) = _adam(problem, steps, learning_rate)
    return Fit(theta, float(objective), float(residual), steps, bool(np.isfinite(objective)))


@compiled(static="batch penalised")
def _sgd(
    problem: TrainingProblem,
    rate: Array,
    steps: Array,
    batches: Array,
    batch: int,
    penalised: bool,
) -> tuple[Theta, Loss]:
    ridge = raised_ridge(problem.ridge, mean_size(problem, problem.theta0))
    count = jnp.maximum(jnp.sum(problem.weights), 1)
    rows = problem.rows
    assert isinstance(rows, ValueRows)

    def loss(theta: Theta, i: Array) -> Array:
        at = i + batches * jnp.arange(batch)
        chosen = jnp.minimum(at, len(problem.weights) - 1)
        weights = jnp.where(at == chosen, problem.weights[chosen], 0.0)
        some = problem._replace(targets=problem.targets[chosen], weights=weights)
        share = jnp.sum(weights) / count if penalised else 0.0
        return objective_at(some, share * ridge, theta, rows.only(chosen).values(theta))[0] / 2

    def one(i: Array, theta: Theta) -> Theta:
        gradient = jax.grad(loss)(theta, i % batches)
        return jax.tree.map(lambda leaf, g: leaf - rate * g, theta, gradient)

    theta = jax.lax.fori_loop(0, steps, one, problem.theta0)
    return theta, objective_at(problem, ridge, theta, problem.rows.values(theta))


def sgd(
    problem: TrainingProblem,
    *,
    learning_rate: float = 1e-3,
    epochs: int = 1,
    batch: int = 1,
    penalised: bool = False,
) -> Fit:
    """Stochastic gradient descent on half of (*), which need not end at an optimum.

    By default one pass over the rows in their order (Neural-CBO, equation 4.2 and section 4.3.1):

        θ ← θ + α (t_i - r_i(θ)) ∂r_i(θ)/∂θ

    Args:
        problem: Its rows, which must be values; the ridge counts only if `penalised`.
        learning_rate: α, in NTK parameterisation.
        epochs: Passes over the rows.
        batch: Rows of a step, at most; their errors are summed.
        penalised: Whether each step has its rows' share of the penalty σ² ‖θ - θ0‖².
    """
    rate = jnp.asarray(np.asarray(learning_rate, dtype=float))
    batches = max(-(-int(np.count_nonzero(problem.weights)) // batch), 1)
    steps = epochs * batches
    counts = jnp.asarray(np.array(steps)), jnp.asarray(np.array(batches))
    most = min(batch, len(problem.weights))
    theta, (objective, residual) = _sgd(problem, rate, *counts, most, penalised)
    return Fit(theta, float(objective), float(residual), steps, bool(np.isfinite(objective)))
