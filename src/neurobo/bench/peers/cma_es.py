"""CMA-ES by its author (`cma`), on the unit cube."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from neurobo.bench.peers.base import Method, Task
from neurobo.bench.peers.plain import WorstSoFar
from neurobo.bench.problem import Evaluation, Vector
from neurobo.errors import require
from neurobo.space.search_space import Params

RESTART_GROWTH = 2
"""A restart has a population larger by this factor, the library's default `incpopsize`."""


class CmaEs:
    """Starts from the best point of the start design; where it has converged, starts anew from a
    random point with a larger population (IPOP)."""

    def __init__(self, task: Task, *, sigma0: float = 0.25, popsize: int | None = None) -> None:
        self._cma: Any = require("cma")
        self._space = task.space
        # The library is not made for one dimension; a second, idle one helps.
        self._dim = max(2, task.space.dim)
        self._sigma0, self._popsize = sigma0, popsize
        self._rng = np.random.default_rng(task.seed)
        self._best: tuple[float, Vector] = (math.inf, np.full(self._dim, 0.5))
        self._value = WorstSoFar()
        self._strategy: Any = None
        self._asked: list[Vector] = []
        self._told: list[float] = []

    def ask(self) -> Params:
        if self._strategy is None:
            self._begin(self._best[1])
        if len(self._told) == len(self._asked):
            self._next_generation()
        point = self._asked[len(self._told)]
        return self._space.decode(2 * point[: self._space.dim] - 1)

    def tell(self, params: Params, outcome: Evaluation) -> None:
        value = self._value(outcome.value)
        if self._strategy is not None:
            self._told.append(value)
        elif outcome.value < self._best[0]:
            x = np.full(self._dim, 0.5)
            x[: self._space.dim] = (self._space.encode([params])[0] + 1) / 2
            self._best = (outcome.value, x)

    def _begin(self, x0: Vector) -> None:
        options = {
            "bounds": [0, 1],
            "verbose": -9,
            "randn": lambda *shape: self._rng.standard_normal(shape),
            "seed": math.nan,  # leaves NumPy's global generator alone
        }
        if self._popsize is not None:
            options["popsize"] = self._popsize
        self._strategy = self._cma.CMAEvolutionStrategy(x0, self._sigma0, options)

    def _next_generation(self) -> None:
        if self._asked:
            self._strategy.tell(self._asked, self._told)
        if self._strategy.stop():
            self._popsize = RESTART_GROWTH * self._strategy.popsize
            self._begin(self._rng.random(self._dim))
        self._asked, self._told = self._strategy.ask(), []


METHODS = (
    Method(
        "cma-es",
        "CMA-ES (pycma) from the best start point, with restarts.",
        CmaEs,
        packages=("cma",),
    ),
)
