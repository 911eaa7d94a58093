"""Nevergrad's NGOpt, which picks one of its optimisers from the space and the budget."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from neurobo.bench.peers.base import Method, Task
from neurobo.bench.peers.plain import Plain, PlainSpace, WorstSoFar
from neurobo.bench.problem import Evaluation
from neurobo.errors import require
from neurobo.space.search_space import Params


class NGOpt:
    def __init__(self, task: Task, *, optimizer: str = "NGOpt") -> None:
        ng: Any = require("nevergrad")
        self._space = PlainSpace(task.space)
        parametrization = ng.p.Dict(**{p.name: _parameter(ng, p) for p in self._space.parameters})
        parametrization.random_state = np.random.RandomState(task.seed)
        self._optimiser = ng.optimizers.registry[optimizer](
            parametrization, budget=max(1, task.budget - task.n_start), num_workers=1
        )
        self._value = WorstSoFar()
        self._asked: Any = None

    def ask(self) -> Params:
        with warnings.catch_warnings():
            # SciPy's COBYLA corrects a tolerance that Nevergrad passes, and says so every time.
            warnings.filterwarnings("ignore", "COBYLA")
            self._asked = self._optimiser.ask()
        return self._space.params(self._asked.value)

    def tell(self, params: Params, outcome: Evaluation) -> None:
        candidate, self._asked = self._asked, None
        if candidate is None:  # of the start design
            numbers = self._space.numbers(params)
            candidate = self._optimiser.parametrization.spawn_child(new_value=numbers)
        self._optimiser.tell(candidate, self._value(outcome.value))


def _parameter(ng: Any, plain: Plain) -> Any:
    if plain.kind == "choice":
        return ng.p.Choice(int(plain.high) + 1)
    kind = ng.p.Log if plain.log else ng.p.Scalar
    parameter = kind(lower=plain.low, upper=plain.high)
    return parameter.set_integer_casting() if plain.kind == "int" else parameter


METHODS = (
    Method(
        "nevergrad-ngopt",
        "Nevergrad's NGOpt, which chooses an optimiser by itself.",
        NGOpt,
        packages=("nevergrad",),
        handles=frozenset({"mixed"}),
    ),
)
