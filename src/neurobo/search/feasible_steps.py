"""How the acquisition optimiser stays inside known input constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from neurobo.search.candidates import Box
from neurobo.search.hit_and_run import correction, in_use, opened
from neurobo.search.polytope import Polytope, polytope
from neurobo.space.encoders import Matrix
from neurobo.space.feasible_set import FeasibleSet, Points
from neurobo.space.search_space import Space

HALVINGS = 25
"""To find how much of a step callables allow."""
MARGIN = 1e-9
"""By how much a polished point stays on the allowed side of a callable."""


def reachable(space: Space, x: Matrix, box: Box, rng: np.random.Generator) -> Polytope | None:
    """Where the continuous columns of points may go; None: anywhere in the box."""
    region = space.feasible
    if region is None or not (len(region.a) or len(region.e) or region.groups):
        return None
    z = region.z(x)
    return polytope(
        region, space.places(region.columns), z, opened(region, z, rng), _in_z(region, box)
    )


def _in_z(region: FeasibleSet, box: Box) -> tuple[Points, Points]:
    low, high = (region.scale.to_z(end[None, region.columns]) for end in (box.low, box.high))
    return low, high


def allowed_part(space: Space, start: Matrix, end: Matrix) -> Matrix:
    """The ends of steps from allowed points, or what comes nearest to them on the way.

    Rounding errors of rows are removed towards the middle of the region; callables cut the step.
    """
    region = space.feasible
    assert region is not None
    good = region.contains(end)
    if good.all():
        return end
    before, after = region.z(start), region.z(end)
    if len(region.f):
        for _ in range(2):  # bounds may cut what the equations need
            after = after + correction(region, region.f - after @ region.e.T, in_use(region, after))
            after = np.clip(after, -1.0, 1.0)
    anchor = before if region.centre is None else np.broadcast_to(region.centre, before.shape)
    after = anchor + _share(region, anchor, after)[:, None] * (after - anchor)
    moved = np.where(good[:, None], end, region.put(end, after))
    fits = region.contains(moved)
    if fits.all():
        return moved
    share, refused = np.zeros(len(end)), np.ones(len(end))  # bisection
    for _ in range(HALVINGS):
        middle = (share + refused) / 2
        allowed = region.contains(region.put(end, before + middle[:, None] * (after - before)))
        share, refused = np.where(allowed, middle, share), np.where(allowed, refused, middle)
    part = region.put(end, before + share[:, None] * (after - before))
    part = np.where((share > 0)[:, None], part, start)
    return np.where(fits[:, None], moved, part)


def _share(region: FeasibleSet, start: Points, end: Points) -> Float[np.ndarray, " n"]:
    """How much of a step stays inside the rows."""
    over = end @ region.a.T - region.b
    room = np.maximum(region.b - start @ region.a.T, 0.0)
    share = np.where(over > 0, room / np.where(over > 0, room + over, 1.0), 1.0)
    return np.min(share, axis=1, initial=1.0)


def polishable(space: Space, x: Float[np.ndarray, " columns"]) -> Bool[np.ndarray, " columns"]:
    """Continuous columns that may move from here."""
    free = space.continuous & space.active_columns(x[None])[0]
    region = space.feasible
    if region is not None:
        free[region.columns] &= opened(region, region.z(x[None]), np.random.default_rng(0))[0]
    return free


def slsqp_constraints(
    space: Space, x: Float[np.ndarray, " columns"], free: Bool[np.ndarray, " columns"]
) -> list[dict[str, Any]]:
    """The input constraints over the free columns of a point, as SciPy wants them."""
    region = space.feasible
    if region is None:
        return []
    moving = free[region.columns]

    def whole(at: np.ndarray) -> Matrix:
        point = x[None].copy()
        point[0, free] = at
        return point

    def scattered(rows: np.ndarray, at: np.ndarray) -> np.ndarray:
        """d(rows · z) / d(free columns)."""
        slope = region.scale.slope(whole(at)[:, region.columns])[0]
        out = np.zeros((len(rows), space.dim))
        out[:, region.columns] = rows * slope
        return out[:, free]

    # Independent equations: SLSQP takes no others.
    _, s, v = np.linalg.svd(region.e[:, moving], full_matrices=False)
    kept = np.zeros((int(np.sum(s > 1e-10)), len(region.names)))
    kept[:, moving] = v[: len(kept)]
    right = region.z(x[None])[0] @ kept.T
    found: list[dict[str, Any]] = []
    if len(kept):
        found.append(
            {
                "type": "eq",
                "fun": lambda at: region.z(whole(at))[0] @ kept.T - right,
                "jac": lambda at: scattered(kept, at),
            }
        )
    if len(region.a):
        found.append(
            {
                "type": "ineq",
                "fun": lambda at: region.b - region.z(whole(at))[0] @ region.a.T,
                "jac": lambda at: -scattered(region.a, at),
            }
        )
    oracle = region.oracle
    if oracle is not None:  # its slopes by finite differences
        found.append({"type": "ineq", "fun": lambda at: -MARGIN - oracle(whole(at))})
    return found
