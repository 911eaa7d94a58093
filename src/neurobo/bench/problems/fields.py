"""A steady field in a square, from its values on the four sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.fft import dstn, idstn
from scipy.interpolate import RegularGridInterpolator

Line = Float[np.ndarray, " nodes"]
Grid = Float[np.ndarray, "nodes nodes"]
Side = Callable[[Line], Line]
"""The values on a side, by the coordinate that runs along it."""


@dataclass(frozen=True)
class Sides:
    """What the field is on the boundary of [0, size]²."""

    size: float
    bottom: Side
    """T(x, 0)"""
    top: Side
    """T(x, size)"""
    left: Side
    """T(0, y)"""
    right: Side
    """T(size, y)"""


def steady_field(sides: Sides, cells: int) -> Grid:
    """The solution T[i, j] = T(x_i, y_j) of ∇²T = 0 by second-order finite differences.

    Sine waves are the eigenvectors of the five-point Laplacian, so that two sine transforms
    solve it exactly. Where two sides disagree in a corner, the corner takes the higher value:
    the field then has its highest value somewhere, and by the maximum principle on a side.
    """
    along = np.linspace(0, sides.size, cells + 1)
    across, upright = np.full((2, cells + 1, cells + 1), -np.inf)
    across[:, 0], across[:, -1] = sides.bottom(along), sides.top(along)
    upright[0], upright[-1] = sides.left(along), sides.right(along)
    field = np.maximum(across, upright)

    pull = np.zeros((cells - 1, cells - 1))
    pull[:, 0] += field[1:-1, 0]
    pull[:, -1] += field[1:-1, -1]
    pull[0] += field[0, 1:-1]
    pull[-1] += field[-1, 1:-1]
    wave = 2 - 2 * np.cos(np.pi * np.arange(1, cells) / cells)
    field[1:-1, 1:-1] = idstn(dstn(pull, type=1) / (wave[:, None] + wave), type=1)
    return field


def between_nodes(field: Grid, size: float) -> Callable[[Float[np.ndarray, " 2"]], float]:
    """The field at any point, bilinear between its nodes: never above its highest node."""
    along = np.linspace(0, size, len(field))
    lookup = RegularGridInterpolator((along, along), field)
    return lambda x: float(lookup(x)[0])
