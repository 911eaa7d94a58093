"""Gauss-Newton for the training problem (*) of `problem`, in row space.

With n rows and p >> n parameters (*) is a small dense problem in row space. Levenberg-Marquardt
steps with damping μ need only the n × n matrix J Jᵀ:

    c  = -σ²/(σ²+μ) (θ - θ0)
    Δθ = c + Jᵀ (J Jᵀ + (σ²+μ) I)⁻¹ (t - r(θ) - J c)                                      (**)

The first step with μ = 0 is the wide-network limit; further steps train the finite network.
Beyond `landmarks.DENSE` rows each step is the best of the form c + Jᵀ α with α at some landmark
rows only, which are others at each step: its cost grows as n, and (*) still counts every row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from neurobo.compilation import compiled
from neurobo.networks.architectures import Theta
from neurobo.training import landmarks
from neurobo.training.problem import (
    Fit,
    Loss,
    TrainingProblem,
    difference,
    mean_size,
    objective_at,
    raised_ridge,
)

MAX_TRIES = 12
LEAST_DAMPING = 1e-4


class State(NamedTuple):
    theta: Theta
    damping: Float[Array, ""]
    """μ as a multiple of the mean diagonal of J Jᵀ."""
    ridge: Float[Array, ""]
    """σ² raised to the jitter; NaN before the first step."""
    objective: Float[Array, ""]
    residual: Float[Array, ""]


Solver = Callable[[Array, Array], Array]
"""(s, b) -> α, where Δθ = Jᵀ √w α is the best step with shift s for the errors b."""


def _row_solver(problem: TrainingProblem, theta: Theta, chosen: Int[Array, " m"] | None) -> Solver:
    """Exactly, or with landmarks: then α is zero elsewhere."""
    root = jnp.sqrt(problem.weights)
    if chosen is None:
        gram = root[:, None] * problem.rows.gram(theta) * root

        def exactly(shift: Array, right: Array) -> Array:
            factor = jnp.linalg.cholesky(gram + shift * jnp.eye(len(gram)))
            return jax.scipy.linalg.cho_solve((factor, True), right)

        return exactly
    columns = root[:, None] * problem.rows.columns(theta, chosen) * root[chosen]
    known = landmarks.sketch(columns, chosen)
    return lambda shift, right: jnp.zeros_like(root).at[chosen].set(known.solve(shift, right))


def _chosen_rows(problem: TrainingProblem, turn: int) -> Int[np.ndarray, " m"] | None:
    if len(problem.targets) <= getattr(problem.rows, "dense", landmarks.DENSE):
        return None
    return landmarks.choose(np.asarray(problem.targets), np.asarray(problem.weights), turn)


@compiled
def _step(
    problem: TrainingProblem, state: State, chosen: Int[Array, " m"] | None = None
) -> tuple[State, Array]:
    """One step of (**) with the least damping that lowers (*), and the value of (*) before it.

    If no damping lowers it, θ stays.
    """
    root, theta = jnp.sqrt(problem.weights), state.theta
    size = mean_size(problem, theta)
    ridge = jnp.where(jnp.isnan(state.ridge), raised_ridge(problem.ridge, size), state.ridge)
    values, push = jax.linearize(problem.rows.values, theta)
    pull = jax.linear_transpose(push, theta)
    solve = _row_solver(problem, theta, chosen)
    away = difference(theta, problem.theta0)
    errors, j_away = root * (problem.targets - values), root * push(away)
    objective, residual = objective_at(problem, ridge, theta, values)
    here = State(theta, state.damping, ridge, objective, residual)

    def attempt(damping: Array) -> State:
        mu = damping * size
        shrink = ridge / (ridge + mu)
        alpha = solve(ridge + mu, errors + shrink * j_away)
        (back,) = pull(root * alpha)
        there = jax.tree.map(lambda t, a, b: t - shrink * a + b, theta, away, back)
        found = objective_at(problem, ridge, there, problem.rows.values(there))
        return State(there, damping, ridge, *found)

    def rejected(carry: tuple[State, Array, Array]) -> Array:
        candidate, _, tries = carry
        # `not (<)` also catches NaN from a failed factorisation.
        return ~(candidate.objective < objective) & (tries < MAX_TRIES)

    def retry(carry: tuple[State, Array, Array]) -> tuple[State, Array, Array]:
        _, damping, tries = carry
        return attempt(damping), jnp.maximum(10 * damping, LEAST_DAMPING), tries + 1

    first = (here, state.damping, jnp.zeros((), int))
    found, _, _ = jax.lax.while_loop(rejected, retry, first)
    lower = jnp.where(found.damping > LEAST_DAMPING, found.damping / 10, 0.0)
    better = found.objective < objective
    return jax.tree.map(partial(jnp.where, better), found._replace(damping=lower), here), objective


def first_state(problem: TrainingProblem) -> State:
    """At θ0, undamped; what `_step` computes is not known yet."""
    # Arrays of NumPy's, because JAX would compile anew for Python's numbers ("weak" types).
    zero, unknown = jnp.asarray(np.zeros(())), jnp.asarray(np.full((), np.nan))
    return State(problem.theta0, zero, unknown, unknown, unknown)


def steps_for(rows: int) -> int:
    """How many steps are worth their time: with many rows the first few do nearly all."""
    return int(np.clip(2560 // rows, 6, 20))


def gauss_newton(
    problem: TrainingProblem,
    *,
    max_steps: int | None = None,
    tolerance: float = 1e-3,
) -> Fit:
    """Solve (*). Converged when a step lowers it by less than `tolerance` of its value, or by
    less than (1e-5 sd)² a row: finer than any use of the fit."""
    max_steps = steps_for(len(problem.targets)) if max_steps is None else max_steps
    state = first_state(problem)
    floor = 1e-10 * max(np.asarray(problem.weights).sum(), 1.0)
    objective, converged, steps = np.inf, False, 0
    while steps < max_steps and not converged:
        state, before = _step(problem, state, _chosen_rows(problem, steps))
        steps += 1
        objective = float(state.objective)
        converged = bool(float(before) - objective <= max(tolerance * objective, floor))
    return Fit(state.theta, objective, float(state.residual), steps, converged)


_MANY = TrainingProblem(None, 0, None, 0, 0)  # type: ignore[arg-type]  # axes that count problems


@compiled
def _step_batch(problem: TrainingProblem, state: State) -> tuple[State, Array]:
    return jax.vmap(lambda problem, state: _step(problem, state), (_MANY, 0))(problem, state)


def _shared(problems: Sequence[TrainingProblem]) -> TrainingProblem:
    """Problems with the same rows and weights as one, with a leading axis for the rest."""
    first = problems[0]
    return first._replace(
        targets=stacked([p.targets for p in problems]),
        ridge=stacked([p.ridge for p in problems]),
        theta0=stacked([p.theta0 for p in problems]),
    )


def gauss_newton_batch(
    problems: Sequence[TrainingProblem], *, max_steps: int | None = None, tolerance: float = 1e-3
) -> list[Fit]:
    """`gauss_newton` on problems that differ in targets, ridge and θ0 only, all at once; each stops
    when it has converged. Many rows are solved one by one: memory counts for more there."""
    if len(problems[0].targets) > landmarks.DENSE:
        return [gauss_newton(p, max_steps=max_steps, tolerance=tolerance) for p in problems]
    problem = _shared(problems)
    max_steps = steps_for(len(problem.weights)) if max_steps is None else max_steps
    state: State = stacked([first_state(p) for p in problems])
    floor = 1e-10 * max(np.asarray(problem.weights).sum(), 1.0)
    count = len(problems)
    converged, steps = np.zeros(count, dtype=bool), np.zeros(count, dtype=int)
    turn = 0
    while turn < max_steps and not converged.all():
        new, before = _step_batch(problem, state)
        state = _chosen(jnp.asarray(converged), state, new)
        steps += ~converged
        objective = np.asarray(state.objective)
        gain = np.asarray(before) - objective
        converged |= gain <= np.maximum(tolerance * objective, floor)
        turn += 1
    return [
        Fit(
            jax.tree.map(lambda leaf, i=i: leaf[i], state.theta),
            float(state.objective[i]), float(state.residual[i]), int(steps[i]), bool(converged[i]),
        )
        for i in range(count)
    ]  # fmt: skip


def stacked(trees: Sequence[Any]) -> Any:
    """Pytrees of one structure as one, with a leading axis that counts them."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


@compiled
def _chosen(first: Bool[Array, " k"], a: State, b: State) -> State:
    """One of two states for each problem."""

    def choose(p: Array, q: Array) -> Array:
        return jnp.where(first.reshape(-1, *[1] * (p.ndim - 1)), p, q)

    return jax.tree.map(choose, a, b)


@compiled
def _linear(problems: TrainingProblem, chosen: Int[Array, " m"] | None) -> tuple[Theta, Loss]:
    rows, targets, weights, ridges, theta0 = problems
    ridge = ridges[0]
    some = jax.tree.map(lambda leaf: leaf[0], theta0)
    shared = TrainingProblem(rows, targets[0], weights, ridge, some)
    raised, root = raised_ridge(ridge, mean_size(shared, some)), jnp.sqrt(weights)
    solve: Callable[[Array], Array] = partial(_row_solver(shared, some, None), raised)
    if chosen is not None:
        columns = root[:, None] * rows.columns(some, chosen) * root[chosen]
        gain = landmarks.explained(columns, weights * rows.sizes(some), chosen, raised).gain
        solve = lambda right: jnp.zeros_like(root).at[chosen].set(gain @ right)  # noqa: E731
    pull = jax.vjp(rows.values, some)[1]

    def one(t: Array, start: Theta) -> tuple[Theta, Loss]:
        alpha = solve(root * (t - rows.values(start)))
        theta = jax.tree.map(jnp.add, start, pull(root * alpha)[0])
        problem = TrainingProblem(rows, t, weights, ridge, start)
        return theta, objective_at(problem, raised, theta, rows.values(theta))

    return jax.vmap(one)(targets, theta0)


def linear(problems: Sequence[TrainingProblem]) -> list[Fit]:
    """Solve (*) for rows that are linear in θ: exactly, or with landmarks, where what they cannot
    express counts as noise. The problems differ in targets and θ0 only, so that one factorisation
    serves all."""
    theta, (objective, residual) = _linear(_shared(problems), _chosen_rows(problems[0], 0))
    return [
        Fit(jax.tree.map(lambda leaf, i=i: leaf[i], theta), float(o), float(r), 1, True)
        for i, (o, r) in enumerate(zip(objective, residual, strict=True))
    ]
