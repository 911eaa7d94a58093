"""TuRBO-1 and SCBO as in BoTorch's tutorials: Thompson sampling in a box around the best point.

Settings for one point at a time: side 0.8 of the unit cube at first, doubled (at most 1.6) after 10
successes in a row, halved after max(4, d) failures in a row; Matérn-5/2 kernel with length scales
in [0.005, 4]. Below a side of 0.5^7 the search starts afresh: 2 d new Sobol points, and everything
before is forgotten.

Eriksson et al. (2019), Scalable global optimization via local Bayesian optimization.
Eriksson & Poloczek (2021), Scalable constrained Bayesian optimization.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from neurobo.bench.peers.base import Method, Optimiser, Task
from neurobo.bench.peers.botorch_common import (
    EXACT,
    LEAST,
    PACKAGES,
    Cube,
    Peer,
    Point,
    Tensor,
    Told,
    bounded_noise,
    fit_each,
    is_noisy,
    tensor,
)
from neurobo.errors import require

SHORTEST, LONGEST = 0.5**7, 1.6
SUCCESSES = 10
"""In the tutorials; 3 in the papers."""
NOISY = 0.2
"""The highest noise in the code of TuRBO's authors; the tutorials' functions have none."""


@dataclass
class Region:
    """The side of the box, and what led to it."""

    dim: int
    violation: float
    value: float
    """Of the best point, larger is better."""
    constrained: bool
    length: float = 0.8
    successes: int = 0
    failures: int = 0

    def judge(self, violation: float, value: float) -> None:
        """Take the outcome of one proposal into account; NaN is a failed evaluation."""
        if violation > 0 or self.violation > 0:
            success = violation < self.violation
        else:
            success = value > self.value + 1e-3 * abs(self.value)
        # TuRBO's tutorial measures the next success from the best point, SCBO's from the last
        # success.
        if success or (not self.constrained and value > self.value):
            self.violation, self.value = violation, value
        self.successes = self.successes + 1 if success else 0
        self.failures = 0 if success else self.failures + 1
        if self.successes == SUCCESSES:
            self.length, self.successes = min(2 * self.length, LONGEST), 0
        elif self.failures == max(4, self.dim):
            self.length, self.failures = self.length / 2, 0

    @property
    def spent(self) -> bool:
        return self.length < SHORTEST


class TrustRegion:
    """One local search after the other."""

    def __init__(self, task: Task, *, constrained: bool, noise: float):
        self.constrained, self.noise = constrained, noise
        self.cube = Cube(task.space)
        self.region: Region | None = None
        self.first = 0
        """The evaluation with which this search began."""
        self.restart: list[Point] = []
        """Points of the new start that are still to be evaluated."""
        self._proposed: int | None = None
        """The number of the evaluation that the region has proposed."""

    def propose(self, told: Told) -> Point:
        self._look_back(told)
        if self.restart:
            return self.restart.pop()
        good = np.flatnonzero(told.good)
        good = good[good >= self.first]
        if len(good) < LEAST:  # so many failures that the new start has to be longer
            self.restart = self._fresh_points(2)
            return self.restart.pop()
        # The best feasible point, or the least infeasible one.
        best = good[np.lexsort([-told.y[good], told.violation[good]])[0]]
        if self.region is None:
            dim, violation, value = self.cube.dim, told.violation[best], told.y[best]
            self.region = Region(dim, float(violation), float(value), self.constrained)
        rows = self.cube.rows(told.x[good])
        centre = self.cube.rows(told.x[[best]])[0]
        x = self._thompson(self.region, rows, told.y[good], told.c[good], centre)
        self._proposed = len(told.y)
        return x

    def _look_back(self, told: Told) -> None:
        """Judge the last proposal, and restart where the region has become too small."""
        if self._proposed is None or self.region is None or len(told.y) <= self._proposed:
            return
        i, self._proposed = self._proposed, None
        failed = not told.good[i]
        self.region.judge(
            math.inf if failed else float(told.violation[i]),
            math.nan if failed else float(told.y[i]),
        )
        if self.region.spent:
            self.region, self.first = None, len(told.y)
            self.restart = self._fresh_points(2 * self.cube.dim)

    def _fresh_points(self, n: int) -> list[Point]:
        sobol = require("torch").quasirandom.SobolEngine(self.cube.dim, scramble=True)
        return [self.cube.point(row) for row in sobol.draw(n).double().numpy()]

    def _thompson(
        self,
        region: Region,
        rows: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        c: Float[np.ndarray, "n constraints"],
        centre: Float[np.ndarray, " d"],
    ) -> Point:
        """Where one draw is best among the candidates in the box."""
        torch, sampling = require("torch"), require("botorch.generation.sampling")
        x = tensor(rows)
        (model,), limits = self._fit(x, tensor(y)[:, None]), self._fit(x, tensor(c))
        # SCBO's tutorial does not stretch the box along the length scales.
        lengths = model.covar_module.base_kernel.lengthscale.detach().ravel()
        weights = torch.ones_like(lengths) if self.constrained else lengths / lengths.mean()
        weights = weights / weights.log().mean().exp()
        candidates = _candidates(tensor(centre), weights * region.length / 2)
        if limits:
            constraints = require("botorch.models").ModelListGP(*limits)
            sample = sampling.ConstrainedMaxPosteriorSampling(
                model, constraint_model=constraints, replacement=False
            )
        else:
            sample = sampling.MaxPosteriorSampling(model, replacement=False)
        with torch.no_grad():
            return self.cube.point(sample(candidates, num_samples=1)[0].numpy())

    def _fit(self, x: Float[Tensor, "n d"], values: Float[Tensor, "n outputs"]) -> list[Any]:
        kernels, interval = require("gpytorch.kernels"), require("gpytorch.constraints").Interval

        def make(values: Float[Tensor, "n outputs"]) -> Any:
            outputs = values.shape[1]
            shape = require("torch").Size([] if outputs == 1 else [outputs])
            kernel = kernels.ScaleKernel(
                kernels.MaternKernel(
                    nu=2.5,
                    ard_num_dims=x.shape[1],
                    lengthscale_constraint=interval(0.005, 4.0),
                    batch_shape=shape,
                ),
                batch_shape=shape,
            )
            noise = bounded_noise(self.noise, outputs)
            return require("botorch.models").SingleTaskGP(
                x, values, covar_module=kernel, likelihood=noise
            )

        return fit_each(make, values, attempts=1)  # without priors, another would be the same


def _candidates(
    centre: Float[Tensor, " d"], reach: Float[Tensor, " d"]
) -> Float[Tensor, "candidates d"]:
    """Sobol points of the box, of which each moves only some coordinates, about 20 of many."""
    torch = require("torch")
    dim = len(centre)
    n = min(5000, max(2000, 200 * dim))
    low, high = (centre - reach).clamp(0, 1), (centre + reach).clamp(0, 1)
    sobol = torch.quasirandom.SobolEngine(dim, scramble=True)
    points = low + (high - low) * sobol.draw(n, dtype=centre.dtype)
    moved = torch.rand(n, dim, dtype=centre.dtype) <= min(20 / dim, 1.0)
    still = (~moved.any(dim=1)).nonzero().ravel()
    moved[still, torch.randint(dim, (len(still),))] = True
    return torch.where(moved, points, centre)


def _turbo(task: Task, noisy: bool | None = None) -> Optimiser:
    return _start(task, constrained=False, noisy=is_noisy(task, noisy))


def _scbo(task: Task, noisy: bool | None = None) -> Optimiser:
    return _start(task, constrained=True, noisy=is_noisy(task, noisy))


def _start(task: Task, *, constrained: bool, noisy: bool) -> Optimiser:
    region = TrustRegion(task, constrained=constrained, noise=NOISY if noisy else EXACT)
    return Peer(task, region.propose)


METHODS = (
    Method(
        "turbo-1",
        "BoTorch: TuRBO-1, Thompson sampling in one trust region",
        _turbo,
        PACKAGES,
    ),
    Method(
        "scbo",
        "BoTorch: SCBO, constrained Thompson sampling in one trust region",
        _scbo,
        PACKAGES,
        handles=frozenset({"constraints"}),
        needs=frozenset({"constraints"}),
    ),
)
