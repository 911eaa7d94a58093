"""The one training problem behind every algorithm, and its solver.

    min over θ   Σ_i w_i (t_i - r_i(θ))² + σ² ‖θ - θ0‖²                                  (*)

| symbol | here      | meaning                                  | shape  |
|--------|-----------|------------------------------------------|--------|
| r      | rows      | what the parameters predict              | n      |
| t      | targets   | what was observed                        | n      |
| w      | weights   | 1, or 0 for a padded row                 | n      |
| σ²     | ridge     | noise variance, the weight of the prior  | scalar |
| θ0     | theta0    | where the network started                | pytree |
| J      |           | ∂r/∂θ at the current θ                   | n × p  |

With n rows and p >> n parameters (*) is a small dense problem in row space. Levenberg-Marquardt
steps with damping μ need only the n × n matrix J Jᵀ:

    c  = -σ²/(σ²+μ) (θ - θ0)
    Δθ = c + Jᵀ (J Jᵀ + (σ²+μ) I)⁻¹ (t - r(θ) - J c)                                      (**)

The first step with μ = 0 is the wide-network limit; further steps train the finite network.
`adam` solves the same problem the way the papers do and is kept for comparison.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jaxtyping import Float

from neurobo.networks import Theta
from neurobo.rows import Rows

JITTER = 1e-9
"""σ² is at least this times the mean diagonal of J Jᵀ at θ0, so that σ² = 0 is the minimum-norm
interpolant up to a relative error of this order, and duplicates of a point do no harm."""

MAX_TRIES = 12


class Fit(NamedTuple):
    """Where the solver stopped."""

    theta: Theta
    objective: float
    """The value of (*)."""
    residual: float
    """Root mean square of t - r(θ) over the rows that count."""
    steps: int
    converged: bool


class Problem(NamedTuple):
    """(*) as arrays."""

    rows: Rows
    targets: Float[Array, " n"]
    weights: Float[Array, " n"]
    ridge: Float[Array, ""]
    theta0: Theta


class State(NamedTuple):
    theta: Theta
    damping: Float[Array, ""]
    """μ as a multiple of the mean diagonal of J Jᵀ."""
    objective: Float[Array, ""]
    residual: Float[Array, ""]


def _difference(a: Theta, b: Theta) -> Theta:
    return jax.tree.map(jnp.subtract, a, b)


def _squared_norm(a: Theta) -> Array:
    return sum((jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(a)), start=jnp.zeros(()))


def _errors(problem: Problem, theta: Theta) -> Float[Array, " n"]:
    return jnp.sqrt(problem.weights) * (problem.targets - problem.rows.values(theta))


def _objective(problem: Problem, theta: Theta) -> tuple[Array, Array]:
    """(*) and the root mean square error."""
    squares = jnp.sum(_errors(problem, theta) ** 2)
    distance = _squared_norm(_difference(theta, problem.theta0))
    rows = jnp.maximum(jnp.sum(problem.weights > 0), 1)
    return squares + problem.ridge * distance, jnp.sqrt(squares / rows)


def _mean_diagonal(problem: Problem, gram: Float[Array, "n n"]) -> Array:
    return jnp.trace(gram) / jnp.maximum(jnp.sum(problem.weights), 1)


@jax.jit
def _start(problem: Problem) -> tuple[Problem, State]:
    gram = _weighted_gram(problem, problem.theta0)
    ridge = jnp.maximum(problem.ridge, JITTER * _mean_diagonal(problem, gram))
    problem = problem._replace(ridge=jnp.where(ridge > 0, ridge, 1.0))
    objective, residual = _objective(problem, problem.theta0)
    return problem, State(problem.theta0, jnp.zeros(()), objective, residual)


def _weighted_gram(problem: Problem, theta: Theta) -> Float[Array, "n n"]:
    root = jnp.sqrt(problem.weights)
    return root[:, None] * problem.rows.gram(theta) * root


@jax.jit
def _step(problem: Problem, state: State) -> State:
    """One accepted step of (**), or the same state with a larger μ when none was found."""
    root = jnp.sqrt(problem.weights)
    theta, ridge = state.theta, problem.ridge
    away = _difference(theta, problem.theta0)
    predicted, push = jax.linearize(problem.rows.values, theta)
    pull = jax.linear_transpose(push, theta)
    errors = root * (problem.targets - predicted)
    j_away = root * push(away)
    gram = _weighted_gram(problem, theta)
    size = _mean_diagonal(problem, gram)

    def attempt(damping: Array) -> State:
        mu = damping * size
        shrink = ridge / (ridge + mu)
        matrix = gram + (ridge + mu) * jnp.eye(len(gram))
        factor = jax.scipy.linalg.cho_factor(matrix, lower=True)
        alpha = jax.scipy.linalg.cho_solve(factor, errors + shrink * j_away)
        (back,) = pull(root * alpha)
        candidate = jax.tree.map(lambda t, a, b: t - shrink * a + b, theta, away, back)
        objective, residual = _objective(problem, candidate)
        return State(candidate, damping, objective, residual)

    def rejected(carry: tuple[State, Array]) -> Array:
        candidate, tries = carry
        # `not (<)` also catches NaN from a failed factorisation.
        return ~(candidate.objective < state.objective) & (tries < MAX_TRIES)

    def retry(carry: tuple[State, Array]) -> tuple[State, Array]:
        candidate, tries = carry
        return attempt(jnp.maximum(10 * candidate.damping, 1e-4)), tries + 1

    found, _ = jax.lax.while_loop(rejected, retry, (attempt(state.damping), jnp.ones((), int)))
    better = found.objective < state.objective
    found = found._replace(damping=jnp.where(found.damping > 1e-4, found.damping / 10, 0.0))
    return jax.tree.map(partial(jnp.where, better), found, state)


def gauss_newton(problem: Problem, *, max_steps: int = 20, tolerance: float = 1e-3) -> Fit:
    """Solve (*). Converged when a step lowers it by less than `tolerance` of its value, or by
    less than (1e-5 sd)² a row: finer than any use of the fit."""
    problem, state = _start(problem)
    floor = 1e-10 * max(float(problem.weights.sum()), 1.0)
    objective, converged, steps = float(state.objective), False, 0
    while steps < max_steps and not converged:
        state = _step(problem, state)
        steps += 1
        before, objective = objective, float(state.objective)
        converged = before - objective <= max(tolerance * objective, floor)
    return Fit(state.theta, objective, float(state.residual), steps, converged)


@partial(jax.jit, static_argnames=("steps", "learning_rate"))
def _adam(problem: Problem, steps: int, learning_rate: float) -> State:
    problem, state = _start(problem)
    optimiser = optax.adam(learning_rate)
    gradient = jax.grad(lambda theta: _objective(problem, theta)[0])

    def one(_: Array, carry: tuple[Theta, Any]) -> tuple[Theta, Any]:
        theta, memory = carry
        updates, memory = optimiser.update(gradient(theta), memory)
        return optax.apply_updates(theta, updates), memory

    theta, _ = jax.lax.fori_loop(0, steps, one, (state.theta, optimiser.init(state.theta)))
    return State(theta, state.damping, *_objective(problem, theta))


def adam(problem: Problem, *, steps: int = 5000, learning_rate: float = 1e-3) -> Fit:
    """Solve (*) as the papers do (Greedy, appendix F.2): Adam with a fixed learning rate."""
    state = _adam(problem, steps, learning_rate)
    finite = bool(np.isfinite(state.objective))
    return Fit(state.theta, float(state.objective), float(state.residual), steps, finite)
