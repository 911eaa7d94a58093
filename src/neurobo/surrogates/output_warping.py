"""Output warping: values warped so that wide networks explain them best.

What falls by orders of magnitude on its way to the optimum is simple after a logarithm; a bowl is
simple as it is; narrow wells in a plain are wide funnels after a logarithm seen from above. The
marginal likelihood tells which, where a density of warped values is one of the values themselves
once it is multiplied by the slopes of the warping.

    κ > 0:   w = log(1 + κ z)/κ,       z = (v - lowest)/(median - lowest)
    κ < 0:   w = -log(1 + |κ| z)/|κ|,  z = (high - v)/(high - median)

κ = 0 leaves values as they are; high is the 90 % quantile, for one huge value must not decide.
Beyond the reference value, lowest or high, the warping goes on in a straight line. f and a f + b
with a > 0 are warped alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from neurobo.data.content_cache import cached
from neurobo.data.observations import Data
from neurobo.data.scaling import Scale, standardise
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.surrogates import marginal_likelihood, refit_schedule
from neurobo.surrogates.hyperparameters import Logarithms

STRENGTHS = (0.0, 1.0, 10.0, 100.0, -1.0, -10.0, -100.0)
"""κ."""
LEAST = 8
"""Observations before which nothing is warped."""
GROWTH = 1.25
"""A valley or a well shows in its values once some of them lie in it: the strength is chosen anew
more often than input warping and the kernel."""
PENALTY = 2.0
"""By how much the logarithm of the evidence must be higher with warping than without."""
HOPELESS, HOPELESS_EACH = 4.0, 0.25
"""A warping is not searched if the cost where its search would begin is higher than the lowest by
4, and by a quarter for each observation. In 192 data sets (8 functions, 2 and 6 parameters, 8 to 40
observations) this halves the evaluations and changes no choice."""

HIGH = 0.9
"""The quantile that logarithms from above refer to."""


@runtime_checkable
class Warping(Protocol):
    """A rising function of values."""

    def __call__(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]: ...
    def log_slope(self, values: Float[np.ndarray, " n"]) -> float: ...


@dataclass(frozen=True)
class OutputWarping:
    strength: float
    """κ."""
    reference: float
    """The lowest value, or with κ < 0 the 90 % quantile."""
    median: float

    @staticmethod
    def of(strength: float, values: Float[np.ndarray, " n"]) -> OutputWarping | None:
        """None: there is nothing between the reference value and the median."""
        reference = np.min(values) if strength >= 0 else np.quantile(values, HIGH)
        warp = OutputWarping(strength, float(reference), float(np.median(values)))
        return warp if warp._unit > 0 else None

    def __call__(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        z, size = self._away(values), abs(self.strength)
        w = np.where(z > 0, np.log1p(size * np.maximum(z, 0)) / size, z) if size else z
        return self._sign * w

    def log_slope(self, values: Float[np.ndarray, " n"]) -> float:
        """Σ log dw/dv, up to a constant that is the same for every warping."""
        z = np.maximum(self._away(values), 0)
        return -float(np.sum(np.log1p(abs(self.strength) * z)) + len(z) * np.log(self._unit))

    @property
    def _sign(self) -> int:
        return 1 if self.strength >= 0 else -1

    @property
    def _unit(self) -> float:
        """Quarters keep the difference of huge numbers finite."""
        return self._sign * (self.median / 4 - self.reference / 4)

    def _away(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """z."""
        with np.errstate(over="ignore"):
            away = self._sign * (values / 4 - self.reference / 4)
            return np.clip(away / self._unit, -1e100, 1e100)


@dataclass(frozen=True)
class FittedWarping:
    warp: OutputWarping
    start: Logarithms
    """Logarithms of the hyper-parameters that the evidence was highest for."""

    def as_of(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """These values warped as if there were no others."""
        warp = OutputWarping.of(self.warp.strength, values)
        return values if warp is None else warp(values)

    def __call__(self, data: Data) -> Data:
        """The same observations with values warped."""
        values = self.warp(data.values)
        y = data.y.copy()
        y[: data.n] = standardise(values)
        return replace(data, values=values, y=y)


def output_warping_for(data: Data, wide: InfiniteWidthMLP) -> FittedWarping | None:
    """The strength is chosen anew when there are a quarter more observations; its reference and the
    median follow the hyper-parameters' observations. None: values are best as they are."""
    rows = refit_schedule.choice_rows(data.n, LEAST, growth=GROWTH)
    if rows is None:
        return None
    found = choose(data.x[rows], data.values[rows], wide, noisy=data.noisy)
    if found is None:
        return None
    known = data.values[refit_schedule.scheduled_rows(data.n)]
    current = OutputWarping.of(found.warp.strength, known)
    return None if current is None else replace(found, warp=current)


@cached
def choose(
    x: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, " n"],
    wide: InfiniteWidthMLP,
    *,
    noisy: bool = False,
) -> FittedWarping | None:
    """The strength of the highest evidence; None: values are best as they are."""
    warps = {k: warp for k in STRENGTHS if (warp := OutputWarping.of(k, values)) is not None}
    if 0.0 not in warps:
        return None
    best, plain = cost_of(x, values, wide, warps.pop(0.0), noisy=noisy)
    kept: FittedWarping | None = None
    hopes = {
        k: _hope(x, values, wide, warp, plain, noisy=noisy) + PENALTY for k, warp in warps.items()
    }
    for k in sorted(hopes, key=hopes.__getitem__):
        if hopes[k] > best + HOPELESS + HOPELESS_EACH * len(values):
            break
        cost, p = cost_of(x, values, wide, warps[k], noisy=noisy)
        if cost + PENALTY < best:
            best, kept = cost + PENALTY, FittedWarping(warps[k], tuple(p.tolist()))
    return kept


def _hope(
    x: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, " n"],
    wide: InfiniteWidthMLP,
    warp: Warping,
    plain: Float[np.ndarray, " k"],
    *,
    noisy: bool,
) -> float:
    """The cost where a search would begin, or at the best hyper-parameters without warping."""
    data, offset = _warped(x, values, warp, noisy=noisy)
    starts = marginal_likelihood.likeliest_start(data, wide), plain
    return min(marginal_likelihood.cost(data, wide, p) for p in starts) + offset


def _warped(
    x: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, " n"],
    warp: Warping | None,
    *,
    noisy: bool,
) -> tuple[Data, float]:
    """Observations with warped values, and what their density adds to the cost."""
    warped = values if warp is None else warp(values)
    scale = Scale.of(warped)
    slope = 0.0 if warp is None else warp.log_slope(values)
    data = replace(Data.pad(x, scale(warped)), noisy=noisy)
    return data, -slope - scale.log_slope(warped)


def cost_of(
    x: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, " n"],
    wide: InfiniteWidthMLP,
    warp: Warping | None,
    *,
    noisy: bool,
    ard: bool = False,
) -> tuple[float, Float[np.ndarray, " k"]]:
    """Minus the logarithm of the evidence of values that are warped like this (None: as they are),
    and the logarithms of the hyper-parameters that it is highest for."""
    data, offset = _warped(x, values, warp, noisy=noisy)
    p = marginal_likelihood.search(data, wide, ard=ard)
    return marginal_likelihood.cost(data, wide, p) + offset, p
