"""Hyper-parameters of learning machines on small real data, as in the STO-BNTS experiments.

The data come with scikit-learn, since MNIST and the Pima diabetes set would have to be fetched.
Folds and the models' seeds are fixed, so that a setting has one value. The models and data are kept
small enough for an evaluation to take about half a second on one core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from neurobo.bench.problem import Problem, of_function
from neurobo.errors import require
from neurobo.space.distributions import categorical, float_range
from neurobo.space.search_space import Params, SpaceLike
from neurobo.training.blas_threads import one_blas_thread

FOLDS = 3
CNN_EPOCHS = 8
IMAGES = 900
"""How many of the 1797 digits models are tuned on."""
SOURCE = "after Dai et al. 2022, Sample-Then-Optimize Batch Neural Thompson Sampling, 5.2"

Inputs = Float[np.ndarray, "n d"]
Chances = Callable[[Inputs, np.ndarray, Inputs], Float[np.ndarray, "m classes"]]
"""Fits to inputs and their classes; the chances of every class for other inputs."""
Fold = tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]


@cache
def _data(name: str) -> tuple[Float[np.ndarray, "n d"], np.ndarray]:
    inputs, targets = getattr(require("sklearn.datasets"), f"load_{name}")(return_X_y=True)
    return inputs, targets


def _folds(targets: np.ndarray, *, classes: bool = True) -> Iterator[Fold]:
    selection = require("sklearn.model_selection")
    kind = selection.StratifiedKFold if classes else selection.KFold
    return kind(FOLDS, shuffle=True, random_state=0).split(targets, targets)


def _forest(p: Params) -> float:
    """The share of the variance that predictions leave over: 1 - R²."""
    inputs, targets = _data("diabetes")
    predicted = np.empty_like(targets)
    for train, test in _folds(targets, classes=False):
        model = require("sklearn.ensemble").RandomForestRegressor(**p, n_jobs=1, random_state=0)
        predicted[test] = model.fit(inputs[train], targets[train]).predict(inputs[test])
    return float(np.mean((targets - predicted) ** 2) / np.var(targets))


def log_loss(data: str, chances: Chances) -> float:
    """The mean log-loss of telling classes apart, cross-validated; of the digits not all images."""
    inputs, targets = _data(data)
    inputs, targets = inputs[:IMAGES], targets[:IMAGES]
    found = np.empty((len(targets), targets.max() + 1))
    for train, test in _folds(targets):
        found[test] = chances(inputs[train], targets[train], inputs[test])
    return float(require("sklearn.metrics").log_loss(targets, found))


def _fitted(model: Any) -> Chances:
    return lambda train, targets, test: model.fit(train, targets).predict_proba(test)


def _reading_forest(p: Params) -> float:
    forest = require("sklearn.ensemble").RandomForestClassifier
    return log_loss("digits", _fitted(forest(**p, n_jobs=1, random_state=0)))


def _boosting(p: Params) -> float:
    """The log-loss is far finer than counting the few errors among 569 patients."""
    boosting = require("sklearn.ensemble").GradientBoostingClassifier
    return log_loss("breast_cancer", _fitted(boosting(**p, random_state=0)))


def _network(p: Params) -> float:
    """The share of images that are misread."""
    inputs, targets = (values[:IMAGES] for values in _data("digits"))
    wrong = 0
    for train, test in _folds(targets):
        low, size = np.zeros(inputs.shape[1]), np.full(inputs.shape[1], 16.0)
        if p["scaling"] == "standard":  # some border pixels are 0 in every image
            low, size = inputs[train].mean(0), inputs[train].std(0) + 1e-3
        model = require("sklearn.neural_network").MLPClassifier(
            (p["width"],) * p["layers"],
            activation=p["activation"],
            solver=p["solver"],
            batch_size=p["batch_size"],
            learning_rate_init=p["learning_rate"],
            alpha=p["alpha"],
            random_state=0,
        )
        for _ in range(p["epochs"]):  # `fit` would warn that so few epochs do not converge
            model.partial_fit((inputs[train] - low) / size, targets[train], classes=range(10))
        wrong += int(np.sum(model.predict((inputs[test] - low) / size) != targets[test]))
    return wrong / len(targets)


def _convolutional(p: Params) -> float:
    """The share of images that are misread."""
    inputs, targets = (values[:IMAGES] for values in _data("digits"))
    wrong = 0
    for train, test in _folds(targets):
        read = convolutional_reader(p, inputs[train] / 16, targets[train])
        wrong += int(np.sum(read(inputs[test] / 16) != targets[test]))
    return wrong / len(targets)


def convolutional_reader(
    p: Params, inputs: Inputs, targets: Int[np.ndarray, " n"]
) -> Callable[[Inputs], Int[np.ndarray, " m"]]:
    """A trained network of convolutions and one linear layer; all chance has a seed of its own."""
    torch = require("torch")
    nn = torch.nn
    activation = {"relu": nn.ReLU, "tanh": nn.Tanh, "elu": nn.ELU}[p["activation"]]
    pooling = {"max": nn.MaxPool2d, "mean": nn.AvgPool2d}[p["pooling"]]
    optimiser = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop, "sgd": torch.optim.SGD}
    parts, channels = [], 1
    for _ in range(p["layers"]):  # each halves the image: 8, 4, 2 pixels a side
        conv = nn.Conv2d(channels, p["channels"], p["kernel"], padding="same")
        parts += [conv, activation(), pooling(2)]
        channels = p["channels"]
    net = nn.Sequential(*parts, nn.Flatten(), nn.Linear(channels * (8 >> p["layers"]) ** 2, 10))
    chance = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in net.parameters():
            size = weight[0].numel() ** -0.5 if weight.ndim > 1 else 0.0
            weight.copy_(size * torch.randn(weight.shape, generator=chance))
    x = torch.tensor(inputs, dtype=torch.float32).reshape(-1, 1, 8, 8)
    y = torch.tensor(targets)
    steps = optimiser[p["optimiser"]](
        net.parameters(), lr=p["learning_rate"], weight_decay=p["weight_decay"]
    )
    for _ in range(CNN_EPOCHS):
        for batch in torch.randperm(len(x), generator=chance).split(p["batch_size"]):
            steps.zero_grad()
            nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()
            steps.step()

    def read(images: Inputs) -> Int[np.ndarray, " m"]:
        with torch.no_grad():
            given = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8)
            return np.asarray(net(given).argmax(1))

    return read


def tuning(
    name: str,
    summary: str,
    error: Callable[[Params], float],
    space: SpaceLike,
    *,
    source: str = SOURCE,
    **known: Any,
) -> Problem:
    def measure(params: Params) -> float:
        problem.check(params)
        with one_blas_thread():  # more of them would change the last digits, and take longer
            return error(params)

    problem = of_function(name, summary, measure, space, source=source, **known)
    return problem


PROBLEMS = (
    tuning(
        "forest-diabetes-6",
        "random forest on the diabetes data: cross-validated share of variance left over",
        _forest,
        {
            "n_estimators": categorical([5, 10, 20, 40]),
            "criterion": categorical(["squared_error", "poisson"]),
            "max_depth": categorical([2, 4, 6, 8, None]),
            "max_features": categorical([0.1, 0.2, 0.4, 0.7, 1.0]),
            "min_samples_leaf": categorical([1, 2, 4, 8, 16]),
            "bootstrap": categorical([True, False]),
        },
        budget=50,
    ),
    tuning(
        "forest-digits-6",
        f"random forest on {IMAGES} images of digits: cross-validated log-loss",
        _reading_forest,
        {
            "n_estimators": categorical([10, 20, 40, 80]),
            "criterion": categorical(["gini", "entropy"]),
            "max_depth": categorical([4, 6, 8, 12, None]),
            "max_features": categorical([0.03, 0.06, 0.12, 0.25, 0.5]),
            "min_samples_leaf": categorical([1, 2, 4, 8, 16]),
            "bootstrap": categorical([True, False]),
        },
        budget=50,
    ),
    tuning(
        "boosting-cancer-9",
        "gradient boosting on the breast cancer data: cross-validated log-loss",
        _boosting,
        {
            "learning_rate": float_range(0.01, 1.0, log=True),
            "subsample": float_range(0.3, 1.0),
            "max_features": float_range(0.05, 1.0),
            "min_impurity_decrease": float_range(1e-5, 1.0, log=True),
            "n_estimators": categorical([10, 20, 40, 60]),
            "max_depth": categorical([1, 2, 3, 4, 6]),
            "min_samples_leaf": categorical([1, 2, 5, 10, 20]),
            "max_leaf_nodes": categorical([None, 4, 8, 16]),
            "loss": categorical(["log_loss", "exponential"]),
        },
        budget=100,
    ),
    tuning(
        "cnn-digits-9",
        f"small convolutional network on {IMAGES} images of digits: cross-validated share misread",
        _convolutional,
        {
            "learning_rate": float_range(1e-4, 0.1, log=True),
            "weight_decay": float_range(1e-6, 0.1, log=True),
            "channels": categorical([4, 8, 16]),
            "kernel": categorical([1, 3, 5]),
            "layers": categorical([1, 2]),
            "activation": categorical(["relu", "tanh", "elu"]),
            "pooling": categorical(["max", "mean"]),
            "optimiser": categorical(["adam", "rmsprop", "sgd"]),
            "batch_size": categorical([32, 64, 128]),
        },
        budget=50,
    ),
    tuning(
        "mlp-digits-9",
        f"small neural network on {IMAGES} images of digits: cross-validated share misread",
        _network,
        {
            "learning_rate": float_range(1e-4, 0.03, log=True),
            "alpha": float_range(1e-6, 1.0, log=True),
            "width": categorical([8, 16, 32, 64]),
            "layers": categorical([1, 2, 3]),
            "activation": categorical(["relu", "tanh", "logistic"]),
            "solver": categorical(["adam", "sgd"]),
            "batch_size": categorical([32, 64, 128]),
            "epochs": categorical([5, 10, 15]),
            "scaling": categorical(["range", "standard"]),
        },
        budget=100,
    ),
)
