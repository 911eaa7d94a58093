"""Problems with constraints, feasible where every constraint is at most 0.

From the experiments of Neural-CBO, and Gardner's problem with two small islands. The thesis states
no budgets: those here are ours.
"""

from __future__ import annotations

import numpy as np

from neurobo.bench.problem import Vector, of_vector
from neurobo.bench.problems.synthetic import (
    BRANIN_OPTIMUM,
    HARTMANN_BEST,
    HARTMANN_OPTIMUM,
    ackley,
    branin,
    hartmann6,
)

ValueAndConstraints = tuple[float, dict[str, float]]

NEURAL_CBO = "Phan-Trong et al., Neural-CBO (doctoral thesis, Deakin University 2024, chapter 4)"
GARDNER = "Gardner et al. 2014, Bayesian optimization with inequality constraints"
DESIGNS = "Kumar et al. 2020, A test-suite of non-convex constrained optimization problems"


def _branin(x: Vector) -> ValueAndConstraints:
    return branin(x), {"disc": (x[0] - 2.5) ** 2 + (x[1] - 7.5) ** 2 - 50}


def _simionescu(x: Vector) -> ValueAndConstraints:
    # atan2 for atan(x1/x2): they differ by multiples of π, which 8 times the angle does not see.
    radius = 1 + 0.2 * np.cos(8 * np.arctan2(x[0], x[1]))
    return 0.1 * x[0] * x[1], {"flower": x[0] ** 2 + x[1] ** 2 - radius**2}


def _ackley(x: Vector) -> ValueAndConstraints:
    ring = 1 - (np.linalg.norm(x - 1) - 5.5) ** 2
    return ackley(x), {"ring": float(ring), "cube": np.abs(x).max() ** 2 - 9}


def _hartmann6(x: Vector) -> ValueAndConstraints:
    return hartmann6(x), {"ball": float(np.linalg.norm(x)) - 1}


def _gardner(x: Vector) -> ValueAndConstraints:
    return float(np.sin(x[0]) + x[1]), {"islands": np.sin(x[0]) * np.sin(x[1]) + 0.95}


def _gas_compressor(x: Vector) -> ValueAndConstraints:
    x1, x2, x3, x4 = x
    cost = (
        8.61e5 * x1**0.5 * x2 * x3 ** (-2 / 3) * x4**-0.5
        + 3.69e4 * x3
        + 7.72e8 * x2**0.219 / x1
        - 765.43e6 / x1
    )
    return cost, {"pressure": (x4 + 1) / x2**2 - 1}


def _speed_reducer(x: Vector) -> ValueAndConstraints:
    """Kumar et al., problem 15.

    The thesis prints -x1/x2 - 12 for the ninth constraint; the original is x1/x2 - 12 (in this box
    both always hold). The third variable counts teeth and is whole in the original; here it varies
    freely, as in the thesis, with the same optimum at its lower bound.
    """
    x1, x2, x3, x4, x5, x6, x7 = x
    weight = (
        0.7854 * x1 * x2**2 * (3.3333 * x3**2 + 14.9334 * x3 - 43.0934)
        + 0.7854 * (x4 * x6**2 + x5 * x7**2)
        - 1.508 * x1 * (x6**2 + x7**2)
        + 7.477 * (x6**3 + x7**3)
    )
    teeth = x2 * x3
    return weight, {
        "bending": 27 - x1 * x2 * teeth,
        "surface": 397.5 - x1 * teeth**2,
        "deflection_1": 1.93 - teeth * x6**4 / x4**3,
        "deflection_2": 1.93 - teeth * x7**4 / x5**3,
        "stress_1": 10 * np.sqrt(16.91e6 + (745 * x4 / teeth) ** 2) / x6**3 - 1100,
        "stress_2": 10 * np.sqrt(157.5e6 + (745 * x5 / teeth) ** 2) / x7**3 - 850,
        "size": teeth - 40,
        "narrow": 5 - x1 / x2,
        "wide": x1 / x2 - 12,
        "shaft_1": 1.5 * x6 - x4 + 1.9,
        "shaft_2": 1.1 * x7 - x5 + 1.9,
    }


PROBLEMS = (
    of_vector(
        "constrained-branin-2",
        "Branin's valleys, within a disc",
        _branin,
        [(-5, 10), (0, 15)],
        constraints=("disc",),
        best=(np.pi, 2.275),
        optimum=BRANIN_OPTIMUM,
        budget=100,
        source=NEURAL_CBO,
    ),
    of_vector(
        "simionescu-2",
        "a saddle within a flower",
        _simionescu,
        [(-1.25, 1.25)] * 2,
        constraints=("flower",),
        best=(0.6 * np.sqrt(2), -0.6 * np.sqrt(2)),
        optimum=-0.072,
        budget=100,
        source=NEURAL_CBO,
    ),
    of_vector(
        "constrained-ackley-5",
        "Ackley's funnel inside and outside a ring",
        _ackley,
        [(-5, 3)] * 5,
        constraints=("ring", "cube"),
        best=(0.0,) * 5,
        optimum=0.0,
        budget=200,
        source=NEURAL_CBO,
    ),
    of_vector(
        "constrained-hartmann-6",
        "Hartmann's dips, within a ball",
        _hartmann6,
        [(0, 1)] * 6,
        constraints=("ball",),
        best=HARTMANN_BEST,
        optimum=HARTMANN_OPTIMUM,
        budget=200,
        source=NEURAL_CBO,
    ),
    # sin(x1) is at least -1 anywhere, x2 at least arcsin(0.95) on the lower island: one point has
    # both. The best value of the other island is 5.39.
    of_vector(
        "gardner-2",
        "a wavy slope, feasible on two islands that are 1.8 % of the box",
        _gardner,
        [(0, 6)] * 2,
        constraints=("islands",),
        best=(1.5 * np.pi, np.arcsin(0.95)),
        optimum=np.arcsin(0.95) - 1,
        budget=60,
        source=GARDNER,
    ),
    # For these two, differential evolution with three seeds led to the same point, in which the
    # bounds and constraints that hold with equality leave a small system to solve exactly.
    of_vector(
        "gas-compressor-4",
        "the cost of a gas transmission compressor",
        _gas_compressor,
        [(20, 50), (1, 10), (20, 50), (0.1, 60)],
        constraints=("pressure",),
        best=(50.0, 1.178283951844929, 24.5925901141352, 0.3883530711753031),
        optimum=2964895.417339161,
        budget=200,
        source=DESIGNS,
    ),
    of_vector(
        "speed-reducer-7",
        "the weight of a speed reducer, where few designs hold",
        _speed_reducer,
        [(2.6, 3.6), (0.7, 0.8), (17, 28), (7.3, 8.3), (7.3, 8.3), (2.9, 3.9), (5, 5.5)],
        constraints=tuple(_speed_reducer(np.ones(7))[1]),
        best=(
            3.5,
            0.7,
            17.0,
            7.3,
            7.715319911478245,
            3.3505409491058917,
            5.286654464980222,
        ),
        optimum=2994.424465756736,
        budget=200,
        source=DESIGNS,
    ),
)
