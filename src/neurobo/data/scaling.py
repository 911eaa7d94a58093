"""From a quantity's own units to mean 0 and standard deviation 1."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Scale:
    """From a quantity's own units to mean 0 and sd 1.

    The result is the same for y and a y + b with a > 0, whatever the scale. One absurdly high value
    neither flattens the rest nor bends the network: v above a fence becomes
    fence + s log(1 + (v - fence)/s), which keeps the order. The fence is so high that only the
    worst few of ordinary data would cross it.
    """

    unit: float
    """Values near 1e300 must not overflow."""
    fence: float
    spread: float
    """s; 0: no fence."""
    mean: float
    sd: float
    """0 for a constant, up to rounding."""

    @staticmethod
    def of(y: Float[np.ndarray, " n"]) -> Scale:
        unit = float(np.max(np.abs(y))) or 1.0
        v = y / unit
        low, high = float(np.min(v)), float(np.quantile(v, 0.9))
        spread = max(3 * (high - low), 0.0)
        scale = Scale(unit, high + spread, spread, 0.0, 1.0)
        v = scale._compressed(y)
        mean, sd = float(np.mean(v)), float(np.std(v))
        constant = not sd > 1e-13 * (abs(mean) + sd)
        return replace(scale, mean=mean, sd=0.0 if constant else sd)

    def __call__(self, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Standardised; a constant becomes 0, and what differs from it ±1."""
        away = self._compressed(y) - self.mean
        if not self.sd:
            return np.where(np.abs(away) <= 1e-12 * abs(self.mean), 0.0, np.sign(away))
        # Rounding hides the last bits, which an affine change of y would alter.
        return np.round(away / self.sd, 10)

    def log_slope(self, y: Float[np.ndarray, " n"]) -> float:
        """Σ log of the derivative at these values, none of them a constant's."""
        if not self.sd:
            return 0.0
        over = np.maximum(y / self.unit - self.fence, 0) / self.spread if self.spread > 0 else 0.0
        return -float(np.sum(np.log1p(over)) + len(y) * np.log(self.unit * self.sd))

    def _compressed(self, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        v = y / self.unit
        if not self.spread > 0:
            return v
        over = np.maximum(v - self.fence, 0) / self.spread
        return np.where(v > self.fence, self.fence + self.spread * np.log1p(over), v)


def standardise(y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    return Scale.of(y)(y) if len(y) else y


def units(y: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """What a standardised 0 and a step of 1 mean in the quantity's own units."""
    scale = Scale.of(y)
    return scale.unit * scale.mean, scale.unit * scale.sd
