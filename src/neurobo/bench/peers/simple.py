"""The two yardsticks that learn nothing: uniform random points and Sobol points."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from neurobo.bench.peers.base import Method, Task
from neurobo.bench.problem import Evaluation
from neurobo.errors import SpaceExhausted
from neurobo.space.search_space import Params

# A start design comes from the same seed and a small number; its points must not come twice.
_STREAM = 2**31


class Random:
    """Uniform in the encoded space; without repeats where candidates are chosen from a pool."""

    def __init__(self, task: Task) -> None:
        self._space = task.space
        self._rng = np.random.default_rng([task.seed, _STREAM])
        self._told: set[tuple[object, ...]] = set()
        self._queue = None
        if task.pool is not None:
            self._queue = iter(self._rng.permutation(int(task.space.size)))

    def ask(self) -> Params:
        if self._queue is None:
            unit = self._rng.random((1, self._space.n_parameters))
            return self._space.decode(self._space.from_unit(unit)[0])
        for index in self._queue:
            params = self._space.decode(self._space.by_index(np.array([index]))[0])
            if _point(params) not in self._told:
                return params
        raise SpaceExhausted(
            "a candidate of a pool must be evaluated only once, and all "
            f"{self._space.size:.0f} are evaluated"
        )

    def tell(self, params: Params, outcome: Evaluation) -> None:
        self._told.add(_point(params))


class Sobol:
    """A scrambled Sobol sequence."""

    def __init__(self, task: Task) -> None:
        self._space = task.space
        rng = np.random.default_rng([task.seed, _STREAM])
        self._sequence = qmc.Sobol(task.space.n_parameters, rng=rng)

    def ask(self) -> Params:
        unit = np.asarray(self._sequence.random(1))
        return self._space.decode(self._space.from_unit(unit)[0])

    def tell(self, params: Params, outcome: Evaluation) -> None:
        pass


def _point(params: Params) -> tuple[object, ...]:
    return tuple(params.values())


METHODS = (
    Method(
        "random",
        "Uniform random points.",
        Random,
        packages=("numpy",),
        handles=frozenset({"mixed", "constraints", "conditional", "pool", "batch"}),
    ),
    Method(
        "sobol",
        "Points of a scrambled Sobol sequence (SciPy).",
        Sobol,
        packages=("scipy",),
        handles=frozenset({"mixed", "constraints", "conditional", "batch"}),
    ),
)
