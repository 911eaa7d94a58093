"""Engineering designs with constraints, feasible where every constraint is at most 0.

The constraints keep the units of their sources: some are shares of a limit, others stresses or
heat flows that span orders of magnitude. All optima are exact to rounding: the constraints and
bounds that hold with equality leave a small system, or a problem of one or two variables.
"""

from __future__ import annotations

import numpy as np

from neurobo.bench.problem import ValueAndConstraints, Vector, of_vector

KUMAR = "Kumar et al. 2020, A test-suite of non-convex constrained optimization problems"
HIMMELBLAU = "Himmelblau 1972, Applied nonlinear programming; problem g04 of CEC 2006"
HOCK = "Hock & Schittkowski 1981, problem 106; problem g10 of CEC 2006"
THANEDAR = "Thanedar & Vanderplaats 1995, Survey of discrete variable optimization"


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


def _scaled_speed_reducer(x: Vector) -> ValueAndConstraints:
    """The same designs are feasible, but violations are another sum: six of the constraints are
    shares of a limit, as in the Neural-CBO authors' program."""
    weight, raw = _speed_reducer(x)
    limits = {"bending": 27.0, "surface": 397.5, "deflection_1": 1.93, "deflection_2": 1.93}
    return weight, {
        **raw,
        **{name: limit / (limit - raw[name]) - 1 for name, limit in limits.items()},
        "shaft_1": raw["shaft_1"] / x[3],
        "shaft_2": raw["shaft_2"] / x[4],
    }


def _tension_spring(x: Vector) -> ValueAndConstraints:
    """Kumar et al., problem 17: wire diameter, coil diameter, number of active coils."""
    wire, coil, turns = x
    stress = (4 * coil**2 - wire * coil) / (12566 * (coil * wire**3 - wire**4))
    return (turns + 2) * coil * wire**2, {
        "deflection": 1 - coil**3 * turns / (71785 * wire**4),
        "stress": stress + 1 / (5108 * wire**2) - 1,
        "surge": 1 - 140.45 * wire / (coil**2 * turns),
        "size": (wire + coil) / 1.5 - 1,
    }


def _three_bar_truss(x: Vector) -> ValueAndConstraints:
    """Kumar et al., problem 20: the cross-sections of the outer bars and of the middle one.

    With the first stress at its limit, x2 = √2 x1 (1 - x1) / (2 x1 - 1), and the volume is lowest
    at x1 = (3 + √3) / 6.
    """
    outer, middle = x
    root = np.sqrt(2)
    shared = root * outer**2 + 2 * outer * middle
    return 100 * (2 * root * outer + middle), {
        "stress_1": 2 * (root * outer + middle) / shared - 2,
        "stress_2": 2 * middle / shared - 2,
        "stress_3": 2 / (outer + root * middle) - 2,
    }


def _himmelblau(x: Vector) -> ValueAndConstraints:
    """Some authors print 0.00026 for 0.0006262, which has another optimum (-31025.56)."""
    x1, x2, x3, x4, x5 = x
    first = 85.334407 + 0.0056858 * x2 * x5 + 0.0006262 * x1 * x4 - 0.0022053 * x3 * x5
    second = 80.51249 + 0.0071317 * x2 * x5 + 0.0029955 * x1 * x2 + 0.0021813 * x3**2
    third = 9.300961 + 0.0047026 * x3 * x5 + 0.0012547 * x1 * x3 + 0.0019085 * x3 * x4
    return 5.3578547 * x3**2 + 0.8356891 * x1 * x5 + 37.293239 * x1 - 40792.141, {
        "first_low": -first,
        "first_high": first - 92,
        "second_low": 90 - second,
        "second_high": second - 110,
        "third_low": 20 - third,
        "third_high": third - 25,
    }


def _heat_exchanger(x: Vector) -> ValueAndConstraints:
    """The areas of three exchangers in a row (x1 to x3), given five temperatures."""
    x1, x2, x3, x4, x5, x6, x7, x8 = x
    return x1 + x2 + x3, {
        "warm_1": 0.0025 * (x4 + x6) - 1,
        "warm_2": 0.0025 * (x5 + x7 - x4) - 1,
        "warm_3": 0.01 * (x8 - x5) - 1,
        "flow_1": 833.33252 * x4 + 100 * x1 - x1 * x6 - 83333.333,
        "flow_2": 1250 * (x5 - x4) + x2 * x4 - x2 * x7,
        "flow_3": 1250000 + x3 * x5 - x3 * x8 - 2500 * x5,
    }


_LOAD, _LENGTH, _ELASTICITY = 50_000, 100, 2e7  # N, cm, N/cm²


def _stepped_cantilever(x: Vector) -> ValueAndConstraints:
    """The volume of a beam of five segments, widths first, from the wall to the loaded end.

    Higher segments are better in every respect, so the optimum has the largest allowed ratio of
    height to width everywhere. Without the limit of the deflection the volume could be 61914.8,
    the value that is often printed.
    """
    width, height = x[:5], x[5:]
    arm = _LENGTH * np.arange(5, 0, -1)
    bent = 4 * np.array([61, 37, 19, 7, 1]) / (width * height**3)
    stress = 6 * _LOAD * arm / (width * height**2) - 14_000
    ratio = height / width - 20
    return float(_LENGTH * width @ height), {
        **{f"stress_{i}": s for i, s in enumerate(stress, start=1)},
        **{f"ratio_{i}": r for i, r in enumerate(ratio, start=1)},
        "deflection": _LOAD * _LENGTH**3 / _ELASTICITY * float(np.sum(bent)) - 2.7,
    }


PROBLEMS = (
    of_vector(
        "gas-compressor-4",
        "the cost of a gas transmission compressor",
        _gas_compressor,
        [(20, 50), (1, 10), (20, 50), (0.1, 60)],
        constraints=("pressure",),
        best=(50.0, 1.178283951844929, 24.5925901141352, 0.3883530711753031),
        optimum=2964895.417339161,
        budget=200,
        source=KUMAR,
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
        source=KUMAR,
    ),
    of_vector(
        "speed-reducer-scaled-7",
        "the same with another box and scaled constraints, as in Neural-CBO's program",
        _scaled_speed_reducer,
        [(2.6, 3.6), (0.7, 0.8), (17, 28), (7.3, 8.3), (7.8, 8.3), (2.9, 3.9), (5, 5.5)],
        constraints=tuple(_speed_reducer(np.ones(7))[1]),
        best=(3.5, 0.7, 17.0, 7.3, 7.8, 3.3505409491058917, 5.286683229757916),
        optimum=2996.3015628901658,
        budget=200,
        source="Phan-Trong 2024, thesis, 4.3.4, by its program; " + KUMAR,
    ),
    of_vector(
        "tension-spring-3",
        "the weight of a spring, with a stress that spans orders of magnitude",
        _tension_spring,
        [(0.05, 2), (0.25, 1.3), (2, 15)],
        constraints=("deflection", "stress", "surge", "size"),
        best=(0.05168906108757111, 0.3567177399151005, 11.288965744832574),
        optimum=0.012665232788319413,
        budget=100,
        source=KUMAR,
    ),
    # The bounds are 0 in the source, where stresses are infinite.
    of_vector(
        "three-bar-truss-2",
        "the volume of three bars that carry a load",
        _three_bar_truss,
        [(0.001, 1)] * 2,
        constraints=("stress_1", "stress_2", "stress_3"),
        best=((3 + np.sqrt(3)) / 6, np.sqrt(6) / 6),
        optimum=100 * (np.sqrt(2) + np.sqrt(6) / 2),
        budget=60,
        source=KUMAR,
    ),
    of_vector(
        "himmelblau-5",
        "Himmelblau's problem: a smooth cost, three quantities kept in their ranges",
        _himmelblau,
        [(78, 102), (33, 45), (27, 45), (27, 45), (27, 45)],
        constraints=tuple(_himmelblau(np.ones(5))[1]),
        best=(78.0, 33.0, 29.99525602568159, 45.0, 36.77581290578821),
        optimum=-30665.53867178332,
        budget=100,
        source=HIMMELBLAU,
    ),
    of_vector(
        "heat-exchanger-8",
        "the area of three heat exchangers; five designs in a million are feasible",
        _heat_exchanger,
        [(100, 10_000), (1000, 10_000), (1000, 10_000), *[(10, 1000)] * 5],
        constraints=tuple(_heat_exchanger(np.ones(8))[1]),
        best=(
            579.306686896657,
            1359.9707171957427,
            5109.970616436265,
            182.0176997875207,
            295.60117534254937,
            217.9823002124793,
            286.4165244449714,
            395.60117534254937,
        ),
        optimum=7049.248020528665,
        budget=200,
        source=HOCK,
    ),
    of_vector(
        "stepped-cantilever-10",
        "the volume of a beam of five segments: stresses, shapes and a deflection",
        _stepped_cantilever,
        [(1, 5)] * 5 + [(30, 65)] * 5,
        constraints=tuple(_stepped_cantilever(np.ones(10))[1]),
        best=(
            3.0577283042703187,
            2.813266501070027,
            2.5235862986099606,
            2.204555691541846,
            1.7497570119380037,
            61.15456608540637,
            56.26533002140054,
            50.471725972199216,
            44.09111383083692,
            34.99514023876007,
        ),
        optimum=63108.74798649261,
        budget=200,
        source=THANEDAR,
    ),
)
