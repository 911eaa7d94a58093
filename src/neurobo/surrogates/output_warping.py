"""Output warping: values warped so that wide networks explain them best.

What falls by orders of magnitude on its way to the optimum is simple after a logarithm; a bowl is
simple as it is. The marginal likelihood tells which, where a density of warped values is one of the
values themselves once it is multiplied by the slopes of the warping.

    w = log(1 + κ z)/κ,   z = (v - lowest)/(median - lowest)

κ = 0 leaves values as they are. Below the lowest of the values that κ was found for, w = z. f
and a f + b with a > 0 are warped alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from neurobo.data.content_cache import cached
from neurobo.data.observations import Data
from neurobo.data.scaling import Scale, standardise
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.surrogates import marginal_likelihood, refit_schedule
from neurobo.surrogates.hyperparameters import Logarithms

STRENGTHS = (0.0, 1.0, 10.0, 100.0)
"""κ."""
LEAST = 8
"""Observations before which nothing is warped."""
PENALTY = 2.0
"""By how much the logarithm of the evidence must be higher with warping than without."""


@dataclass(frozen=True)
class OutputWarping:
    strength: float
    """κ."""
    lowest: float
    median: float

    def __call__(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        z = self._away(values)
        if not self.strength:
            return z
        return np.where(z > 0, np.log1p(self.strength * np.maximum(z, 0)) / self.strength, z)

    def log_slope(self, values: Float[np.ndarray, " n"]) -> float:
        """Σ log dw/dz."""
        return -float(np.sum(np.log1p(self.strength * np.maximum(self._away(values), 0))))

    def _away(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """z, where quarters keep the difference of huge numbers finite."""
        unit = self.median / 4 - self.lowest / 4
        with np.errstate(over="ignore"):
            return np.clip((values / 4 - self.lowest / 4) / unit, -1e100, 1e100)


@dataclass(frozen=True)
class FittedWarping:
    warp: OutputWarping
    start: Logarithms
    """Logarithms of the hyper-parameters that the evidence was highest for."""

    def __call__(self, data: Data) -> Data:
        """The same observations with values warped."""
        values = self.warp(data.values)
        y = data.y.copy()
        y[: data.n] = standardise(values)
        return replace(data, values=values, y=y)


def output_warping_for(data: Data, wide: InfiniteWidthMLP) -> FittedWarping | None:
    """As the hyper-parameters: from the first observations, until there are a tenth more. None:
    values are best as they are."""
    if data.n < LEAST:
        return None
    rows = refit_schedule.scheduled_rows(data.n)
    return choose(data.x[rows], data.values[rows], wide, noisy=data.noisy)


@cached
def choose(
    x: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, " n"],
    wide: InfiniteWidthMLP,
    *,
    noisy: bool = False,
) -> FittedWarping | None:
    """The strength of the highest evidence; None: values are best as they are."""
    lowest, median = float(np.min(values)), float(np.median(values))
    if not median / 4 > lowest / 4:
        return None
    found: list[tuple[float, FittedWarping]] = []
    for strength in STRENGTHS:
        warp = OutputWarping(strength, lowest, median)
        warped = warp(values)
        scale = Scale.of(warped)
        data = replace(Data.pad(x, scale(warped)), noisy=noisy)
        p = marginal_likelihood.search(data, wide)
        cost = (
            marginal_likelihood.cost(data, wide, p)
            - warp.log_slope(values)
            - scale.log_slope(warped)
        )
        found.append((cost + PENALTY * (strength > 0), FittedWarping(warp, tuple(p.tolist()))))
    best = min(found, key=lambda f: f[0])[1]
    return best if best.warp.strength else None
