"""The one training problem behind every algorithm.

    min over θ   Σ_i w_i (t_i - r_i(θ))² + σ² ‖θ - θ0‖²                                  (*)

| symbol | here      | meaning                                  | shape  |
|--------|-----------|------------------------------------------|--------|
| r      | rows      | what the parameters predict              | n      |
| t      | targets   | what was observed                        | n      |
| w      | weights   | 1, or 0 for a padded row                 | n      |
| σ²     | ridge     | noise variance, the weight of the prior  | scalar |
| θ0     | theta0    | where the network started                | pytree |
| J      |           | ∂r/∂θ at the current θ                   | n × p  |

`gauss_newton` solves it; `gradient_descent` does so the way the papers do and is kept for
comparison.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from neurobo.networks.architectures import Theta
from neurobo.training.residuals import Rows

JITTER = 1e-9
"""σ² is at least this times the mean diagonal of J Jᵀ at θ0, so that σ² = 0 is the minimum-norm
interpolant up to a relative error of this order, and duplicates of a point have little effect."""

Loss = tuple[Array, Array]  # (*), and the root mean square error


class Fit(NamedTuple):
    """Where the solver stopped."""

    theta: Theta
    objective: float
    """The value of (*)."""
    residual: float
    """Root mean square of t - r(θ) over the rows that count."""
    steps: int
    converged: bool


class TrainingProblem(NamedTuple):
    """(*) as arrays."""

    rows: Rows
    targets: Float[Array, " n"]
    weights: Float[Array, " n"]
    ridge: Float[Array, ""]
    theta0: Theta


def difference(a: Theta, b: Theta) -> Theta:
    return jax.tree.map(jnp.subtract, a, b)


def objective_at(problem: TrainingProblem, ridge: Array, theta: Theta, values: Array) -> Loss:
    """(*) and the root mean square error, for r(θ) = `values`."""
    squares = jnp.sum(problem.weights * (problem.targets - values) ** 2)
    away = difference(theta, problem.theta0)
    distance = sum((jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(away)), start=jnp.zeros(()))
    rows = jnp.maximum(jnp.sum(problem.weights > 0), 1)
    return squares + ridge * distance, jnp.sqrt(squares / rows)


def mean_size(problem: TrainingProblem, theta: Theta) -> Float[Array, ""]:
    """The mean diagonal of √w J Jᵀ √w."""
    total = jnp.vdot(problem.weights, problem.rows.sizes(theta))
    return total / jnp.maximum(jnp.sum(problem.weights), 1)


def raised_ridge(ridge: Array, size: Array) -> Array:
    raised = jnp.maximum(ridge, JITTER * size)
    return jnp.where(raised > 0, raised, 1.0)  # no rows at all: any value will do
