"""SMAC3 with its random forest: the facade it recommends for hyper-parameters."""

from __future__ import annotations

import logging
import math
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neurobo.bench.peers.base import Method, Task
from neurobo.bench.peers.plain import Plain, PlainSpace, WorstSoFar
from neurobo.bench.problem import Evaluation
from neurobo.errors import require
from neurobo.space.conditions import When
from neurobo.space.search_space import Params

SEED_OF_A_DETERMINISTIC_TRIAL = 0
"""SMAC passes a seed to the function; points told unasked must have the one it uses itself."""


class Smac:
    """`HyperparameterOptimizationFacade` with our start design in place of its own."""

    def __init__(self, task: Task, *, retrain_after: int = 8) -> None:
        smac, configspace = require("smac"), require("ConfigSpace")
        self._trials: Any = require("smac.runhistory.dataclasses")
        self._status: Any = require("smac.runhistory.enumerations").StatusType
        self._space = PlainSpace(task.space)
        self._configspace = configspace.ConfigurationSpace()
        self._configspace.add([_parameter(configspace, p) for p in self._space.parameters])
        when = task.space.conditions.when
        self._configspace.add(_conditions(configspace, self._configspace, self._space, when))
        self._configuration: Any = configspace.Configuration
        # SMAC writes what it does; the folder goes with this object.
        folder = Path(tempfile.mkdtemp(prefix="neurobo-smac-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        scenario = smac.Scenario(
            self._configspace,
            deterministic=True,
            n_trials=task.budget,
            seed=task.seed,
            output_directory=folder,
        )
        facade = smac.HyperparameterOptimizationFacade
        with _quiet():
            self._smac = facade(
                scenario,
                initial_design=facade.get_initial_design(scenario, n_configs=0),
                config_selector=facade.get_config_selector(scenario, retrain_after=retrain_after),
                logging_level=False,
                overwrite=True,
            )
        self._value = WorstSoFar()
        self._asked: Any = None

    def ask(self) -> Params:
        with _quiet():
            self._asked = self._smac.ask()
        return self._space.params(dict(self._asked.config))

    def tell(self, params: Params, outcome: Evaluation) -> None:
        trial, self._asked = self._asked, None
        if trial is None:  # of the start design
            config = self._configuration(self._configspace, values=self._space.numbers(params))
            trial = self._trials.TrialInfo(config, seed=SEED_OF_A_DETERMINISTIC_TRIAL)
        failed = not math.isfinite(outcome.value)
        # An infinite cost, SMAC's default for a crash, would spoil the scale of all others.
        value = self._trials.TrialValue(
            cost=self._value(outcome.value),
            status=self._status.CRASHED if failed else self._status.SUCCESS,
        )
        with _quiet():
            self._smac.tell(trial, value, save=False)


def _parameter(configspace: Any, plain: Plain) -> Any:
    if plain.kind == "choice":
        return configspace.CategoricalHyperparameter(plain.name, list(range(int(plain.high) + 1)))
    kind = {
        "float": configspace.UniformFloatHyperparameter,
        "int": configspace.UniformIntegerHyperparameter,
    }[plain.kind]
    return kind(plain.name, plain.low, plain.high, log=plain.log)


def _conditions(
    module: Any, configspace: Any, space: PlainSpace, when: Mapping[str, When]
) -> list[Any]:
    plain = {p.name: p for p in space.parameters}
    found = []
    for child, parents in when.items():
        each = [
            module.InCondition(
                configspace[child], configspace[parent], [plain[parent].number(v) for v in values]
            )
            for parent, values in parents.items()
        ]
        found.append(each[0] if len(each) == 1 else module.AndConjunction(*each))
    return found


@contextmanager
def _quiet() -> Iterator[None]:
    """Without SMAC's lines about its initial design and random fill-ins, and without a warning
    about the mean of no times, which its local search takes for a log entry."""
    logger = logging.getLogger("smac")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning)
            warnings.filterwarnings("ignore", "invalid value encountered", RuntimeWarning)
            yield
    finally:
        logger.setLevel(before)


METHODS = (
    Method(
        "smac-forest",
        "SMAC3 with a random forest (its facade for hyper-parameters).",
        Smac,
        packages=("smac", "ConfigSpace", "scikit-learn"),
        handles=frozenset({"mixed", "conditional"}),
    ),
)
