"""From good points to better ones: gradients in continuous columns, one-change moves in others."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float
from scipy.optimize import minimize as scipy_minimize

from neurobo.acquisition.score import Limited, Score
from neurobo.compilation import compiled
from neurobo.search.candidates import Box
from neurobo.search.feasible_steps import (
    allowed_part,
    polishable,
    reachable,
    slsqp_constraints,
)
from neurobo.search.neighbours import has_discrete_moves, neighbours, together
from neurobo.search.polytope import Polytope
from neurobo.search.scoring import evaluate, or_worst
from neurobo.space.encoders import Matrix
from neurobo.space.search_space import Space

STEPS = 60
ROUNDS = 12


def _improve_discrete(
    score: Score, space: Space, x: Matrix, values: np.ndarray, box: Box, rng: np.random.Generator
) -> tuple[Matrix, np.ndarray, Bool[np.ndarray, " k"]]:
    """Replace each point by its best one-change neighbour if that is better, and which it was."""
    near, owner = neighbours(space, x, rng)
    inside = box.holds(space, near)
    near, owner = near[inside], owner[inside]
    scores = evaluate(score, space, near)
    if _many(space):  # one change at a time would not come to an end
        gains = scores - values[owner]
        parts = [together(space, x[i], near[owner == i], gains[owner == i]) for i in range(len(x))]
        more = np.concatenate(parts)
        near, scores = np.concatenate([near, more]), np.r_[scores, evaluate(score, space, more)]
        owner = np.r_[owner, np.repeat(np.arange(len(x)), [len(part) for part in parts])]
    x, values, improved = x.copy(), values.copy(), np.zeros(len(x), dtype=bool)
    for i in np.unique(owner):
        mine = np.flatnonzero(owner == i)
        best = mine[np.argmin(scores[mine])]
        if scores[best] < values[i] - 1e-12:
            x[i], values[i], improved[i] = near[best], scores[best], True
    return x, values, improved


def _many(space: Space) -> bool:
    """Whether there are more discrete parameters than rounds."""
    return sum(1 < p.count < math.inf for p in space.parameters.values()) > ROUNDS


def refine(
    score: Score, space: Space, x: Matrix, values: np.ndarray, box: Box, rng: np.random.Generator
) -> tuple[Matrix, np.ndarray]:
    """The points after a search from each, and their scores."""
    free, many = space.continuous, _many(space)
    changed = np.ones(len(x), dtype=bool)
    for _ in range(ROUNDS):
        if free.any():
            moved, scores = _moved(score, space, x, box, rng)
            better = scores < values
            x, values = np.where(better[:, None], moved, x), np.where(better, scores, values)
            changed |= better
        if not has_discrete_moves(space):
            break
        # Neighbours of a point that has not changed are known; where they are few, others may be
        # drawn from a wide range.
        rows = np.flatnonzero(changed | (not many))
        new, found, improved = _improve_discrete(score, space, x[rows], values[rows], box, rng)
        x, values = x.copy(), values.copy()
        x[rows], values[rows], changed[rows] = new, found, improved
        if not improved.any():
            break
    return x, values


@compiled
def _descend(
    score: Score,
    x: Float[Array, "k d"],
    low: Float[Array, "*k d"],
    high: Float[Array, "*k d"],
    free: Bool[Array, "*k d"],
    inside: Polytope | None = None,
) -> tuple[Float[Array, "k d"], Float[Array, " k"]]:
    """Projected Adam on all starts at once, with a step that shrinks from 5 % of the box; the best
    point that each has seen, and its score."""

    def values_and_gradients(at: Array) -> tuple[Array, Array]:
        values, pull = jax.vjp(score, at)
        (slopes,) = pull(jnp.ones_like(values))
        return or_worst(values), jnp.where(free, jnp.nan_to_num(slopes), 0.0)

    def one(i: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        at, m, v, best, lowest = carry
        values, g = values_and_gradients(at)
        g = g if inside is None else inside.along(at, g)
        better = values < lowest
        best, lowest = jnp.where(better[:, None], at, best), jnp.where(better, values, lowest)
        m, v = 0.8 * m + 0.2 * g, 0.95 * v + 0.05 * g**2
        rate = 0.05 * (high - low) * 0.5 * (1.01 + jnp.cos(jnp.pi * i / STEPS))
        step = (m / (1 - 0.8 ** (i + 1))) / (jnp.sqrt(v / (1 - 0.95 ** (i + 1))) + 1e-12)
        end = jnp.clip(at - rate * step, low, high)
        return end if inside is None else inside.moved(at, end), m, v, best, lowest

    zeros = jnp.zeros_like(x)
    first = (x, zeros, zeros, x, jnp.full(len(x), jnp.inf))
    # One more than there are steps: the last one only scores. To score after the loop would be a
    # quarter more to compile.
    _, _, _, best, lowest = jax.lax.fori_loop(0, STEPS + 1, one, first)
    return best, lowest


def _moved(
    score: Score, space: Space, x: Matrix, box: Box, rng: np.random.Generator
) -> tuple[Matrix, np.ndarray]:
    """Encoded points after a descent in their continuous columns, and their scores."""
    movable = space.movable
    low, high = -np.ones(len(movable)), np.ones(len(movable))
    low[movable], high[movable] = box.low[space.continuous], box.high[space.continuous]
    free = movable
    if space.conditions:  # inactive columns of each start keep their 0, in the box or not
        free = np.tile(movable, (len(x), 1))
        free[:, movable] = space.active_columns(x)[:, space.continuous]
        low, high = np.where(free, low, -1.0), np.where(free, high, 1.0)
    inside = reachable(space, x, box, rng)
    start, x = x, x.copy()
    found, values = _descend(score, space.inputs(x), low, high, free, inside)
    x[:, space.continuous] = np.asarray(found)[:, movable]
    if space.feasible is None:
        return x, np.asarray(values)
    kept = allowed_part(space, start, x)
    changed = np.any(kept != x, axis=1)
    return kept, np.where(changed, evaluate(score, space, kept), np.asarray(values))


@compiled
def _value_and_gradient(score: Score, x: Float[Array, " d"]) -> tuple[Array, Array]:
    return jax.value_and_grad(lambda at: score(at[None])[0])(x)


MARGIN = 1e-7
"""By how much a polished point stays on the allowed side of a limit."""


@compiled
def _limits_and_slopes(
    score: Limited, x: Float[Array, " d"]
) -> tuple[Float[Array, " k"], Float[Array, "k d"]]:
    limits, pull = jax.vjp(lambda at: score.limits(at[None])[:, 0], x)
    (slopes,) = jax.vmap(pull)(jnp.eye(len(limits)))
    return limits, slopes


def polish(
    score: Score, space: Space, x: Float[np.ndarray, " d"], box: Box
) -> tuple[np.ndarray, float | None]:
    """A quasi-Newton search from one point in its continuous columns, and the score at its end if
    the search has computed it."""
    free, held = polishable(space, x), space.inputs(x[None])[0]
    if not free.any():
        return x, None
    movable = np.zeros(len(held), dtype=bool)
    movable[space.places(np.flatnonzero(free))] = True

    def moved(at: np.ndarray) -> np.ndarray:
        whole = held.copy()
        whole[movable] = at
        return whole

    def target(at: np.ndarray) -> tuple[float, np.ndarray]:
        plain = score.score if isinstance(score, Limited) else score
        value, gradient = _value_and_gradient(plain, moved(at))
        return float(value), np.asarray(gradient)[movable]

    constraints: list[Any] = slsqp_constraints(space, x, free)
    if isinstance(score, Limited):  # often the lowest allowed point is just allowed

        @lru_cache(maxsize=1)  # SLSQP asks for both parts at the same point
        def margins(at: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
            limits, slopes = _limits_and_slopes(score, moved(np.array(at)))
            return -MARGIN - np.asarray(limits), -np.asarray(slopes)[:, movable]

        constraints.append(
            {
                "type": "ineq",
                "fun": lambda at: margins(tuple(at))[0],
                "jac": lambda at: margins(tuple(at))[1],
            }
        )
    method: Literal["L-BFGS-B", "SLSQP"] = "SLSQP" if constraints else "L-BFGS-B"
    found: Any = scipy_minimize(
        target, x[free], jac=True, method=method, constraints=constraints,
        bounds=list(zip(box.low[free], box.high[free], strict=True)), options={"maxiter": 30},
    )  # fmt: skip
    if not np.all(np.isfinite(found.x)):
        return x, None
    polished = x.copy()
    polished[free] = found.x
    if space.feasible is None:
        # After a failed line search `found.fun` is the value of another point.
        value = None if isinstance(score, Limited) else target(found.x)[0]
        return polished, value if value is not None and np.isfinite(value) else None
    polished = np.where(free, box.clip(polished[None])[0], polished)
    return allowed_part(space, x[None], polished[None])[0], None
