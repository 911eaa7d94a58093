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
from neurobo.space.search_space import Space

ENUMERABLE = 4096
"""Finite spaces up to this size are scored point by point."""
STARTS = 16
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
    candidates: int | None = None,
) -> Float[np.ndarray, " columns"]:
    """The encoded point with the lowest score that is neither evaluated nor pending; with
    `candidates` the best of so many Sobol points of the space."""
    if space.size <= ENUMERABLE or space.choosing:
        return _enumerated(score, space, data, rng)
    box = Box.of(space, data, region)
    if candidates is None:
        tried = starting_points(space, data, box, rng)
    else:
        tried = sobol_points(space, box, rng, candidates)
    scores = evaluate(score, space, tried)
    if not np.isfinite(scores).any():
        return _without_a_score(space, data, rng)
    if candidates is not None:
        best = first_free(space, tried[np.argsort(scores, kind="stable")], data.excluded)
        return any_free(space, data.excluded, rng) if best is None else best
    # Half of the starts from each group, so that neither exploration nor the incumbents are lost.
    groups = [np.argsort(scores[:CHUNK]), CHUNK + np.argsort(scores[CHUNK:])]
    share = STARTS // 2 if data.n else STARTS
    starts = np.concatenate([g[:share] for g in groups])
    x, values = refine(score, space, tried[starts], scores[starts], box, rng)
    if space.continuous.any():
        best = np.argsort(values)[: POLISHED if isinstance(score, Limited) else 1]
        polished = np.stack([polish(score, space, x[i], box) for i in best])
        x = np.concatenate([x, polished])
        values = np.concatenate([values, evaluate(score, space, polished)])
    x, values = np.concatenate([x, tried]), np.concatenate([values, scores])
    ordered = x[np.argsort(values, kind="stable")]
    found = first_free(space, ordered[~is_crowded(space, ordered, data)], data.excluded)
    if found is None and region is not None:  # all of it is too near to something: look elsewhere
        return minimise(score, space, data, rng)
    if found is None:
        found = first_free(space, ordered, data.excluded)
    return any_free(space, data.excluded, rng) if found is None else found


def _enumerated(
    score: Score, space: Space, data: Data, rng: np.random.Generator
) -> Float[np.ndarray, " columns"]:
    """The best point of a small space."""
    points = space.by_index(np.arange(int(space.size)))
    if space.feasible is not None:
        points = points[space.feasible.contains(points)]
    points = points[~is_excluded(space, points, data.excluded)]
    if not len(points):
        return any_free(space, data.excluded, rng)  # raises
    scores = evaluate(score, space, points)
    if not np.isfinite(scores).any():
        return _without_a_score(space, data, rng)
    return np.asarray(points[np.argmin(scores)])
