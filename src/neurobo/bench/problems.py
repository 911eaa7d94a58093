"""Benchmark problems with known optima (definitions: Surjanovic & Bingham)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Point = Float[np.ndarray, " d"]


@dataclass(frozen=True)
class Problem:
    """A function to minimise over a box."""

    name: str
    function: Callable[[Point], float]
    bounds: list[tuple[float, float]]
    optimum: float
    """The lowest value."""
    best_point: tuple[float, ...]
    """One point that has it."""
    budget: int
    """Evaluations in the Neural Greedy experiments."""

    @property
    def dim(self) -> int:
        return len(self.bounds)

    def regret(self, value: float) -> float:
        return value - self.optimum


def _branin(x: Point) -> float:
    a, b, c, r, s, t = 1.0, 5.1 / (4 * np.pi**2), 5 / np.pi, 6.0, 10.0, 1 / (8 * np.pi)
    return float(a * (x[1] - b * x[0] ** 2 + c * x[0] - r) ** 2 + s * (1 - t) * np.cos(x[0]) + s)


def _schwefel(x: Point) -> float:
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


def _hartmann6(x: Point) -> float:
    alpha = np.array([1.0, 1.2, 3.0, 3.2])
    return float(-alpha @ np.exp(-np.sum(_HARTMANN_A * (x - _HARTMANN_P) ** 2, axis=1)))


def _styblinski_tang(x: Point) -> float:
    return float(0.5 * np.sum(x**4 - 16 * x**2 + 5 * x))


def _levy(x: Point) -> float:
    w = 1 + (x - 1) / 4
    middle = np.sum((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2))
    last = (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)
    return float(np.sin(np.pi * w[0]) ** 2 + middle + last)


def _ackley(x: Point) -> float:
    bowl = -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
    return float(bowl - np.exp(np.mean(np.cos(2 * np.pi * x))) + 20 + np.e)


def _rosenbrock(x: Point) -> float:
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def _rastrigin(x: Point) -> float:
    return float(10 * len(x) + np.sum(x**2 - 10 * np.cos(2 * np.pi * x)))


_HARTMANN_BEST = (0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730054)
_ST_BEST = -2.9035340277711770
_ST_LOW = -39.16616570377142

PROBLEMS = {
    p.name: p
    for p in (
        Problem("branin-2", _branin, [(-5, 10), (0, 15)], 0.39788735772973816, (np.pi, 2.275), 50),
        Problem("schwefel-3", _schwefel, [(-500, 500)] * 3, 0.0, (420.968746,) * 3, 100),
        Problem("hartmann-6", _hartmann6, [(0, 1)] * 6, -3.322368011415515, _HARTMANN_BEST, 200),
        Problem(
            "styblinski-tang-10",
            _styblinski_tang,
            [(-5, 5)] * 10,
            10 * _ST_LOW,
            (_ST_BEST,) * 10,
            200,
        ),
        Problem("levy-15", _levy, [(-10, 10)] * 15, 0.0, (1.0,) * 15, 200),
        Problem("ackley-20", _ackley, [(-32.768, 32.768)] * 20, 0.0, (0.0,) * 20, 200),
        Problem("rosenbrock-40", _rosenbrock, [(-5, 10)] * 40, 0.0, (1.0,) * 40, 500),
        Problem("rastrigin-100", _rastrigin, [(-5.12, 5.12)] * 100, 0.0, (0.0,) * 100, 1000),
    )
}
