"""Problems with constraints, feasible where every constraint is at most 0.

From the experiments of Neural-CBO, and Gardner's problem with two small islands. The thesis states
no budgets: those here are ours. Its two engineering designs are among `designs`.
"""

from __future__ import annotations

import numpy as np

from neurobo.bench.problem import ValueAndConstraints, Vector, of_vector
from neurobo.bench.problems.synthetic import (
    BRANIN_OPTIMUM,
    HARTMANN_BEST,
    HARTMANN_OPTIMUM,
    ackley,
    branin,
    hartmann6,
)

NEURAL_CBO = "Phan-Trong et al., Neural-CBO (doctoral thesis, Deakin University 2024, chapter 4)"
GARDNER = "Gardner et al. 2014, Bayesian optimization with inequality constraints"


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
)
