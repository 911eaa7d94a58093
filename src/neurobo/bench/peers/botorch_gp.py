"""BoTorch's Gaussian process with expected improvement, upper confidence bound, or a draw.

Model: SingleTaskGP as it comes (RBF kernel, length-scale prior that grows with the dimension,
standardised values); MixedSingleTaskGP where there are categories. On noise-free problems the noise
is held below 0.001 of the variance, as in BoTorch's tutorial on such a function: SingleTaskGP's own
lower bound, 0.0001, makes expected improvement stall. Search of the acquisition: 10 restarts from
512 raw samples, as in BoTorch's closed-loop tutorial, and what BoTorch recommends for mixed and
finite spaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float

from neurobo.bench.peers.base import Method, Optimiser, Task
from neurobo.bench.peers.botorch_common import (
    EXACT,
    PACKAGES,
    Cube,
    Peer,
    Point,
    Pool,
    Tensor,
    Told,
    View,
    bounded_noise,
    fit,
    is_noisy,
    random_point,
    tensor,
)
from neurobo.errors import check_count, check_number, require
from neurobo.space.encoders import Matrix

FEW = 10_000
"""Up to this many points of a finite space are tried one by one, as BoTorch recommends."""
CANDIDATES = 10_000
"""Sobol points among which a draw is maximised, as in BoTorch's tutorial on Thompson sampling."""
NEAR = 0.02
"""Points this close to a failed one in every column, 1 % of the box, may well fail too."""


@dataclass(frozen=True)
class Fitted:
    """A model of the objective (output 0) and the constraints (the others), and its data."""

    model: Any
    x: Float[Tensor, "n features"]
    y: Float[Tensor, " n"]
    c: Float[Tensor, "n constraints"]
    pending: Float[Tensor, "k features"] | None = None

    @property
    def n_constraints(self) -> int:
        return int(self.c.shape[1])


Acquire = Callable[[Fitted], Any]


def log_ei(fitted: Fitted) -> Any:
    analytic = require("botorch.acquisition.analytic")
    if not fitted.n_constraints:
        return analytic.LogExpectedImprovement(fitted.model, best_f=fitted.y.max())
    limits = {i + 1: (None, 0.0) for i in range(fitted.n_constraints)}
    feasible = (fitted.c <= 0).all(dim=1)
    if not feasible.any():  # nothing to improve on yet
        return analytic.LogProbabilityOfFeasibility(fitted.model, limits)
    best = fitted.y[feasible].max()
    return analytic.LogConstrainedExpectedImprovement(fitted.model, best, 0, limits)


def log_noisy_ei(fitted: Fitted) -> Any:
    """For noisy values: the best so far is itself uncertain."""
    logei, objective = require("botorch.acquisition.logei"), None
    if fitted.n_constraints:
        objective = require("botorch.acquisition.objective").GenericMCObjective(
            lambda outputs, X=None: outputs[..., 0]  # noqa: N803
        )
    limits = [_output(i + 1) for i in range(fitted.n_constraints)]
    return logei.qLogNoisyExpectedImprovement(
        fitted.model, fitted.x, objective=objective, constraints=limits or None,
        X_pending=fitted.pending,
    )  # fmt: skip


def _output(i: int) -> Callable[[Tensor], Tensor]:
    return lambda outputs: outputs[..., i]


def ucb(beta: float) -> Acquire:
    """Mean plus sqrt(beta) standard deviations."""

    def acquire(fitted: Fitted) -> Any:
        return require("botorch.acquisition").UpperConfidenceBound(fitted.model, beta=beta)

    return acquire


class GaussianProcess:
    """Fits the model, then maximises an acquisition or one draw of the function."""

    def __init__(
        self, task: Task, acquire: Acquire | None, *, noisy: bool, restarts: int, raw_samples: int
    ):
        self.task, self.acquire, self.noisy = task, acquire, noisy
        self.restarts, self.raw_samples = restarts, raw_samples
        self.cube = Cube(task.space)
        self.view: View = self.cube if task.pool is None else Pool(task)
        self.everything: Matrix | None = None
        if task.pool is not None or task.space.size <= FEW:
            self.everything = task.space.by_index(np.arange(int(task.space.size)))
            self._rows = self.view.rows(self.everything)

    def propose(self, told: Told) -> Point:
        fitted = self._fit(told)
        if self.everything is not None:
            untried = np.flatnonzero(~_among(self.everything, told.x))
            if not len(untried):
                return random_point(self.task, told)
            return self.everything[untried[self._best_row(fitted, self._rows[untried])]]
        x = self._draw(fitted) if self.acquire is None else self._search(self.acquire(fitted))
        return random_point(self.task, told) if _hopeless(x, told) else x

    def _fit(self, told: Told) -> Fitted:
        models = require("botorch.models")
        good = told.good
        x = tensor(self.view.rows(told.x[good]))
        y, c = tensor(told.y[good]), tensor(told.c[good])
        categories = [] if self.task.pool is not None else list(self.cube.choices)

        def make(values: Float[Tensor, "n outputs"]) -> Any:
            noise = None if self.noisy else bounded_noise(EXACT, values.shape[1])
            if categories:
                mixed = models.MixedSingleTaskGP
                return mixed(x, values, cat_dims=categories, likelihood=noise)
            return models.SingleTaskGP(x, values, likelihood=noise)

        # Independent outputs in BoTorch's batched form: a dozen take little more time than one.
        model = fit(make(require("torch").cat([y[:, None], c], dim=1)))
        pending = tensor(self.view.rows(told.pending)) if len(told.pending) else None
        return Fitted(model, x, y, c, pending)

    def _best_row(self, fitted: Fitted, rows: Float[np.ndarray, "n features"]) -> int:
        """The number of the best among these rows."""
        choices = tensor(rows)
        if self.acquire is None:
            best = _highest_of_draw(fitted, choices)
        else:
            search = require("botorch.optim").optimize_acqf_discrete
            best, _ = search(self.acquire(fitted), q=1, choices=choices)
        return int((choices == best).all(dim=1).nonzero()[0, 0])

    def _draw(self, fitted: Fitted) -> Point:
        sobol = require("torch").quasirandom.SobolEngine(self.cube.dim, scramble=True)
        unit = sobol.draw(CANDIDATES, dtype=fitted.x.dtype).numpy()
        x = self.task.space.from_unit(unit)
        best = _highest_of_draw(fitted, tensor(self.cube.rows(x)))
        return self.cube.point(best[0].numpy())

    def _search(self, acquisition: Any) -> Point:
        """The maximum of the acquisition in a space that is not finite, or large."""
        mixed = require("botorch.optim.optimize_mixed")
        levels, choices = self.cube.levels, self.cube.choices
        common = {
            "bounds": tensor(self.cube.bounds),
            "q": 1,
            "num_restarts": self.restarts,
            "raw_samples": self.raw_samples,
        }
        if not levels and not choices:
            best, _ = require("botorch.optim").optimize_acqf(acquisition, **common)
        elif mixed.should_use_mixed_alternating_optimizer(levels, choices):
            best, _ = mixed.optimize_acqf_mixed_alternating(
                acquisition, discrete_dims=levels, cat_dims=choices, **common
            )
        else:
            steps = levels | choices
            fixed = [dict(zip(steps, values, strict=True)) for values in product(*steps.values())]
            best, _ = require("botorch.optim").optimize_acqf_mixed(
                acquisition, fixed_features_list=fixed, **common
            )
        return self.cube.point(best[0].numpy())


def _highest_of_draw(fitted: Fitted, candidates: Float[Tensor, "n features"]) -> Tensor:
    """Where one function drawn from the posterior is highest."""
    paths = require("botorch.sampling.pathwise.posterior_samplers")
    sampling = require("botorch.generation.sampling")
    with require("torch").no_grad():
        draw = paths.get_matheron_path_model(fitted.model)
        return sampling.MaxPosteriorSampling(draw, replacement=False)(candidates, num_samples=1)


def _among(points: Matrix, taken: Matrix) -> np.ndarray:
    known = {row.tobytes() for row in taken.round(9) + 0.0}
    return np.array([row.tobytes() in known for row in points.round(9) + 0.0], dtype=bool)


def _hopeless(x: Point, told: Told) -> bool:
    """Whether more evaluations failed than succeeded around here: the model cannot know."""
    near = np.abs(told.x - x).max(axis=1) <= NEAR
    return bool((near & ~told.good).sum() > (near & told.good).sum())


def _log_ei(
    task: Task, noisy: bool | None = None, restarts: int = 10, raw_samples: int = 512
) -> Optimiser:
    return _start(task, log_ei, is_noisy(task, noisy), restarts, raw_samples)


def _log_noisy_ei(
    task: Task, noisy: bool | None = None, restarts: int = 10, raw_samples: int = 512
) -> Optimiser:
    return _start(task, log_noisy_ei, is_noisy(task, noisy), restarts, raw_samples)


def _ucb(
    task: Task,
    beta: float = 0.2,
    noisy: bool | None = None,
    restarts: int = 10,
    raw_samples: int = 512,
) -> Optimiser:
    check_number("beta", beta, least=0)
    return _start(task, ucb(beta), is_noisy(task, noisy), restarts, raw_samples)


def _thompson(task: Task, noisy: bool | None = None) -> Optimiser:
    return _start(task, None, is_noisy(task, noisy))


def _start(
    task: Task, acquire: Acquire | None, noisy: bool, restarts: int = 10, raw_samples: int = 512
) -> Optimiser:
    check_count("restarts", restarts)
    check_count("raw_samples", raw_samples, least=restarts)
    way = GaussianProcess(task, acquire, noisy=noisy, restarts=restarts, raw_samples=raw_samples)
    return Peer(task, way.propose)


METHODS = (
    Method(
        "botorch-logei",
        "BoTorch: Gaussian process with log expected improvement, times the probability of "
        "feasibility under constraints",
        _log_ei,
        PACKAGES,
        handles=frozenset({"mixed", "constraints", "pool"}),
    ),
    Method(
        "botorch-lognei",
        "BoTorch: Gaussian process with log noisy expected improvement",
        _log_noisy_ei,
        PACKAGES,
        handles=frozenset({"mixed", "constraints", "pool", "batch"}),
    ),
    Method(
        "botorch-ucb",
        "BoTorch: Gaussian process with an upper confidence bound, beta 0.2 (BoTorch's default)",
        _ucb,
        PACKAGES,
        handles=frozenset({"mixed", "pool"}),
    ),
    Method(
        "botorch-ts",
        "BoTorch: Gaussian process with Thompson sampling over 10,000 Sobol points",
        _thompson,
        PACKAGES,
        handles=frozenset({"pool"}),
    ),
)
