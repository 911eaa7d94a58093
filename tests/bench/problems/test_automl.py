from __future__ import annotations

import numpy as np
import pytest

from neurobo.bench.problem import Problem
from neurobo.bench.problems import problem
from neurobo.bench.problems.automl import PROBLEMS
from neurobo.errors import InvalidInput
from neurobo.space.search_space import Params

GOOD: dict[str, tuple[Params, float]] = {
    "forest-diabetes-6": (
        {
            "n_estimators": 40,
            "criterion": "squared_error",
            "max_depth": 6,
            "max_features": 0.4,
            "min_samples_leaf": 4,
            "bootstrap": True,
        },
        0.62,
    ),
    "forest-digits-6": (
        {
            "n_estimators": 80,
            "criterion": "gini",
            "max_depth": None,
            "max_features": 0.12,
            "min_samples_leaf": 1,
            "bootstrap": True,
        },
        0.6,
    ),
    "boosting-cancer-9": (
        {
            "learning_rate": 0.2,
            "subsample": 0.8,
            "max_features": 0.3,
            "min_impurity_decrease": 1e-5,
            "n_estimators": 40,
            "max_depth": 3,
            "min_samples_leaf": 5,
            "max_leaf_nodes": None,
            "loss": "log_loss",
        },
        0.15,
    ),
    "cnn-digits-9": (
        {
            "learning_rate": 0.01,
            "weight_decay": 1e-4,
            "channels": 8,
            "kernel": 3,
            "layers": 2,
            "activation": "relu",
            "pooling": "max",
            "optimiser": "adam",
            "batch_size": 32,
        },
        0.08,
    ),
    "mlp-digits-9": (
        {
            "learning_rate": 0.01,
            "alpha": 1e-4,
            "width": 64,
            "layers": 1,
            "activation": "relu",
            "solver": "adam",
            "batch_size": 32,
            "epochs": 10,
            "scaling": "range",
        },
        0.06,
    ),
}
"""A setting that people would try first, and an error that it should stay below."""


NAMES = [
    pytest.param(name, marks=[pytest.mark.peers] if name.startswith("cnn") else []) for name in GOOD
]
"""Convolutions need torch."""


def value(it: Problem, params: Params, seed: int = 0) -> float:
    return it.evaluate(params, np.random.default_rng(seed)).value


@pytest.mark.parametrize("name", NAMES)
def test_a_sensible_setting_does_well_and_has_one_value(name: str) -> None:
    it, (params, limit) = problem(name), GOOD[name]
    found = value(it, params)
    assert 0 < found < limit
    assert value(it, params, seed=1) == found


@pytest.mark.parametrize("name", NAMES)
def test_settings_matter(name: str) -> None:
    it, (params, _) = problem(name), GOOD[name]
    cheap = {"n_estimators": 5 if name == "forest-diabetes-6" else 10, "epochs": 5, "width": 8}
    poor = params | {n: v for n, v in cheap.items() if n in params}
    poor |= {n: it.space.distributions[n].low for n in ["learning_rate"] if n in params}  # type: ignore[attr-defined]
    assert value(it, poor) > 1.05 * value(it, params)


def test_the_ends_of_the_learning_rates_do_not_diverge() -> None:
    it, (params, _) = problem("mlp-digits-9"), GOOD["mlp-digits-9"]
    wild = {"learning_rate": 0.03, "solver": "sgd", "layers": 3, "scaling": "standard"}
    assert 0 < value(it, params | wild | {"epochs": 5, "batch_size": 128}) < 1


def test_the_mixes_are_those_of_the_paper() -> None:
    free = {it.name: int(it.space.continuous.sum()) for it in PROBLEMS}
    assert free == {
        "forest-diabetes-6": 0, "forest-digits-6": 0, "boosting-cancer-9": 4, "cnn-digits-9": 2,
        "mlp-digits-9": 2,
    }  # fmt: skip
    assert [it.dim for it in PROBLEMS] == [6, 6, 9, 9, 9]
    assert all(it.kinds == {"mixed"} and not it.noisy for it in PROBLEMS)


def test_a_setting_outside_the_space_is_refused() -> None:
    it, (params, _) = problem("forest-diabetes-6"), GOOD["forest-diabetes-6"]
    with pytest.raises(InvalidInput, match="must lie in"):
        value(it, params | {"n_estimators": 7})
    with pytest.raises(InvalidInput, match="every parameter"):
        value(it, {"n_estimators": 5})
