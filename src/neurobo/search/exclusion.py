"""Which points are not to be suggested: evaluated, pending, or too near to such a point."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool
from scipy.spatial import KDTree

from neurobo.data.observations import Data
from neurobo.errors import SpaceExhausted
from neurobo.search.feasible_points import spread_points
from neurobo.space.encoders import Matrix
from neurobo.space.search_space import Space


def is_excluded(
    space: Space, x: Matrix, excluded: Matrix, tolerance: np.ndarray | None = None
) -> Bool[np.ndarray, " n"]:
    if not len(excluded) or not len(x) or not space.dim:
        return np.full(len(x), len(excluded) > 0)
    tolerance = space.tolerance if tolerance is None else tolerance
    if len(x) == 1:
        return np.any(np.all(np.abs(excluded - x) < tolerance, axis=1), keepdims=True)
    # A tree: all pairs of a few thousand points would not fit into memory.
    tree = KDTree(excluded / tolerance)
    gap, _ = tree.query(x / tolerance, p=np.inf, distance_upper_bound=1.0)
    return np.asarray(np.isfinite(gap))


APART = 0.01
"""Points that are evaluated at the same time differ by this in some continuous column, if they do
not differ in a discrete one; the box has width 2."""


PRUNED_APART = 0.1
"""Distance in the same sense from points whose evaluation was pruned: 5 % of a range."""


def is_crowded(space: Space, x: Matrix, data: Data) -> Bool[np.ndarray, " n"]:
    """Whether points are so near to a pending one that their values would tell the same, or to a
    pruned one that they would be pruned as well."""
    # Features of a pool, whose candidates stand for much.
    if data.pending.shape[1] - len(space.conditions.switches) != space.dim:
        return np.zeros(len(x), dtype=bool)
    crowded = _is_near(space, x, data.pending[:, : space.dim], APART)
    return (
        crowded if data.pruned is None else crowded | _is_near(space, x, data.pruned, PRUNED_APART)
    )


def _is_near(space: Space, x: Matrix, points: Matrix, apart: float) -> Bool[np.ndarray, " n"]:
    return is_excluded(space, x, points, np.where(space.continuous, apart, space.tolerance))


def first_free(space: Space, ordered: Matrix, excluded: Matrix) -> np.ndarray | None:
    """The first of these points that is neither evaluated nor pending."""
    if not is_excluded(space, ordered[:1], excluded).any() and len(ordered):
        return np.asarray(ordered[0])
    free = np.flatnonzero(~is_excluded(space, ordered, excluded))
    return np.asarray(ordered[free[0]]) if len(free) else None


def any_free(space: Space, excluded: Matrix, rng: np.random.Generator) -> np.ndarray:
    """Some point that is neither evaluated nor pending."""
    if space.feasible is not None:
        return _any_allowed(space, excluded, rng)
    if space.size == np.inf or space.size > 2**40:
        while True:  # an excluded point has probability zero, or nearly
            points = space.from_unit(rng.random((64, space.n_parameters)))
            found = first_free(space, points, excluded)
            if found is not None:
                return found
    # Among len(excluded) + 1 different points at least one is free, unless there are no more.
    size, wanted = int(space.size), len(excluded) + 1
    offset, everything = int(rng.integers(size)), np.arange(min(size, wanted))
    found = first_free(space, space.by_index((everything + offset) % size), excluded)
    if found is None:
        raise SpaceExhausted(
            f"every point of the space must be evaluated only once, and all {size} are evaluated "
            "or pending"
        )
    return found


def _any_allowed(space: Space, excluded: Matrix, rng: np.random.Generator) -> np.ndarray:
    """The same with known input constraints, where points are not counted."""
    for _ in range(20):
        points = spread_points(space, 256, rng)
        found = first_free(space, points, excluded)
        if found is not None:
            return found
    raise SpaceExhausted(
        "every point of the space must be evaluated only once, and all that the constraints allow "
        "and a search finds are evaluated or pending"
    )
