"""Tuning tasks of YAHPO Gym: networks fitted to measured tuning runs of real learning machines.

`yahpo-rbv2_xgboost-1053` is the task 1053 of the scenario rbv2_xgboost. The data are not part of
this package: the environment variable NEUROBO_YAHPO (or `neurobo bench run --data`) names a folder
with a subfolder for each scenario (`config_space.json`, `encoding.json`, `model.onnx`) and
`global_statistics/instance_target_statistics.csv`, as in https://github.com/slds-lmu/yahpo_data.

A problem's value is the normalised regret: the highest published accuracy of the task minus the
accuracy of a setting, divided by the published range. The setting is evaluated at full fidelity:
all epochs, or all data and ten repetitions. A network can exceed the published maximum slightly:
the value is then below 0.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from neurobo.bench.problem import Problem, of_function
from neurobo.errors import InvalidInput, check_choice, require
from neurobo.space.conditions import Conditional, When
from neurobo.space.distributions import categorical, float_range, int_range
from neurobo.space.search_space import Params

DATA = "NEUROBO_YAHPO"
"""Environment variable: the folder with the data."""
PREFIX = "yahpo-"
SOURCE = "Pfisterer et al. 2022, YAHPO Gym: an efficient multi-objective multi-fidelity benchmark"
BUDGET = 100


@dataclass(frozen=True)
class Scenario:
    """The inputs and outputs of a network in its own order, and the tasks that are used."""

    summary: str
    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    """The first names the task."""
    outputs: tuple[str, ...]
    measure: str
    """The accuracy among the outputs."""
    fidelity: Mapping[str, float]
    """The numbers that are fixed."""
    tuning: tuple[str, ...]
    """Tasks that settings may be chosen on."""
    report: tuple[str, ...]
    """Tasks that are reported. All others stay unseen."""


_RBV2_OUTPUTS = (
    "acc", "bac", "auc", "brier", "f1", "logloss", "timetrain", "timepredict", "memory",
)  # fmt: skip
_RBV2_FIDELITY = {"trainsize": 1.0, "repl": 10.0}
SCENARIOS = {
    "lcbench": Scenario(
        "a multilayer perceptron",
        numbers=(
            "epoch", "batch_size", "learning_rate", "momentum", "weight_decay", "num_layers",
            "max_units", "max_dropout",
        ),
        categories=("OpenML_task_id",),
        outputs=(
            "time", "val_accuracy", "val_cross_entropy", "val_balanced_accuracy",
            "test_cross_entropy", "test_balanced_accuracy",
        ),
        measure="val_accuracy",
        fidelity={"epoch": 52.0},
        tuning=("3945", "7593", "34539", "126025"),
        report=("146212", "167104", "167149", "167152", "167161", "167181"),
    ),
    "rbv2_xgboost": Scenario(
        "gradient boosting, whose settings depend on the booster",
        numbers=(
            "nrounds", "eta", "gamma", "lambda", "alpha", "subsample", "max_depth",
            "min_child_weight", "colsample_bytree", "colsample_bylevel", "rate_drop", "skip_drop",
            "trainsize", "repl",
        ),
        categories=("task_id", "booster", "num.impute.selected.cpo"),
        outputs=_RBV2_OUTPUTS,
        measure="acc",
        fidelity=_RBV2_FIDELITY,
        tuning=("1040", "1049", "1050"),
        report=("1053", "1063", "1111", "1220", "14", "15"),
    ),
    "rbv2_rpart": Scenario(
        "a decision tree",
        numbers=("cp", "maxdepth", "minbucket", "minsplit", "trainsize", "repl"),
        categories=("task_id", "num.impute.selected.cpo"),
        outputs=_RBV2_OUTPUTS,
        measure="acc",
        fidelity=_RBV2_FIDELITY,
        tuning=(),
        report=("1040", "1053", "1063", "1111"),
    ),
}  # fmt: skip
TUNING, REPORT = (
    tuple(f"{PREFIX}{name}-{task}" for name, s in SCENARIOS.items() for task in getattr(s, which))
    for which in ("tuning", "report")
)


def parse(name: str) -> tuple[str, str] | None:
    """Scenario and task, or None for any other problem's name."""
    if not name.startswith(PREFIX):
        return None
    scenario, _, task = name.removeprefix(PREFIX).partition("-")
    check_choice("a scenario of YAHPO", scenario, SCENARIOS)
    check_choice(
        f"a task of {scenario}", task, SCENARIOS[scenario].tuning + SCENARIOS[scenario].report
    )
    return scenario, task


def yahpo(scenario: str, task: str) -> Problem:
    about, folder = SCENARIOS[scenario], _folder(scenario)
    config = json.loads((folder / scenario / "config_space.json").read_text())
    free = [
        parameter
        for parameter in config["hyperparameters"]
        if parameter["name"] not in {about.categories[0], *about.fidelity}
    ]
    when = _when(config["conditions"])
    space = {parameter["name"]: _distribution(parameter) for parameter in free}
    low, high = _range(folder, scenario, task, about.measure)

    def regret(params: Params) -> float:
        return (high - _measure(folder, scenario, task, params)) / (high - low)

    return of_function(
        f"{PREFIX}{scenario}-{task}",
        f"{about.summary}: normalised regret of the accuracy on task {task}",
        regret,
        {n: Conditional(d, when[n]) if n in when else d for n, d in space.items()},
        budget=BUDGET,
        source=SOURCE,
    )


def _folder(scenario: str) -> Path:
    named = os.environ.get(DATA)
    if not named:
        raise InvalidInput(
            f"--data or the environment variable {DATA} must name the folder with the data of "
            "YAHPO Gym (https://github.com/slds-lmu/yahpo_data), got none"
        )
    folder = Path(named)
    if not (folder / scenario / "config_space.json").is_file():
        raise InvalidInput(
            f"the folder of YAHPO Gym's data must have {scenario}/config_space.json, got {named!r}"
        )
    return folder


def _distribution(parameter: Mapping[str, Any]) -> Any:
    kind = parameter["type"]
    if kind == "categorical":
        return categorical(parameter["choices"])
    of: dict[str, Any] = {"uniform_float": float_range, "uniform_int": int_range}
    check_choice("the type of a parameter of YAHPO Gym", kind, of)
    return of[kind](parameter["lower"], parameter["upper"], log=parameter["log"])


def _when(conditions: list[dict[str, Any]]) -> Mapping[str, When]:
    found: dict[str, dict[str, list[Any]]] = {}
    for one in conditions:
        check_choice("the type of a condition of YAHPO Gym", one["type"], ("EQ", "IN"))
        values = one["values"] if one["type"] == "IN" else [one["value"]]
        found.setdefault(one["child"], {})[one["parent"]] = values
    return found


def _range(folder: Path, scenario: str, task: str, measure: str) -> tuple[float, float]:
    """The published lowest and highest value of a measure."""
    path = folder / "global_statistics" / "instance_target_statistics.csv"
    with path.open(newline="") as file:
        found = {
            row["statistic"]: float(row["value"])
            for row in csv.DictReader(file)
            if (row["scenario"], row["instance"], row["metric"]) == (scenario, task, measure)
        }
    if not {"min", "max"} <= found.keys():
        raise InvalidInput(f"{path} must have min and max of {measure} of {scenario} {task}")
    return found["min"], found["max"]


def _measure(folder: Path, scenario: str, task: str, params: Params) -> float:
    """The network's accuracy for a setting; inactive parameters have the code or number 0."""
    about, (session, codes) = SCENARIOS[scenario], _network(folder / scenario)
    given = {**params, **about.fidelity, about.categories[0]: task}
    categories = [codes[name][given[name]] if name in given else 0 for name in about.categories]
    numbers = [given.get(name, 0.0) for name in about.numbers]
    inputs = {"x_cat": np.array([categories], np.int32), "x_cont": np.array([numbers], np.float32)}
    (outputs,) = session.run(None, inputs)
    return float(outputs[0, about.outputs.index(about.measure)])


@cache
def _network(folder: Path) -> tuple[Any, dict[str, dict[str, int]]]:
    """The network on one thread, and the codes of its categories."""
    onnx = require("onnxruntime")
    options = onnx.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    path = str(folder / "model.onnx")
    session = onnx.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session, json.loads((folder / "encoding.json").read_text())
