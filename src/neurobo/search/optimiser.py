"""Where is a score lowest? The one place that chooses points.

Scrambled Sobol points and perturbations of the best observations are scored in one batch; the
best are refined together, with exact gradients in continuous columns and one-change moves in
discrete ones; the winner is polished. Every candidate is a valid point at every stage.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float
from scipy.optimize import minimize as scipy_minimize
from scipy.spatial import KDTree
from scipy.stats import qmc

from neurobo.acquisition.score import Limited, Score
from neurobo.data.observations import Data
from neurobo.errors import NeuroboWarning, SpaceExhausted
from neurobo.search.trust_region import Region
from neurobo.space.encoders import Matrix
from neurobo.space.search_space import Space

CHUNK = 1024  # every batch is padded to this many rows: one shape, one compilation
ENUMERABLE = 4096  # finite spaces up to this size are scored point by point
STARTS = 16
STEPS = 60
ROUNDS = 12
POLISHED = 2  # points at a limit are hard to find by steps, so that the second best counts, too


@dataclass(frozen=True)
class Box:
    """The part of [-1, 1]^d to search; smaller than the whole inside a trust region."""

    low: Float[np.ndarray, " columns"]
    high: Float[np.ndarray, " columns"]

    @staticmethod
    def of(space: Space, data: Data, region: Region | None) -> Box:
        whole = Box(-np.ones(space.dim), np.ones(space.dim))
        if region is None:
            return whole
        centre, radius = data.points[region.row], region.radius
        # Categories stay free: a region of one-hot columns has no meaning.
        local = space.numeric
        return Box(
            np.where(local, np.maximum(centre - radius, -1.0), whole.low),
            np.where(local, np.minimum(centre + radius, 1.0), whole.high),
        )

    def squeeze(self, x: Matrix) -> Matrix:
        """Map points of the whole box into this one."""
        return self.low + (x + 1) / 2 * (self.high - self.low)

    def clip(self, x: Matrix) -> Matrix:
        return np.clip(x, self.low, self.high)


@jax.jit
def _evaluate(score: Score, x: Float[Array, "n d"]) -> Float[Array, " n"]:
    return _or_worst(score(x))


def _or_worst(values: Float[Array, " n"]) -> Float[Array, " n"]:
    """Scores, where what is no number is never chosen."""
    return jnp.where(jnp.isfinite(values), values, jnp.inf)


def evaluate(score: Score, space: Space, x: Matrix) -> Float[np.ndarray, " n"]:
    """Scores of any number of encoded points, in batches of one shape."""
    found = []
    for i in range(0, len(x), CHUNK):
        part = space.inputs(x[i : i + CHUNK])
        padded = np.pad(part, ((0, CHUNK - len(part)), (0, 0)))
        found.append(np.asarray(_evaluate(score, jnp.asarray(padded)))[: len(part)])
    return np.concatenate(found) if found else np.empty(0)


@jax.jit
def _descend(
    score: Score,
    x: Float[Array, "k d"],
    low: Float[Array, " d"],
    high: Float[Array, " d"],
    free: Bool[Array, " d"],
) -> tuple[Float[Array, "k d"], Float[Array, " k"]]:
    """Projected Adam on all starts at once, with a step that shrinks from 5 % of the box; the best
    point that each has seen, and its score."""

    def values_and_gradients(at: Array) -> tuple[Array, Array]:
        values, pull = jax.vjp(score, at)
        (slopes,) = pull(jnp.ones_like(values))
        return _or_worst(values), jnp.where(free, jnp.nan_to_num(slopes), 0.0)

    def one(i: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        at, m, v, best, lowest = carry
        values, g = values_and_gradients(at)
        better = values < lowest
        best, lowest = jnp.where(better[:, None], at, best), jnp.where(better, values, lowest)
        m, v = 0.8 * m + 0.2 * g, 0.95 * v + 0.05 * g**2
        rate = 0.05 * (high - low) * 0.5 * (1.01 + jnp.cos(jnp.pi * i / STEPS))
        step = (m / (1 - 0.8 ** (i + 1))) / (jnp.sqrt(v / (1 - 0.95 ** (i + 1))) + 1e-12)
        return jnp.clip(at - rate * step, low, high), m, v, best, lowest

    zeros = jnp.zeros_like(x)
    first = (x, zeros, zeros, x, jnp.full(len(x), jnp.inf))
    at, _, _, best, lowest = jax.lax.fori_loop(0, STEPS, one, first)
    last = _or_worst(score(at))
    better = last < lowest
    return jnp.where(better[:, None], at, best), jnp.where(better, last, lowest)


def _moved(score: Score, space: Space, x: Matrix, box: Box) -> tuple[Matrix, np.ndarray]:
    """Encoded points after a descent in their continuous columns, and their scores."""
    free = space.movable
    low, high = -np.ones(len(free)), np.ones(len(free))
    low[free], high[free] = box.low[space.continuous], box.high[space.continuous]
    arrays = (jnp.asarray(a) for a in (space.inputs(x), low, high, free))
    x = x.copy()
    found, values = _descend(score, *arrays)
    x[:, space.continuous] = np.asarray(found)[:, free]
    return x, np.asarray(values)


@jax.jit
def _value_and_gradient(score: Score, x: Float[Array, " d"]) -> tuple[Array, Array]:
    return jax.value_and_grad(lambda at: score(at[None])[0])(x)


MARGIN = 1e-7
"""By how much a polished point stays on the allowed side of a limit."""


@jax.jit
def _limits(score: Limited, x: Float[Array, " d"]) -> Float[Array, " k"]:
    return score.limits(x[None])[:, 0]


_slopes = jax.jit(jax.jacrev(_limits, argnums=1))


def _polish(score: Score, space: Space, x: Float[np.ndarray, " d"], box: Box) -> np.ndarray:
    """A quasi-Newton search from one point in its continuous columns."""
    free, held = space.continuous, space.inputs(x[None])[0]

    def moved(at: np.ndarray) -> Array:
        whole = held.copy()
        whole[space.movable] = at
        return jnp.asarray(whole)

    def target(at: np.ndarray) -> tuple[float, np.ndarray]:
        plain = score.score if isinstance(score, Limited) else score
        value, gradient = _value_and_gradient(plain, moved(at))
        return float(value), np.asarray(gradient)[space.movable]

    method: Literal["L-BFGS-B", "SLSQP"] = "L-BFGS-B"
    constraints: list[Any] = []
    if isinstance(score, Limited):  # often the lowest allowed point is just allowed
        method = "SLSQP"
        constraints = [
            {
                "type": "ineq",
                "fun": lambda at: -MARGIN - np.asarray(_limits(score, moved(at))),
                "jac": lambda at: -np.asarray(_slopes(score, moved(at)))[:, space.movable],
            }
        ]
    found: Any = scipy_minimize(
        target, x[free], jac=True, method=method, constraints=constraints,
        bounds=list(zip(box.low[free], box.high[free], strict=True)), options={"maxiter": 30},
    )  # fmt: skip
    if not np.all(np.isfinite(found.x)):
        return x
    polished = x.copy()
    polished[free] = found.x
    return polished


def _candidates(space: Space, data: Data, box: Box, rng: np.random.Generator) -> Matrix:
    sobol = qmc.Sobol(space.n_parameters, rng=rng).random(CHUNK)
    everywhere = space.snap(box.squeeze(space.from_unit(sobol)))
    if data.n == 0:
        return everywhere
    best = data.points[data.order[:8]]
    parents = best[rng.integers(len(best), size=CHUNK)]
    radius = 10 ** rng.uniform(-3, -0.3, CHUNK)
    rate = min(1.0, 8 / space.n_parameters)
    near = box.clip(space.mutate(parents, rng, radius, rate))
    return np.concatenate([everywhere, space.snap(near)])


def _improve_discrete(
    score: Score, space: Space, x: Matrix, values: np.ndarray, box: Box, rng: np.random.Generator
) -> tuple[Matrix, np.ndarray, bool]:
    """Replace each point by its best one-change neighbour if that is better."""
    near = [space.neighbours(point, rng) for point in x]
    inside = [p[np.all((p >= box.low - 1e-9) & (p <= box.high + 1e-9), axis=1)] for p in near]
    found = evaluate(score, space, np.concatenate(inside))
    scores = np.split(found, np.cumsum([len(p) for p in inside]))
    x, values, improved = x.copy(), values.copy(), False
    for i, (points, found) in enumerate(zip(inside, scores, strict=False)):
        if len(found) and found.min() < values[i] - 1e-12:
            x[i], values[i], improved = points[found.argmin()], found.min(), True
    return x, values, improved


def _refine(
    score: Score, space: Space, x: Matrix, values: np.ndarray, box: Box, rng: np.random.Generator
) -> tuple[Matrix, np.ndarray]:
    free = space.continuous
    for _ in range(ROUNDS):
        if free.any():
            moved, scores = _moved(score, space, x, box)
            better = scores < values
            x, values = np.where(better[:, None], moved, x), np.where(better, scores, values)
        if free.all():
            break
        x, values, improved = _improve_discrete(score, space, x, values, box, rng)
        if not improved:
            break
    return x, values


def _is_taken(
    space: Space, x: Matrix, taken: Matrix, tolerance: np.ndarray | None = None
) -> Bool[np.ndarray, " n"]:
    if not len(taken) or not len(x) or not space.dim:
        return np.full(len(x), len(taken) > 0)
    tolerance = space.tolerance if tolerance is None else tolerance
    # A tree: all pairs of a few thousand points would not fit into memory.
    tree = KDTree(taken / tolerance)
    gap, _ = tree.query(x / tolerance, p=np.inf, distance_upper_bound=1.0)
    return np.asarray(np.isfinite(gap))


APART = 0.01
"""Points that are evaluated at the same time differ by this in some continuous column, if they do
not differ in a discrete one; the box has width 2."""


PRUNED_APART = 0.1
"""Distance in the same sense from points whose evaluation was pruned: 5 % of a range."""


def _is_crowded(space: Space, x: Matrix, data: Data) -> Bool[np.ndarray, " n"]:
    """Whether points are so near to a pending one that their values would tell the same, or to a
    pruned one that they would be pruned as well."""
    if data.pending.shape[1] != space.dim:  # features of a pool, whose candidates stand for much
        return np.zeros(len(x), dtype=bool)
    crowded = _is_near(space, x, data.pending, APART)
    return (
        crowded if data.pruned is None else crowded | _is_near(space, x, data.pruned, PRUNED_APART)
    )


def _is_near(space: Space, x: Matrix, points: Matrix, apart: float) -> Bool[np.ndarray, " n"]:
    return _is_taken(space, x, points, np.where(space.continuous, apart, space.tolerance))


def first_free(space: Space, ordered: Matrix, taken: Matrix) -> np.ndarray | None:
    """The first of these points that is neither evaluated nor pending."""
    free = np.flatnonzero(~_is_taken(space, ordered, taken))
    return np.asarray(ordered[free[0]]) if len(free) else None


def any_free(space: Space, taken: Matrix, rng: np.random.Generator) -> np.ndarray:
    """Some point that is neither evaluated nor pending."""
    if space.size == np.inf or space.size > 2**40:
        while True:  # a taken point has probability zero, or nearly
            found = first_free(space, space.from_unit(rng.random((64, space.n_parameters))), taken)
            if found is not None:
                return found
    # Among len(taken) + 1 different points at least one is free, unless there are no more.
    size, wanted = int(space.size), len(taken) + 1
    offset, everything = int(rng.integers(size)), np.arange(min(size, wanted))
    found = first_free(space, space.by_index((everything + offset) % size), taken)
    if found is None:
        raise SpaceExhausted(
            f"every point of the space must be evaluated only once, and all {size} are evaluated "
            "or pending"
        )
    return found


def _without_a_score(space: Space, data: Data, rng: np.random.Generator) -> np.ndarray:
    """No number anywhere says where to go: go on at random, but not in silence."""
    warnings.warn(
        "the surrogate gave no finite score at any point; this suggestion is random, please report "
        "the history that led to it",
        NeuroboWarning,
        stacklevel=2,
    )
    return any_free(space, data.taken, rng)


def minimise(
    score: Score,
    space: Space,
    data: Data,
    rng: np.random.Generator,
    *,
    region: Region | None = None,
) -> Float[np.ndarray, " columns"]:
    """The encoded point with the lowest score that is neither evaluated nor pending."""
    if space.size <= ENUMERABLE or space.choosing:
        points = space.by_index(np.arange(int(space.size)))
        points = points[~_is_taken(space, points, data.taken)]
        if not len(points):
            return any_free(space, data.taken, rng)  # raises
        scores = evaluate(score, space, points)
        if not np.isfinite(scores).any():
            return _without_a_score(space, data, rng)
        return np.asarray(points[np.argmin(scores)])

    box = Box.of(space, data, region)
    candidates = _candidates(space, data, box, rng)
    scores = evaluate(score, space, candidates)
    if not np.isfinite(scores).any():
        return _without_a_score(space, data, rng)
    # Half of the starts from each group, so that neither exploration nor the incumbents are lost.
    groups = [np.argsort(scores[:CHUNK]), CHUNK + np.argsort(scores[CHUNK:])]
    share = STARTS // 2 if data.n else STARTS
    starts = np.concatenate([g[:share] for g in groups])
    x, values = _refine(score, space, candidates[starts], scores[starts], box, rng)
    if space.continuous.any():
        best = np.argsort(values)[: POLISHED if isinstance(score, Limited) else 1]
        polished = np.stack([_polish(score, space, x[i], box) for i in best])
        x = np.concatenate([x, polished])
        values = np.concatenate([values, evaluate(score, space, polished)])
    x, values = np.concatenate([x, candidates]), np.concatenate([values, scores])
    ordered = x[np.argsort(values, kind="stable")]
    found = first_free(space, ordered[~_is_crowded(space, ordered, data)], data.taken)
    if found is None and region is not None:  # all of it is too near to something: look elsewhere
        return minimise(score, space, data, rng)
    if found is None:
        found = first_free(space, ordered, data.taken)
    return any_free(space, data.taken, rng) if found is None else found
