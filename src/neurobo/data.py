"""What was observed, as the numeric core sees it: encoded, standardised, padded.

Arrays are padded to a few bucket sizes so that a growing history does not recompile every jitted
function at every observation. A padded row has mask 0 and must change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from neurobo.space import Params, Space

BUCKETS = (16, 32, 64, 128, 192, 256, 384, 512, 768, 1024)


def bucket(n: int) -> int:
    """The padded length for n rows: a few sizes, at most 1024 rows wasted beyond the table."""
    for size in BUCKETS:
        if n <= size:
            return size
    return -(-n // 1024) * 1024


@dataclass(frozen=True)
class Standardised:
    """Targets with mean 0 and sd 1, and the way back to the user's units.

    The upper tail is compressed first: y above `fence` becomes fence + s log(1 + (y - fence)/s).
    One absurdly bad value then neither flattens the rest nor bends the network, order is kept, and
    the result does not change under y -> a y + b with a > 0.
    """

    z: Float[np.ndarray, " n"]
    mean: float
    sd: float
    unit: float
    """y is divided by this first, so that values near 1e300 do not overflow."""

    @staticmethod
    def of(y: Float[np.ndarray, " n"]) -> Standardised:
        if len(y) == 0:
            return Standardised(y, 0.0, 1.0, 1.0)
        unit = float(np.max(np.abs(y))) or 1.0
        v = _compress_upper_tail(y / unit)
        mean = float(np.mean(v))
        sd = float(np.std(v))
        if not sd > 1e-13 * (abs(mean) + sd):  # constant, up to rounding
            return Standardised(np.zeros_like(v), mean, 1.0, unit)
        # Rounding hides the last bits, which an affine change of y would alter.
        return Standardised(np.round((v - mean) / sd, 10), mean, sd, unit)


def _compress_upper_tail(v: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Logarithmic beyond a fence that only the worst few of ordinary data would cross."""
    low, high = np.min(v), np.quantile(v, 0.9)
    spread = 3 * (high - low)
    if not spread > 0:
        return v
    fence = high + spread
    return np.where(v > fence, fence + spread * np.log1p(np.maximum(v - fence, 0) / spread), v)


@dataclass(frozen=True)
class Trials:
    """The history in the user's terms. A failed evaluation has the value nan."""

    params: Sequence[Mapping[str, Any]]
    values: Sequence[float]
    pending: Sequence[Mapping[str, Any]] = ()
    repeats: bool = False
    """Whether a point may be suggested again."""

    def with_pending(self, point: Params) -> Trials:
        return replace(self, pending=[*self.pending, point])

    def repeatable(self) -> Trials:
        """The same history, whose points may be suggested again."""
        return replace(self, repeats=True)


@dataclass(frozen=True)
class Data:
    """Observations ready for a fit, N >= n rows of which the first n count."""

    x: Float[np.ndarray, "N columns"]
    y: Float[np.ndarray, " N"]
    """Standardised targets, to be minimised."""
    mask: Float[np.ndarray, " N"]
    """1 for an observation, 0 for padding."""
    taken: Float[np.ndarray, "m columns"]
    """Every point evaluated (also in vain) or pending: not to be suggested again."""

    @cached_property
    def n(self) -> int:
        return int(self.mask.sum())

    @cached_property
    def order(self) -> np.ndarray:
        """Rows from the best observation to the worst."""
        return np.argsort(self.y[: self.n], kind="stable")

    @staticmethod
    def of(space: Space, trials: Trials) -> Data:
        x = space.encode(trials.params)
        values = np.asarray(trials.values, dtype=float)
        good = np.isfinite(values)
        y = Standardised.of(values[good]).z
        taken = np.concatenate([x, space.encode(trials.pending)])
        return Data.pad(x[good], y, taken=taken[:0] if trials.repeats else taken)

    @staticmethod
    def pad(
        x: Float[np.ndarray, "n columns"],
        y: Float[np.ndarray, " n"],
        *,
        taken: Float[np.ndarray, "m columns"] | None = None,
        size: int | None = None,
    ) -> Data:
        n = len(y)
        extra = (bucket(n) if size is None else size) - n
        return Data(
            x=np.pad(x, ((0, extra), (0, 0))),
            y=np.pad(y, (0, extra)),
            mask=np.pad(np.ones(n), (0, extra)),
            taken=x if taken is None else taken,
        )
