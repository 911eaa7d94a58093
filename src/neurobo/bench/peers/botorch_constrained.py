"""The peers of Neural-CBO's experiments, on BoTorch's Gaussian processes, one for each output.

CONFIG and UCB-C trust the optimist: the best confidence bound of the objective, wherever no bound
of a constraint rules feasibility out. UCB-C's authors also have a variant for functions that are
evaluated one at a time, which chooses the function; here, where every evaluation gives all of them,
UCB-C is the same rule as CONFIG and differs in two things only:

- β, the square of how many standard deviations a bound is away: constant for CONFIG, growing for
  UCB-C as its theory asks, here β = 0.2 d log(2t) after t evaluations, the practical form of
  Kandasamy et al. (2015); the thesis does not say what it ran with;
- where nothing may be feasible: CONFIG would stop and say so, and goes on here with the least sum
  of violated bounds; UCB-C takes the least of the largest ones, as a public program of it does.
  Both are in units of the constraints' observed spread.

The third, ADMMBO, is in `botorch_admm`.

Xu et al. (2023), Constrained efficient global optimization of expensive black-box functions.
Nguyen et al. (2024), Optimistic Bayesian optimization with unknown constraints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import minimize

from neurobo.bench.peers.base import Method, Optimiser, Task
from neurobo.bench.peers.botorch_admm import Splitting
from neurobo.bench.peers.botorch_common import (
    PACKAGES,
    Peer,
    Point,
    Tensor,
    is_noisy,
    tensor,
)
from neurobo.bench.peers.botorch_gp import Fitted, GaussianProcess
from neurobo.errors import check_count, check_number, require

Row = Float[np.ndarray, " d"]
Rows = Float[np.ndarray, "n d"]

CLOSE = 1e-6
"""Bounds may miss the threshold by this share of the observed spread: the solver's precision."""


@dataclass(frozen=True)
class Bounds:
    """Optimistic bounds of all outputs, lower is better, in units of the observed spread. The
    first is the objective's; the others are constraints', with their threshold left at 0."""

    fitted: Fitted
    root: float
    """How many standard deviations."""

    def at(self, rows: Rows) -> Float[np.ndarray, "n outputs"]:
        with require("torch").no_grad():
            return np.asarray(self._bounds(tensor(rows)).numpy())

    def with_slopes(self, row: Row) -> tuple[Row, Rows]:
        """All bounds at one point, and their gradients."""
        # A copy of the point for each output: one backward pass then gives all gradients.
        copies = tensor(np.tile(row, (self.fitted.n_constraints + 1, 1))).requires_grad_()
        found = self._bounds(copies).diagonal()
        found.sum().backward()
        return found.detach().numpy(), copies.grad.numpy()

    def _bounds(self, rows: Float[Tensor, "n d"]) -> Float[Tensor, "n outputs"]:
        posterior = self.fitted.model.posterior(rows)
        mean, sd = posterior.mean, posterior.variance.clamp_min(1e-20).sqrt()
        # The objective is told with the other sign.
        sign = tensor(np.array([-1.0] + [1.0] * self.fitted.n_constraints))
        spreads = [_spread(column) for column in (self.fitted.y, *self.fitted.c.T)]
        return (sign * mean - self.root * sd) / tensor(np.array(spreads))


def _spread(values: Float[Tensor, " n"]) -> float:
    return float(values.std(correction=0)) or 1.0


Limits = Float[np.ndarray, "*n constraints"]
Broken = Callable[[Limits], Limits]
"""How much each constraint counts where nothing can be feasible."""


def every_broken(limits: Limits) -> Limits:
    return np.asarray(limits > 0, dtype=float)


def worst_broken(limits: Limits) -> Limits:
    worst = (limits > 0) & (limits == limits.max(axis=-1, keepdims=True))
    return np.asarray(worst / np.maximum(worst.sum(axis=-1, keepdims=True), 1))


class Optimistic(GaussianProcess):
    """The best bound of the objective where the bounds of all constraints are at most 0."""

    def __init__(
        self,
        task: Task,
        beta: Callable[[int], float],
        broken: Broken,
        *,
        noisy: bool,
        restarts: int,
        raw_samples: int,
    ):
        self.broken = broken
        super().__init__(
            task,
            lambda fitted: Bounds(fitted, math.sqrt(beta(len(fitted.y)))),
            noisy=noisy,
            restarts=restarts,
            raw_samples=raw_samples,
        )

    def _search(self, acquisition: Bounds) -> Point:
        bounds = acquisition
        sobol = require("torch").quasirandom.SobolEngine(self.cube.dim, scramble=True)
        rows = sobol.draw(self.raw_samples).double().numpy()
        rows = np.concatenate([rows, bounds.fitted.x.numpy()])
        found = bounds.at(rows)
        if not _passing(found).any():  # perhaps a solver gets in where no sample did
            order = np.argsort(self._violation(found[:, 1:]), kind="stable")[: self.restarts]
            rows = np.array([self._least_violation(bounds, start) for start in rows[order]])
            found = bounds.at(rows)
            if not _passing(found).any():
                return self.cube.point(rows[np.argmin(self._violation(found[:, 1:]))])
        rows, found = rows[_passing(found)], found[_passing(found)]
        starts = rows[np.argsort(found[:, 0], kind="stable")[: self.restarts]]
        rows = np.concatenate([starts, [_lowest_bound(bounds, start) for start in starts]])
        found = bounds.at(rows)
        return self.cube.point(rows[np.argmin(np.where(_passing(found), found[:, 0], np.inf))])

    def _violation(self, limits: Limits) -> Float[np.ndarray, "*n"]:
        return np.asarray((self.broken(limits) * limits).sum(axis=-1))

    def _least_violation(self, bounds: Bounds, start: Row) -> Row:
        def goal(row: Row) -> tuple[float, Row]:
            found, slopes = bounds.with_slopes(row)
            return float(self._violation(found[1:])), self.broken(found[1:]) @ slopes[1:]

        return _solve(goal, start)


def _passing(found: Float[np.ndarray, "n outputs"]) -> Bool[np.ndarray, " n"]:
    return np.asarray((found[:, 1:] <= CLOSE).all(axis=1))


def _lowest_bound(bounds: Bounds, start: Row) -> Row:
    @lru_cache(maxsize=1)  # the solver asks for one thing after the other at the same point
    def at(point: bytes) -> tuple[Row, Rows]:
        return bounds.with_slopes(np.frombuffer(point))

    def goal(row: Row) -> tuple[float, Row]:
        found, slopes = at(row.tobytes())
        return float(found[0]), slopes[0]

    limits = {
        "type": "ineq",
        "fun": lambda row: -at(row.tobytes())[0][1:],
        "jac": lambda row: -at(row.tobytes())[1][1:],
    }
    return _solve(goal, start, [limits] if bounds.fitted.n_constraints else ())


def _solve(
    goal: Callable[[Row], tuple[float, Row]], start: Row, limits: Sequence[dict[str, Any]] = ()
) -> Row:
    """A local minimum in the unit cube."""
    found = minimize(  # type: ignore[call-overload]  # its stubs refuse plain functions
        goal,
        start,
        jac=True,
        bounds=[(0.0, 1.0)] * len(start),
        constraints=limits,
        method="SLSQP",
        options={"maxiter": 50, "ftol": 1e-7},
    )
    # Where its steps become infinite it has no point.
    return np.clip(np.where(np.isfinite(found.x), found.x, start), 0.0, 1.0)


# Methods --------------------------------------------------------------------------------------


def _config(
    task: Task,
    beta: float = 4.0,
    noisy: bool | None = None,
    restarts: int = 10,
    raw_samples: int = 512,
) -> Optimiser:
    check_number("beta", beta, least=0)
    return _start(
        task, Optimistic, restarts, raw_samples, noisy, beta=lambda t: beta, broken=every_broken
    )


def _ucb_c(
    task: Task, noisy: bool | None = None, restarts: int = 10, raw_samples: int = 512
) -> Optimiser:
    dim = task.space.n_parameters

    def beta(t: int) -> float:
        return 0.2 * dim * math.log(2 * t)

    return _start(task, Optimistic, restarts, raw_samples, noisy, beta=beta, broken=worst_broken)


def _admmbo(
    task: Task,
    penalty: float = 2.0,
    weight: float = 27.0,
    inner: int = 1,
    noisy: bool | None = None,
    restarts: int = 10,
    raw_samples: int = 512,
) -> Optimiser:
    """`penalty` and `weight` are ρ = 0.1 and M = 50 of the authors' first example, in our units."""
    check_number("penalty", penalty, above=0)
    check_number("weight", weight, above=0)
    check_count("inner", inner)
    return _start(
        task, Splitting, restarts, raw_samples, noisy, penalty=penalty, weight=weight, inner=inner
    )


def _start(
    task: Task,
    way: Callable[..., GaussianProcess],
    restarts: int,
    raw_samples: int,
    noisy: bool | None,
    **more: Any,
) -> Optimiser:
    check_count("restarts", restarts)
    check_count("raw_samples", raw_samples, least=restarts)
    made = way(
        task, noisy=is_noisy(task, noisy), restarts=restarts, raw_samples=raw_samples, **more
    )
    return Peer(task, made.propose)


def _method(name: str, summary: str, make: Callable[..., Optimiser]) -> Method:
    only = frozenset({"constraints"})
    return Method(name, summary, make, PACKAGES, handles=only, needs=only)


METHODS = (
    _method(
        "config-opt",
        "BoTorch: CONFIG, the lowest confidence bound where constraints' bounds allow, beta 4",
        _config,
    ),
    _method(
        "ucb-c",
        "BoTorch: UCB-C, the same with a beta that grows with the evaluations",
        _ucb_c,
    ),
    _method(
        "admmbo",
        "BoTorch: ADMMBO, objective and constraints in turn, drawn together by multipliers",
        _admmbo,
    ),
)
