"""A trust region around the best point, whose size follows from the history alone.

As in TuRBO it grows after successes and shrinks after failures. What counts is where a point was,
not who proposed it, so that any history will do.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from neurobo.data.observations import Data
from neurobo.errors import InvalidInput


class Region(NamedTuple):
    """A trust region: numeric columns stay this near to an observation."""

    row: int
    """Which observation."""
    radius: float
    """Half-width; that of the whole box is 1."""


RadiusOption = float | Literal["auto", "adaptive"] | None
"""Half-width of a trust region, or how it is chosen; None: no trust region."""
RADIUS = 0.4
"""Half-width of a trust region, if nothing else is known."""
SMALLEST, LARGEST = RADIUS / 64, 1.0
SUCCESSES = 2
"""In a row, after which the region doubles."""
LEAST_FAILURES = 4
"""In a row, after which it halves; in many active columns half of their number."""
MANY_COLUMNS = 6
"""Columns above which a posterior sample is lowest in a far corner more often than not."""
ENOUGH = 1e-3
"""A success is better by this share of the middle half of the values: the last digits of a smooth
bowl are no reason to look further away."""


def radius(data: Data) -> float:
    """Half-width of the region after these observations; that of the whole box is 1."""
    x = data.points
    columns = np.full(data.n, x.shape[1]) if data.active is None else data.active
    size, won, lost, best = RADIUS, 0, 0, 0
    ranks = _ranked(data)
    for t in range(1, data.n):
        better = ranks[t] < ranks[best]
        if np.max(np.abs(x[t] - x[best]), initial=0.0) <= 1.001 * size:
            success = better and data.y[best] - data.y[t] > ENOUGH * _middle(data.y[:t])
            won, lost = (won + 1, 0) if success else (0, lost + 1)
            if won >= SUCCESSES:
                size, won = min(2 * size, LARGEST), 0
            if lost >= max(LEAST_FAILURES, columns[best] // 2):
                size, lost = size / 2, 0
            if size < SMALLEST:  # nothing more to gain here: look around again
                size = RADIUS
        best = t if better else best
    return size


def check_radius(given: Any) -> None:
    """Refuse what is no `RadiusOption`."""
    if given in (None, "auto", "adaptive"):
        return
    if not isinstance(given, float | int) or not 0 < given <= 2:
        raise InvalidInput(
            f'trust_region must be None, "auto", "adaptive" or in (0, 2], got {given!r}'
        )


def radius_of_sample(option: RadiusOption, data: Data, number: int) -> float | None:
    """Half-width for a posterior sample: every other suggestion has a trust region; "auto" and
    "adaptive" have one in many columns only."""
    if option is None or not number % 2 or not data.n:
        return None
    if not isinstance(option, str):
        return option
    if data.x.shape[1] <= MANY_COLUMNS:
        return None
    return RADIUS if option == "auto" else radius(data)


def _ranked(data: Data) -> Float[np.ndarray, " n"]:
    """The place of each observation, constraints considered."""
    places = np.empty(data.n)
    places[data.order] = np.arange(data.n)
    return places


def _middle(values: Float[np.ndarray, " n"]) -> float:
    low, high = np.quantile(values, [0.25, 0.75])
    return float(high - low)


def while_infeasible(region: Region | None, data: Data, number: int) -> Region | None:
    """Where to search if constraints are learned, given where one would search without them.

    While no feasible point is known, every other suggestion stays near the observation that
    violates the constraints least: the uncertainty of networks is largest in the corners of the
    box, and there are many.
    """
    assert data.violation is not None
    if np.any(data.violation <= 0) or not number % 2 or not data.n:
        return region
    return Region(int(data.order[0]), RADIUS)
