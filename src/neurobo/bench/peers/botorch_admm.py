"""ADMMBO: objective and constraints in turn, drawn together by multipliers.

Each constraint has a copy z of the point x, multipliers y, and a penalty ρ/2 |x - z + y/ρ|² for
being apart. In turn, evaluations improve the objective plus all penalties (optimality) and, for
each constraint, M times the indicator of its violation plus its penalty (feasibility), by expected
improvement; after its feasibility step y grows by ρ (x - z). After a round ρ doubles if the copies
are 10 times as far from x as they moved (times ρ), and halves in the opposite case: the constants
of the authors' program.

What differs from it: every evaluation here gives all outputs, so the best of all evaluated points
solves a subproblem, one that cannot improve (z = x is feasible and y = 0) takes no evaluation, and
the others take one instead of five and more. Points are in the unit cube and the objective in
units of the start design's spread, so that one ρ suits all problems. Copies start at the evaluated
point that breaks the constraints least, not in a corner of the box. The search does not stop when
they agree.

Ariafar et al. (2019), ADMMBO: Bayesian optimization with unknown constraints using ADMM.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from jaxtyping import Float

from neurobo.bench.peers.base import Task
from neurobo.bench.peers.botorch_common import Point, Tensor, Told, tensor
from neurobo.bench.peers.botorch_gp import Fitted, GaussianProcess
from neurobo.errors import require

Row = Float[np.ndarray, " d"]
Rows = Float[np.ndarray, "n d"]

TAU, MU = 2.0, 10.0
"""ρ changes by the first factor where one residual is the second times the other."""


class Splitting(GaussianProcess):
    """One point x for the objective, one copy of it for each constraint, and what draws them
    together."""

    def __init__(
        self,
        task: Task,
        *,
        penalty: float,
        weight: float,
        inner: int,
        noisy: bool,
        restarts: int,
        raw_samples: int,
    ):
        super().__init__(
            task, self._acquire, noisy=noisy, restarts=restarts, raw_samples=raw_samples
        )
        self.rho, self.weight, self.inner = penalty, weight, inner
        self.n = len(task.constraints)
        self.scale = math.nan
        self.x: Row = np.empty(0)
        self.z: Rows = np.empty((self.n, 0))
        self.y: Rows = np.empty((self.n, 0))
        """Multipliers."""
        self.moved: Rows = np.empty((self.n, 0))
        """By how much each copy moved in its last step."""
        self.turn = 0
        """Whose evaluation is next: 0 is the objective's, then the constraints'."""
        self.left = inner
        self.seen: int | None = None
        """How many evaluations there were at the last proposal."""

    def propose(self, told: Told) -> Point:
        if self.seen is None:
            self._begin(told)
        elif len(told.y) > self.seen:
            self.left -= 1
            if not self.left:
                self._finish(told)
        self.seen = len(told.y)
        return super().propose(told)

    def _fit(self, told: Told) -> Fitted:
        """Only the model of the output whose turn it is."""
        alone = copy.copy(told)
        if self.turn:
            alone.y = np.where(told.good, told.c[:, self.turn - 1], np.nan)
        alone.c = told.c[:, :0]
        return super()._fit(alone)

    def _begin(self, told: Told) -> None:
        good = told.good
        rows, y = self.cube.rows(told.x[good]), told.y[good]
        self.scale = float(np.std(y)) or 1.0
        self.x = rows[np.lexsort([-y, told.violation[good]])[0]]
        self.z = np.tile(self.x, (self.n, 1))
        self.y, self.moved = np.zeros_like(self.z), np.zeros_like(self.z)

    def _finish(self, told: Told) -> None:
        """Take the solutions of this subproblem and of those that need no evaluation."""
        good = told.good
        rows, y, c = self.cube.rows(told.x[good]), told.y[good], told.c[good]
        while True:
            k = self.turn - 1
            if self.turn == 0:
                self.x = rows[np.argmin(self._apart(rows) - y / self.scale)]
            else:
                z = rows[np.argmin(self._infeasibility(rows, c[:, k], k))]
                self.moved[k], self.z[k] = z - self.z[k], z
                self.y[k] += self.rho * (self.x - z)
            if self.turn == self.n:
                self._adapt()
            self.turn = (self.turn + 1) % (self.n + 1)
            k = self.turn - 1
            if self.turn == 0 or self._infeasibility(rows, c[:, k], k).min() > 0:
                break
        self.left = self.inner

    def _adapt(self) -> None:
        """Keep the copies' distance and their movement in balance."""
        if not self.n:
            return
        primal = np.linalg.norm(self.x - self.z, axis=1).mean()
        dual = self.rho * np.linalg.norm(self.moved, axis=1).mean()
        if primal > MU * dual:
            self.rho *= TAU
        elif dual > MU * primal:
            self.rho /= TAU

    def _apart(self, rows: Any) -> Any:
        """The penalties of all copies if x were here; arrays and tensors alike."""
        return sum(
            self.rho / 2 * ((rows - (z - y / self.rho)) ** 2).sum(-1)
            for z, y in zip(self._like(self.z, rows), self._like(self.y, rows), strict=True)
        )

    def _infeasibility(self, rows: Any, limit: Any, k: int) -> Any:
        return (limit > 0) + self._away(rows, k)

    def _away(self, rows: Any, k: int) -> Any:
        """The penalty of one copy if it were here, as a share of the weight of a violation."""
        centre = self._like(self.x + self.y[k] / self.rho, rows)
        return self.rho / (2 * self.weight) * ((rows - centre) ** 2).sum(-1)

    @staticmethod
    def _like(values: np.ndarray, other: Any) -> Any:
        return values if isinstance(other, np.ndarray) else tensor(values)

    def _acquire(self, fitted: Fitted) -> Any:
        return self._optimality(fitted) if self.turn == 0 else self._feasibility(fitted)

    def _optimality(self, fitted: Fitted) -> Any:
        """Expected improvement of the objective plus the penalties, which are known exactly."""
        objective = require("botorch.acquisition.objective").GenericMCObjective(
            lambda outputs, X: outputs[..., 0] / self.scale - self._apart(X)  # noqa: N803
        )
        best = (fitted.y / self.scale - self._apart(fitted.x)).max()
        logei = require("botorch.acquisition.logei")
        return logei.qLogExpectedImprovement(fitted.model, best, objective=objective)

    def _feasibility(self, fitted: Fitted) -> Any:
        """Expected improvement of the violation's indicator plus the penalty: with q left to gain
        before the indicator, q where feasible and q - 1 where not, neither below 0."""
        k, torch = self.turn - 1, require("torch")
        best = self._infeasibility(fitted.x, fitted.y, k).min()

        def improvement(points: Float[Tensor, "n 1 d"]) -> Float[Tensor, " n"]:
            posterior = fitted.model.posterior(points)
            mean, sd = posterior.mean[:, 0, 0], posterior.variance[:, 0, 0].clamp_min(1e-20).sqrt()
            feasible = torch.special.ndtr(-mean / sd)
            gain = best - self._away(points[:, 0], k)
            expected = feasible * gain.clamp_min(0) + (1 - feasible) * (gain - 1).clamp_min(0)
            # Where nothing can be gained, the way to where something can: it may be a tiny ball.
            return (expected + gain.clamp_max(0)) / best.clamp_min(1e-9)

        return improvement
