"""Where is a score lowest? The one place that chooses points.

Scrambled Sobol points and perturbations of the best observations are scored in one batch; the
best are refined together, with exact gradients in continuous columns and one-change moves in
discrete ones; the winner is polished. Every candidate is a valid point at every stage.
"""

from __future__ import annotations

import warnings

import numpy as np
from jaxtyping import Float

from neurobo.acquisition.score import Limited, Score
from neurobo.data.observations import Data
from neurobo.errors import NeuroboWarning
from neurobo.search.candidates import Box, sobol_points, starting_points
from neurobo.search.exclusion import any_free, first_free, is_crowded, is_excluded
from neurobo.search.refinement import polish, refine
from neurobo.search.scoring import CHUNK, evaluate
from neurobo.search.trust_region import Region
from neurobo.space.encoders import Matrix
from neurobo.space.search_space import Space

ENUMERABLE = 4096
"""Finite spaces up to this size are scored point by point."""
STARTS = 16
WIDE = 4
"""Of so many times as many good points as are wanted, those far from each other are taken."""
POLISHED = 2
"""Points at a limit are hard to find by steps, so that the second best counts, too."""


def _without_a_score(space: Space, data: Data, rng: np.random.Generator) -> np.ndarray:
    """No number anywhere says where to go: go on at random, but not in silence."""
    warnings.warn(
        "the surrogate gave no finite score at any point; this suggestion is random, please report "
        "the history that led to it",
        NeuroboWarning,
        stacklevel=2,
    )
    return any_free(space, data.excluded, rng)


def minimise(
    score: Score,
    space: Space,
    data: Data,
    rng: np.random.Generator,
    *,
    region: Region | None = None,
) -> Float[np.ndarray, " columns"]:
    """The encoded point with the lowest score that is neither evaluated nor pending."""
    return np.asarray(best_points(score, space, data, rng, region=region)[0])


def best_points(
    score: Score,
    space: Space,
    data: Data,
    rng: np.random.Generator,
    *,
    region: Region | None = None,
    candidates: int | None = None,
    count: int = 1,
) -> Float[np.ndarray, "count columns"]:
    """The encoded point with the lowest score that is neither evaluated nor pending, and up to
    `count - 1` more with low scores; with `candidates` of so many Sobol points of the space."""
    if space.size <= ENUMERABLE or space.choosing:
        return _enumerated(score, space, data, rng, count)
    box = Box.of(space, data, region)
    if candidates is None:
        tried = starting_points(space, data, box, rng)
    else:
        tried = sobol_points(space, box, rng, candidates)
    scores = evaluate(score, space, tried)
    if not np.isfinite(scores).any():
        return _without_a_score(space, data, rng)[None]
    if candidates is not None:
        return _best(space, tried[np.argsort(scores, kind="stable")], data, rng, count)
    # Half of the starts from each group, so that neither exploration nor the incumbents are lost.
    groups = [np.argsort(scores[:CHUNK]), CHUNK + np.argsort(scores[CHUNK:])]
    share = STARTS // 2 if data.n else STARTS
    starts = np.concatenate([g[:share] for g in groups])
    x, values = refine(score, space, tried[starts], scores[starts], box, rng)
    if space.continuous.any():
        best = np.argsort(values)[: POLISHED if isinstance(score, Limited) else 1]
        ends, at_ends = zip(*(polish(score, space, x[i], box) for i in best), strict=True)
        polished = np.stack(ends)
        if None in at_ends:
            at_ends = evaluate(score, space, polished)
        x, values = np.concatenate([x, polished]), np.concatenate([values, at_ends])
    x, values = np.concatenate([x, tried]), np.concatenate([values, scores])
    ordered = x[np.argsort(values, kind="stable")]
    roomy = ordered[~is_crowded(space, ordered, data)]
    if first_free(space, roomy, data.excluded) is not None:
        return _best(space, roomy, data, rng, count)
    if region is not None:  # all of it is too near to something: look elsewhere
        return best_points(score, space, data, rng, count=count)
    return _best(space, ordered, data, rng, count)


def _best(
    space: Space, ordered: Matrix, data: Data, rng: np.random.Generator, count: int
) -> Float[np.ndarray, "count columns"]:
    """The first free point, and among the next `WIDE * count` those that are farthest from each
    other."""
    free = ordered[~is_excluded(space, ordered, data.excluded)]
    if not len(free):
        return any_free(space, data.excluded, rng)[None]
    if count == 1:
        return np.asarray(free[:1])
    pool = np.unique(free[: WIDE * count], axis=0)
    chosen, least = [free[0]], np.linalg.norm(space.tolerance)
    gap = np.linalg.norm(pool - free[0], axis=1)
    for _ in range(count - 1):
        farthest = int(np.argmax(gap))
        if not gap[farthest] > least:
            break
        chosen.append(pool[farthest])
        gap = np.minimum(gap, np.linalg.norm(pool - pool[farthest], axis=1))
    return np.stack(chosen)


def _enumerated(
    score: Score, space: Space, data: Data, rng: np.random.Generator, count: int
) -> Float[np.ndarray, "count columns"]:
    """The best points of a small space."""
    points = space.by_index(np.arange(int(space.size)))
    if space.feasible is not None:
        points = points[space.feasible.contains(points)]
    points = points[~is_excluded(space, points, data.excluded)]
    if not len(points):
        return any_free(space, data.excluded, rng)[None]  # raises
    scores = evaluate(score, space, points)
    if not np.isfinite(scores).any():
        return _without_a_score(space, data, rng)[None]
    return np.asarray(points[np.argsort(scores, kind="stable")[:count]])
