"""Problems whose parameters exist only for some values of others.

A synthetic tree with a known optimum, and two tuning tasks on data of scikit-learn: the choice of
a classifier with its own settings, and a network whose depth says how many widths it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from neurobo.bench.problem import of_function
from neurobo.bench.problems.automl import IMAGES, Inputs, log_loss, tuning
from neurobo.errors import require
from neurobo.space.conditions import Conditional
from neurobo.space.distributions import categorical, float_range, int_range
from neurobo.space.search_space import Params

LEVELS = 6
_GAIN = (0.10, 0.20, 0.05, 0.25, -0.10, -0.15)
"""What each level of the tree is worth where its number is right."""
_FIRST, _TURN, _STEEP = 0.3, 0.8, 2.0
_LEAF_FROM = 3
_WAVY_GAIN, _FLAT_GAIN, _PHASE = 0.15, 0.05, 0.7
WIDTHS = 4
"""Hidden layers that a network may have."""


def tree(p: Params) -> float:
    """Levels 1 to `depth` have a number each, whose best value depends on the level before.

    Each level changes the value by its gain and adds the squared distance of its number from the
    best one. From level 3 on there is a leaf, too: a flat one has no parameter, a wavy one has a
    phase and is better at some phases. Going deep pays off only if all numbers are right.
    """
    value, target = 1.0, _FIRST
    for level in range(1, p["depth"] + 1):
        number = p[f"number_{level}"]
        value += _STEEP * (number - target) ** 2 - _GAIN[level - 1]
        target = 1 - _TURN * number
    if "phase" in p:
        return value - _WAVY_GAIN * np.cos(2 * np.pi * (p["phase"] - _PHASE))
    return value - _FLAT_GAIN if "leaf" in p else value


def _tree_best() -> Params:
    best: Params = {"depth": 4}
    target = _FIRST
    for level in range(1, best["depth"] + 1):
        best[f"number_{level}"] = target
        target = 1 - _TURN * target
    return {**best, "leaf": "wavy", "phase": _PHASE}


_MODELS: dict[str, Callable[..., Any]] = {
    "logistic": lambda **own: require("sklearn.linear_model").LogisticRegression(**own),
    "neighbours": lambda **own: require("sklearn.neighbors").KNeighborsClassifier(**own),
    "discriminant": lambda **own: require(
        "sklearn.discriminant_analysis"
    ).LinearDiscriminantAnalysis(solver="lsqr", **own),
    "forest": lambda **own: require("sklearn.ensemble").RandomForestClassifier(
        **own, n_jobs=1, random_state=0
    ),
    "boosting": lambda **own: require("sklearn.ensemble").GradientBoostingClassifier(
        **own, random_state=0
    ),
}
"""Their settings bear the model's name: `forest.max_features`."""


def _choice(p: Params) -> float:
    """With a hundredth of all chances even, so that a sure mistake costs 5, not infinity."""
    own = {name.partition(".")[2]: value for name, value in p.items() if "." in name}

    def chances(train: Inputs, targets: np.ndarray, test: Inputs) -> Float[np.ndarray, "m classes"]:
        mean, sd = train.mean(axis=0), train.std(axis=0)
        model = _MODELS[p["model"]](**own).fit((train - mean) / sd, targets)
        return 0.99 * np.asarray(model.predict_proba((test - mean) / sd)) + 0.005

    return log_loss("breast_cancer", chances)


def _layered_network(p: Params) -> float:
    def chances(train: Inputs, targets: np.ndarray, test: Inputs) -> Float[np.ndarray, "m classes"]:
        model = require("sklearn.neural_network").MLPClassifier(
            tuple(p[f"width_{i}"] for i in range(1, p["layers"] + 1)),
            activation=p["activation"],
            learning_rate_init=p["learning_rate"],
            alpha=p["alpha"],
            batch_size=64,
            random_state=0,
        )
        for _ in range(12):  # `fit` would warn that so few epochs do not converge
            model.partial_fit(train / 16, targets, classes=range(10))
        return np.asarray(model.predict_proba(test / 16))

    return log_loss("digits", chances)


def _from(level: int, last: int) -> list[int]:
    return list(range(level, last + 1))


_SETTINGS = {
    "logistic.C": float_range(1e-4, 100.0, log=True),
    "neighbours.n_neighbors": int_range(1, 100, log=True),
    "neighbours.weights": categorical(["uniform", "distance"]),
    "neighbours.p": float_range(1.0, 4.0),
    "discriminant.shrinkage": float_range(1e-4, 1.0, log=True),
    "forest.n_estimators": int_range(10, 80, log=True),
    "forest.max_features": float_range(0.05, 1.0, log=True),
    "forest.min_samples_leaf": int_range(1, 20, log=True),
    "boosting.n_estimators": int_range(10, 80, log=True),
    "boosting.learning_rate": float_range(0.01, 1.0, log=True),
    "boosting.max_depth": int_range(1, 5),
    "boosting.subsample": float_range(0.3, 1.0),
    "boosting.max_features": float_range(0.05, 1.0),
}

PROBLEMS = (
    of_function(
        "conditional-tree-9",
        "an integer decides how many numbers there are; deeper levels have a leaf of two kinds",
        tree,
        {
            "depth": int_range(1, LEVELS),
            "number_1": float_range(0.0, 1.0),
            **{
                f"number_{i}": Conditional(float_range(0.0, 1.0), {"depth": _from(i, LEVELS)})
                for i in range(2, LEVELS + 1)
            },
            "leaf": Conditional(
                categorical(["flat", "wavy"]), {"depth": _from(_LEAF_FROM, LEVELS)}
            ),
            "phase": Conditional(float_range(0.0, 1.0), {"leaf": ["wavy"]}),
        },
        best=_tree_best(),
        optimum=1 - sum(_GAIN[:4]) - _WAVY_GAIN,
        budget=80,
        source="this package",
    ),
    tuning(
        "model-choice-cancer-14",
        "a classifier and its own settings on the breast cancer data: cross-validated log-loss",
        _choice,
        {
            "model": categorical(list(_MODELS)),
            **{
                name: Conditional(setting, {"model": [name.partition(".")[0]]})
                for name, setting in _SETTINGS.items()
            },
        },
        budget=60,
        source="this package",
    ),
    tuning(
        "layers-digits-8",
        f"a network with a width for each layer on {IMAGES} images of digits: "
        "cross-validated log-loss",
        _layered_network,
        {
            "layers": int_range(1, WIDTHS),
            "width_1": int_range(4, 64, log=True),
            **{
                f"width_{i}": Conditional(int_range(4, 64, log=True), {"layers": _from(i, WIDTHS)})
                for i in range(2, WIDTHS + 1)
            },
            "learning_rate": float_range(1e-4, 0.03, log=True),
            "alpha": float_range(1e-6, 1.0, log=True),
            "activation": categorical(["relu", "tanh", "logistic"]),
        },
        budget=60,
        source="this package",
    ),
)
