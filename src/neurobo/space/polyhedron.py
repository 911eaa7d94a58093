"""Linear programs over { z : A z <= b, E z = f }: is there a point, how wide is it, where?

Notation: p columns, N a basis of the directions that keep the equations (p, q), z = origin + N y.
Rows of A are scaled to a largest coefficient of 1, and columns lie in [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

Vector = Float[np.ndarray, " _"]
Matrix = Float[np.ndarray, "_ _"]

FLAT = 1e-9
"""A region that is narrower than this in some direction has no extent in it."""
_EXACT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True)
class Polyhedron:
    """{ z : a z <= b, e z = f }; bounds are rows of `a`."""

    a: Matrix
    b: Vector
    e: Matrix
    f: Vector


@dataclass(frozen=True)
class Interior:
    """A region that is not empty."""

    origin: Vector
    """The centre of the largest ball inside."""
    directions: Matrix
    """Orthonormal columns that span the region: none, if it is a single point."""
    implied: Bool[np.ndarray, " rows"]
    """Inequalities that are met as equations everywhere."""


def interior(region: Polyhedron) -> Interior | None:
    """The centre and the affine hull of a region; None if it is empty."""
    implied = np.zeros(len(region.b), dtype=bool)
    while True:
        e = np.concatenate([region.e, region.a[implied]])
        f = np.concatenate([region.f, region.b[implied]])
        at, directions = affine(e, f)
        if len(f) and np.max(np.abs(e @ at - f)) > FLAT:
            return None
        rest = ~implied
        g, h = region.a[rest] @ directions, region.b[rest] - region.a[rest] @ at
        size = np.linalg.norm(g, axis=1)
        if np.any(h[size <= FLAT] < -FLAT):
            return None
        cost = np.r_[np.zeros(g.shape[1]), -1.0]  # Chebyshev: the largest ball
        limits = [(None, None)] * g.shape[1] + [(0.0, 4.0)]
        found = _lowest(cost, np.c_[g, size], h, limits)
        if found is None:
            return None
        centre = at + directions @ found[:-1]
        if found[-1] > FLAT or not directions.shape[1]:
            return Interior(centre, directions, implied)
        new = rest.copy()
        new[rest] = [_widest(g, h, i) <= FLAT and size[i] > FLAT for i in range(len(h))]
        if not new.any():  # thin, but no row is to blame
            return Interior(centre, directions, implied)
        implied |= new


def affine(e: Matrix, f: Vector) -> tuple[Vector, Matrix]:
    """A solution of e z = f, and an orthonormal basis of the directions that keep it."""
    if not len(f) or not e.shape[1]:
        return np.zeros(e.shape[1]), np.eye(e.shape[1])
    at = np.linalg.lstsq(e, f, rcond=1e-12)[0]
    _, s, v = np.linalg.svd(e)
    rank = int(np.sum(s > 1e-10 * max(s[0], 1.0)))
    return at, v[rank:].T


def _widest(g: Matrix, h: Vector, i: int) -> float:
    """The most by which row i is met."""
    found = _lowest(g[i], g, h, (None, None))
    return np.inf if found is None else float(h[i] - g[i] @ found)


def _lowest(cost: Vector, a: Matrix, b: Vector, limits: Any) -> Vector | None:
    found: Any = linprog(cost, A_ub=a, b_ub=b, bounds=limits, method="highs", options=_EXACT)
    return None if found.x is None else np.asarray(found.x)


def spread(region: Polyhedron, inner: Interior) -> tuple[Matrix, Matrix]:
    """Directions as long as the region is wide, (p, q), and the vertices at their ends.

    Each direction joins the two ends of the region along a normal to all earlier ones, so that a
    thin region gets short directions across it.
    """
    rest = ~inner.implied
    g = region.a[rest] @ inner.directions
    h = region.b[rest] - region.a[rest] @ inner.origin
    q = inner.directions.shape[1]
    axes, ends = np.zeros((q, q)), np.zeros((2 * q, q))
    for i in range(q):
        # A normal to the directions so far: the next column of a complete basis.
        basis, _ = np.linalg.qr(np.c_[axes[:, :i], np.eye(q)])
        normal = basis[:, i]
        for row, sign in ((2 * i, 1.0), (2 * i + 1, -1.0)):
            end = _lowest(sign * normal, g, h, (None, None))
            ends[row] = 0.0 if end is None else end
        across = ends[2 * i + 1] - ends[2 * i]
        axes[:, i] = across if normal @ across > FLAT else FLAT * normal
    return inner.directions @ axes, inner.origin + ends @ inner.directions.T


def mixed_point(
    cost: Vector, rows: Matrix, low: Vector, high: Vector, columns: tuple[Vector, Vector, Vector]
) -> Vector | None:
    """The vertex of a mixed-integer region where `cost` is lowest; None if there is none.

    `low <= rows · v <= high`; `columns` are lower and upper bounds and whether each is whole.
    """
    least, most, whole = columns
    found: Any = milp(
        cost,
        integrality=whole,
        bounds=Bounds(least, most),
        constraints=[LinearConstraint(rows, low, high)] if len(rows) else None,
        options={"time_limit": 20.0},
    )
    return None if found.x is None else np.asarray(found.x)
