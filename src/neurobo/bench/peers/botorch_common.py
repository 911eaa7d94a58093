"""What the BoTorch peers share: the loop around a proposal, points as rows, quiet seeded calls."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import numpy as np
from jaxtyping import Bool, Float
from optuna.distributions import CategoricalDistribution

from neurobo.bench.peers.base import Task
from neurobo.bench.problem import Evaluation
from neurobo.errors import InvalidInput, NeuroboWarning, require
from neurobo.search.exclusion import any_free
from neurobo.space.encoders import Matrix
from neurobo.space.search_space import Params, Space

PACKAGES = ("botorch", "gpytorch", "torch")
LEAST = 2
"""A model needs this many values; before that, points are random."""

EXACT = 1e-3
"""The highest noise, as a share of the variance, in BoTorch's tutorials on noise-free functions."""

Tensor = Any  # torch is imported only when a peer runs
Rows = Float[np.ndarray, "n features"]
Point = Float[np.ndarray, " columns"]
"""One point in the space's own columns."""


class Told:
    """Every evaluation so far; values and constraints with BoTorch's sign: larger is better,
    feasible is at most 0."""

    def __init__(self, task: Task):
        self.names = task.constraints
        self.x: Matrix = np.empty((0, task.space.dim))
        self.y: Float[np.ndarray, " n"] = np.empty(0)
        self.c: Float[np.ndarray, "n constraints"] = np.empty((0, len(self.names)))
        self.pending: Matrix = np.empty((0, task.space.dim))
        """Asked for and not yet told."""

    def add(self, x: Matrix, outcome: Evaluation) -> None:
        limits = [outcome.constraints.get(name, math.nan) for name in self.names]
        self.x = np.concatenate([self.x, x])
        self.y = np.append(self.y, -outcome.value)
        self.c = np.concatenate([self.c, np.reshape(limits, (1, -1))])

    @property
    def good(self) -> Bool[np.ndarray, " n"]:
        """Which evaluations did not fail."""
        return np.isfinite(self.y) & np.isfinite(self.c).all(axis=1)

    @property
    def violation(self) -> Float[np.ndarray, " n"]:
        return np.asarray(np.maximum(self.c, 0.0).sum(axis=1))


Propose = Callable[[Told], Point]


class Peer:
    """Ask and tell around a way to propose. Without values to learn from, or where the model
    cannot be fitted, the point is random."""

    def __init__(self, task: Task, propose: Propose):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of torch, used by its libraries
            require("botorch")
        self.task, self.propose, self.told = task, propose, Told(task)

    def tell(self, params: Params, outcome: Evaluation) -> None:
        self.told.add(self.task.space.encode([params]), outcome)
        self.told.pending = self.told.pending[1:]  # answers come in the order of the questions

    def ask(self) -> Params:
        x = self._proposal() if self.told.good.sum() >= LEAST else None
        if x is None:
            x = random_point(self.task, self.told)
        self.told.pending = np.concatenate([self.told.pending, x[None]])
        return self.task.space.decode(x)

    def _proposal(self) -> Point | None:
        errors = require("linear_operator.utils.errors")
        try:
            with quietly(self.task.seed, len(self.told.y) + len(self.told.pending)):
                return self.propose(self.told)
        except (errors.NotPSDError, errors.NanError) as error:
            warnings.warn(
                f"BoTorch could not fit its model to {len(self.told.y)} evaluations and a random "
                f"point was taken: {error}",
                NeuroboWarning,
                stacklevel=3,
            )
            return None


def random_point(task: Task, told: Told) -> Point:
    """A random point, a new one if there is any."""
    rng = np.random.default_rng([task.seed, len(told.y) + len(told.pending)])
    if len(told.x) < task.space.size:
        return any_free(task.space, told.x, rng)
    return np.asarray(task.space.from_unit(rng.random((1, task.space.n_parameters)))[0])


@contextmanager
def quietly(seed: int, number: int) -> Iterator[None]:
    """Call number `number` of a run: its own random numbers, the warnings that BoTorch's own
    examples silence, exact linear algebra; everything is as before afterwards."""
    torch = require("torch")
    exact = require("gpytorch.settings").max_cholesky_size(float("inf"))
    state = random.getstate()
    words = np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)
    try:
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings(), exact:
            torch.manual_seed(int(words[0]) >> 1)
            random.seed(int(words[0]))  # BoTorch draws among many categories with it
            warnings.simplefilter("ignore", require("botorch.exceptions.warnings").BotorchWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            # Of torch about how GPyTorch makes sparse tensors.
            warnings.filterwarnings("ignore", "Sparse invariant checks", UserWarning)
            yield
    finally:
        random.setstate(state)


def tensor(values: np.ndarray) -> Tensor:
    torch = require("torch")
    return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.double)


def is_noisy(task: Task, given: bool | None) -> bool:
    """Whether to expect noise: as given, else as the task says (users know their functions)."""
    if given is not None and not isinstance(given, bool):
        raise InvalidInput(f"noisy must be true or false, got {given!r}")
    return task.noisy if given is None else given


def bounded_noise(highest: float, outputs: int = 1) -> Any:
    """A likelihood whose noise variance, as a share of the values' variance, has bounds."""
    interval = require("gpytorch.constraints").Interval(1e-8, highest)
    shape = require("torch").Size([] if outputs == 1 else [outputs])
    return require("gpytorch.likelihoods").GaussianLikelihood(
        noise_constraint=interval, batch_shape=shape
    )


def fit(model: Any, attempts: int = 5) -> Any:
    """The model with the hyper-parameters of highest posterior density."""
    likelihood = require("gpytorch.mlls").ExactMarginalLogLikelihood(model.likelihood, model)
    try:
        require("botorch.fit").fit_gpytorch_mll(likelihood, max_attempts=attempts)
    except require("botorch.exceptions").ModelFittingError:
        # L-BFGS stops early on nearly equal points. BoTorch's BAxUS tutorial then takes Adam.
        adam = partial(require("torch").optim.Adam, lr=0.1)
        require("botorch.optim.fit").fit_gpytorch_mll_torch(
            likelihood, optimizer=adam, step_limit=100, stopping_criterion=None
        )
        likelihood.train(mode=False)
    return model


def fit_each(
    make: Callable[[Float[Tensor, "n outputs"]], Any],
    values: Float[Tensor, "n outputs"],
    attempts: int = 5,
) -> list[Any]:
    """A fitted model for each column, from one search over all of them: BoTorch's batched form of
    independent outputs, which takes a fifth of the time for a dozen."""
    if values.shape[1] < 2:
        return [fit(make(column[:, None]), attempts) for column in values.T]
    together = fit(make(values), attempts)
    found = []
    for i, column in enumerate(values.T):
        model = make(column[:, None])
        for alone, common in zip(model.parameters(), together.parameters(), strict=True):
            alone.data = common.data[i].reshape(alone.shape)
        found.append(model.train(mode=False))
    return found


class View(Protocol):
    """How a model sees the points of a space."""

    def rows(self, x: Matrix) -> Rows: ...


class Cube:
    """One feature for each parameter: numbers in [0, 1], categories counted from 0."""

    MANY = 20
    """BoTorch relaxes stepped numbers of more values than this, and rounds at the end."""

    def __init__(self, space: Space):
        self.space = space
        free = {n: d for n, d in space.distributions.items() if not d.single()}
        self.dim = len(free)
        self.choices: dict[int, list[float]] = {}
        self.levels: dict[int, list[float]] = {}
        self._columns: list[slice] = []
        end = 0
        for i, (name, distribution) in enumerate(free.items()):
            alone = Space({name: distribution})
            if isinstance(distribution, CategoricalDistribution):
                self.choices[i] = [float(k) for k in range(alone.dim)]
            elif alone.size <= self.MANY:
                inner = alone.by_index(np.arange(1, int(alone.size) - 1))[:, 0]
                self.levels[i] = [0.0, *((inner + 1) / 2).tolist(), 1.0]
            self._columns.append(slice(end, end + alone.dim))
            end += alone.dim

    @property
    def bounds(self) -> Rows:
        high = [self.choices[i][-1] if i in self.choices else 1.0 for i in range(self.dim)]
        return np.array([np.zeros(self.dim), high])

    def rows(self, x: Matrix) -> Rows:
        features = [
            x[:, c].argmax(axis=1) if i in self.choices else (x[:, c.start] + 1) / 2
            for i, c in enumerate(self._columns)
        ]
        return np.stack(features, axis=1).astype(float)

    def point(self, row: Float[np.ndarray, " features"]) -> Point:
        x = np.zeros((1, self.space.dim))
        for i, columns in enumerate(self._columns):
            if i in self.choices:
                x[0, columns.start + round(float(row[i]))] = 1.0
            else:
                x[0, columns] = 2 * row[i] - 1
        return np.asarray(self.space.snap(x)[0])


class Pool:
    """The given features of the candidates that the parameters count, each scaled to [0, 1]."""

    def __init__(self, task: Task):
        assert task.pool is not None
        self._features: dict[str, Rows] = {}
        free = {n: d for n, d in task.space.distributions.items() if not d.single()}
        if set(free) != set(task.pool):
            raise InvalidInput(
                "BoTorch's peers search a pool if it has features for every parameter, got "
                f"features for {sorted(task.pool)} and the parameters {sorted(free)}"
            )
        self._low = {name: d.low for name, d in free.items()}  # type: ignore[attr-defined]
        self._space = task.space
        for name in free:
            flat = np.reshape(task.pool[name], (len(task.pool[name]), -1)).astype(float)
            low, size = flat.min(axis=0), np.ptp(flat, axis=0)
            self._features[name] = (flat - low)[:, size > 0] / size[size > 0]

    def rows(self, x: Matrix) -> Rows:
        points = [self._space.decode(row) for row in x]
        parts = [
            features[[p[name] - self._low[name] for p in points]]
            for name, features in self._features.items()
        ]
        return np.concatenate(parts, axis=1)
