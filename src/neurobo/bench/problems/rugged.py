"""Functions with many deep wells, which a smooth model does not see between the points.

`needles-4-7` is instance 7 in 4 dimensions of a family: narrow wells of different depth in a
shallow bowl. The deepest one is at the bowl's lowest point. Places and depths are drawn from the
instance's number.
"""

from __future__ import annotations

import re

import numpy as np
from jaxtyping import Float

from neurobo.bench.problem import Problem, Vector, of_vector
from neurobo.bench.problems.synthetic import LIBRARY
from neurobo.errors import InvalidInput

BUDGET_PER_DIMENSION = 25
DEPTH = 10.0
"""Of the deepest well."""
DECOYS = 20
"""Other wells, with 20 to 70 % of that depth."""
WIDTH = 0.025
"""Of the deepest well at half its depth. Distances are root mean squares over the coordinates, so
that they mean the same in all dimensions."""
BOWL = 4.0
"""The height of the bowl at a distance of 1."""
APART = 0.175
"""Decoys are at least as far from the deepest well."""
_NAME = re.compile(r"needles-(\d+)-(\d+)")

_LANGERMANN_C = np.array([1.0, 2.0, 5.0, 2.0, 3.0])
_LANGERMANN_A = np.array([[3.0, 5.0], [5.0, 2.0], [2.0, 1.0], [1.0, 4.0], [7.0, 9.0]])


def langermann(x: Vector) -> float:
    square = np.sum((x - _LANGERMANN_A) ** 2, axis=1)
    return float(_LANGERMANN_C @ (np.exp(-square / np.pi) * np.cos(np.pi * square)))


def parse(name: str) -> tuple[int, int] | None:
    """Dimension and instance, or None for any other problem's name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    dim, instance = (int(group) for group in match.groups())
    if not 1 <= dim <= 100:
        raise InvalidInput(f"needles-D-I must have D from 1 to 100, got {name!r}")
    return dim, instance


def needles(dim: int, instance: int) -> Problem:
    """f(x) = DEPTH + BOWL r₀² - max h_j / (1 + r_j² / w_j²), r_j the distance from well j.

    The widths w_j² = WIDTH² DEPTH / h_j make all wells look alike from afar. No well is as deep as
    the one at r₀ = 0, so that f is 0 there and positive elsewhere, in the box and outside it.
    """
    rng = np.random.default_rng([dim, instance])
    places, heights = draw_wells(rng, dim)
    width = WIDTH * np.sqrt(DEPTH / heights)

    def function(x: Vector) -> float:
        square = np.mean((x - places) ** 2, axis=1)
        return float(DEPTH + BOWL * square[0] - np.max(heights / (1 + square / width**2)))

    return of_vector(
        f"needles-{dim}-{instance}",
        "narrow wells of different depth in a shallow bowl",
        function,
        [(0, 1)] * dim,
        best=places[0].tolist(),
        optimum=0.0,
        budget=BUDGET_PER_DIMENSION * dim,
        source="this package",
        everywhere=True,
    )


def draw_wells(
    rng: np.random.Generator, dim: int
) -> tuple[Float[np.ndarray, "wells d"], Float[np.ndarray, " wells"]]:
    """Places and depths, the deepest well first."""
    places = [rng.uniform(0.1, 0.9, dim)]
    while len(places) <= DECOYS:
        place = rng.random(dim)
        if np.sqrt(np.mean((place - places[0]) ** 2)) >= APART:
            places.append(place)
    heights = DEPTH * np.array([1.0, *rng.uniform(0.2, 0.7, DECOYS)])
    return np.array(places), heights


PROBLEMS = (
    of_vector(
        "langermann-2",
        "waves around five centres that add up and cancel",
        langermann,
        [(0, 10)] * 2,
        best=(2.7934022081148635, 1.5972325008846973),
        optimum=-4.1558092918477865,
        budget=60,
        source=LIBRARY,
    ),
)
