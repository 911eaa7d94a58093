"""Functions with many deep wells, which a smooth model does not see between the points.

`needles-4-7` is instance 7 in 4 dimensions of a family: narrow wells at equal distances along every
axis in a shallow bowl, so that only one of them, at the bowl's lowest point, holds the optimum.
Place, distances and depths are drawn from the instance's number.
"""

from __future__ import annotations

import re

import numpy as np
from jaxtyping import Float

from neurobo.bench.problem import Problem, Vector, of_vector
from neurobo.bench.problems.synthetic import LIBRARY
from neurobo.errors import InvalidInput

BUDGET_PER_DIMENSION = 25
SHARPNESS = 2
"""The power of the cosine that makes a well: at half its depth it is a quarter of a period wide."""
BOWL = 4.0
"""The bowl's height at a distance of the whole box, in depths of a well."""
LOW_WAVES = 3.0
HIGH_WAVES = 4.0
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
    """f(x) = Σ aᵢ [BOWL (xᵢ - cᵢ)² + 1 - w(kᵢ (xᵢ - cᵢ))] with wells w(t) = cos²ᵖ(πt).

    No summand is negative and each is 0 at xᵢ = cᵢ only, in the box and outside it.
    """
    rng = np.random.default_rng([dim, instance])
    place = rng.uniform(0.1, 0.9, dim)
    waves = rng.uniform(LOW_WAVES, HIGH_WAVES, dim)
    depth = rng.uniform(1.0, 3.0, dim)

    def function(x: Vector) -> float:
        return float(depth @ _wells(x - place, waves))

    return of_vector(
        f"needles-{dim}-{instance}",
        "narrow wells at equal distances in a shallow bowl",
        function,
        [(0, 1)] * dim,
        best=place.tolist(),
        optimum=0.0,
        budget=BUDGET_PER_DIMENSION * dim,
        source="this package",
        everywhere=True,
    )


def _wells(away: Vector, waves: Vector) -> Float[np.ndarray, " d"]:
    return BOWL * away**2 + 1 - np.cos(np.pi * waves * away) ** (2 * SHARPNESS)


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
