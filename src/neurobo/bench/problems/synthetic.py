"""Synthetic functions with known optima (definitions: Surjanovic & Bingham)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from neurobo.bench.problem import Problem, Vector, of_vector

LIBRARY = "Surjanovic & Bingham, Virtual Library of Simulation Experiments"


def branin(x: Vector) -> float:
    a, b, c, r, s, t = 1.0, 5.1 / (4 * np.pi**2), 5 / np.pi, 6.0, 10.0, 1 / (8 * np.pi)
    return float(a * (x[1] - b * x[0] ** 2 + c * x[0] - r) ** 2 + s * (1 - t) * np.cos(x[0]) + s)


def schwefel(x: Vector) -> float:
    return float(418.9828872724338 * len(x) - np.sum(x * np.sin(np.sqrt(np.abs(x)))))


_HARTMANN_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann6(x: Vector) -> float:
    alpha = np.array([1.0, 1.2, 3.0, 3.2])
    return float(-alpha @ np.exp(-np.sum(_HARTMANN_A * (x - _HARTMANN_P) ** 2, axis=1)))


def styblinski_tang(x: Vector) -> float:
    return float(0.5 * np.sum(x**4 - 16 * x**2 + 5 * x))


def levy(x: Vector) -> float:
    w = 1 + (x - 1) / 4
    middle = np.sum((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2))
    last = (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)
    return float(np.sin(np.pi * w[0]) ** 2 + middle + last)


def ackley(x: Vector) -> float:
    bowl = -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
    return float(bowl - np.exp(np.mean(np.cos(2 * np.pi * x))) + 20 + np.e)


def rosenbrock(x: Vector) -> float:
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def rastrigin(x: Vector) -> float:
    return float(10 * len(x) + np.sum(x**2 - 10 * np.cos(2 * np.pi * x)))


def sphere(x: Vector) -> float:
    return float(np.sum(x**2))


def michalewicz(x: Vector) -> float:
    i = np.arange(1, len(x) + 1)
    return float(-np.sum(np.sin(x) * np.sin(i * x**2 / np.pi) ** 20))


def michalewicz_best(dim: int) -> Vector:
    """The lowest point of each summand, found on its own: the function is separable.

    The summand -sin(x) sin²⁰(i x²/π) has one dip near each x² = π² (k + ½)/i, and the deepest
    is one of the two about π/2, where sin(x) is largest. Newton's method on the logarithm.
    """
    i = np.arange(1, dim + 1)[:, None]
    k = np.maximum(np.floor(i / 4 - 0.5) + np.arange(2), 0)
    x = np.pi * np.sqrt((k + 0.5) / i)
    for _ in range(20):
        angle, rate = i * x**2 / np.pi, 2 * i * x / np.pi
        slope = 1 / np.tan(x) + 20 * rate / np.tan(angle)
        bend = 40 * i / np.pi / np.tan(angle) - 20 * (rate / np.sin(angle)) ** 2
        x = x - slope / (bend - 1 / np.sin(x) ** 2)
    depth = np.sin(x) * np.sin(i * x**2 / np.pi) ** 20
    return np.asarray(x[np.arange(dim), depth.argmax(axis=1)])


BRANIN_OPTIMUM = 0.39788735772973816
HARTMANN_OPTIMUM = -3.322368011415515
HARTMANN_BEST = (
    0.20168951100670543,
    0.15001069182345797,
    0.47687397422189703,
    0.2753324304940561,
    0.31165161660011326,
    0.6573005340656204,
)
_SCHWEFEL_BEST = 420.9687463599821
_ST_BEST = -2.903534027771177
_ST_LOW = -39.16616570377142


def _of(
    name: str,
    summary: str,
    function: Callable[[Vector], float],
    side: tuple[float, float],
    *,
    best: Sequence[float],
    optimum: float,
    budget: int,
    everywhere: bool = True,
) -> Problem:
    """A problem with the same range for every coordinate."""
    return of_vector(
        f"{name}-{len(best)}",
        summary,
        function,
        [side] * len(best),
        best=best,
        optimum=optimum,
        budget=budget,
        source=LIBRARY,
        everywhere=everywhere,
    )


def _make_branin_2() -> Problem:
    # Over the whole plane nothing is lower: the square vanishes and the cosine is -1.
    return of_vector(
        "branin-2",
        "three equal valleys along a parabola",
        branin,
        [(-5, 10), (0, 15)],
        best=(np.pi, 2.275),
        optimum=BRANIN_OPTIMUM,
        budget=50,
        source=LIBRARY,
        everywhere=True,
    )


def _make_schwefel_3() -> Problem:
    summary = "deep far-apart valleys, the best one near a corner"
    side, best = (-500, 500), (_SCHWEFEL_BEST,) * 3
    # Outside the box the waves grow without end.
    return _of(
        "schwefel", summary, schwefel, side, best=best, optimum=0, budget=100, everywhere=False
    )


def _make_hartmann_6() -> Problem:
    # Where the slope vanishes, each coordinate is a weighted mean of the four centres, so all
    # valleys lie inside the box.
    summary = "four overlapping dips in a plain"
    return _of(
        "hartmann",
        summary,
        hartmann6,
        (0, 1),
        best=HARTMANN_BEST,
        optimum=HARTMANN_OPTIMUM,
        budget=200,
    )


def make_styblinski_tang(dim: int, budget: int) -> Problem:
    best, low = (_ST_BEST,) * dim, _ST_LOW * dim
    summary = "two valleys along every axis, one deeper"
    return _of(
        "styblinski-tang", summary, styblinski_tang, (-5, 5), best=best, optimum=low, budget=budget
    )


def make_levy(dim: int, budget: int) -> Problem:
    summary, best = "a bowl with waves", (1.0,) * dim
    return _of("levy", summary, levy, (-10, 10), best=best, optimum=0, budget=budget)


def make_ackley(dim: int, budget: int) -> Problem:
    summary, best, side = "a funnel full of regular dips", (0.0,) * dim, (-32.768, 32.768)
    return _of("ackley", summary, ackley, side, best=best, optimum=0, budget=budget)


def make_rosenbrock(dim: int, budget: int) -> Problem:
    summary, best = "a long curved valley with an almost flat floor", (1.0,) * dim
    return _of("rosenbrock", summary, rosenbrock, (-5, 10), best=best, optimum=0, budget=budget)


def make_rastrigin(dim: int, budget: int) -> Problem:
    summary, best, side = "a bowl full of regular dips", (0.0,) * dim, (-5.12, 5.12)
    return _of("rastrigin", summary, rastrigin, side, best=best, optimum=0, budget=budget)


def make_sphere(dim: int, budget: int) -> Problem:
    summary, best, side = "a round bowl, for checks", (0.0,) * dim, (-5.12, 5.12)
    return _of("sphere", summary, sphere, side, best=best, optimum=0, budget=budget)


def make_michalewicz(dim: int, budget: int) -> Problem:
    best = michalewicz_best(dim)
    # Outside the box a summand can come closer to -1.
    return _of(
        "michalewicz",
        "a plain cut by narrow ditches along every axis",
        michalewicz,
        (0, np.pi),
        best=best.tolist(),
        optimum=michalewicz(best),
        budget=budget,
        everywhere=False,
    )


def gp_powers(length: float) -> Float[np.ndarray, " waves"]:
    """The variances of the waves cos(πkx) and sin(πkx) in a Gaussian process on [0, 1] with the
    kernel exp(-r²/2ℓ²).

    The series has period 2. Its kernel is the wanted one plus copies at a distance of 2, which
    add at most e⁻⁵⁰ for ℓ = 0.1. With no matrix to factor, a draw is the same on every machine.
    """
    k = np.arange(41)
    power = length * np.sqrt(2 * np.pi) * np.exp(-((np.pi * k * length) ** 2) / 2)
    power[0] /= 2
    return power


def gp_curve(seed: int) -> tuple[Float[np.ndarray, " grid"], Float[np.ndarray, " grid"]]:
    """A draw from that process with ℓ = 0.1: a grid of [0, 1] and the values there."""
    grid, sd, rng = np.linspace(0, 1, 1000), np.sqrt(gp_powers(0.1)), np.random.default_rng(seed)
    angle = np.pi * np.outer(grid, np.arange(len(sd)))
    a, b = sd * rng.normal(size=(2, len(sd)))
    return grid, np.cos(angle) @ a + np.sin(angle) @ b


def _make_gp_draw_1() -> Problem:
    grid, values = gp_curve(1)
    return of_vector(
        "gp-draw-1",
        "a smooth random curve",
        lambda x: float(np.interp(x[0], grid, values)),
        [(0, 1)],
        best=[float(grid[values.argmin()])],
        optimum=float(values.min()),
        budget=50,
        source="Dai et al. 2022, Sample-Then-Optimize Batch Neural Thompson Sampling, figure 1",
    )


PROBLEMS = (
    # Neural Greedy, with its budgets
    _make_branin_2(),
    _make_schwefel_3(),
    _make_hartmann_6(),
    make_styblinski_tang(10, 200),
    make_levy(15, 200),
    make_ackley(20, 200),
    make_rosenbrock(40, 500),
    make_rastrigin(100, 1000),
    # Neural-BO; its Ackley-20 is the one above
    make_ackley(10, 2000),
    make_ackley(50, 2000),
    make_ackley(100, 2000),
    make_levy(10, 2000),
    make_levy(20, 2000),
    make_levy(50, 2000),
    make_levy(100, 2000),
    make_michalewicz(10, 2000),
    make_michalewicz(20, 2000),
    make_michalewicz(50, 2000),
    make_michalewicz(100, 2000),
    # small ones for checks and pictures
    make_sphere(5, 100),
    make_rosenbrock(5, 100),
    make_ackley(5, 100),
    _make_gp_draw_1(),
)
