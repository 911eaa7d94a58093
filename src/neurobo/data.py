"""What was observed, as the numeric core sees it: encoded, standardised, padded.

Arrays are padded to a few bucket sizes so that a growing history does not recompile every jitted
function at every observation. A padded row has mask 0 and must change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from neurobo.space import Params, Space

if TYPE_CHECKING:
    from neurobo.laws import Laws

BUCKETS = (16, 32, 64, 128, 192, 256, 384, 512, 768, 1024)


def bucket(n: int) -> int:
    """The padded length for n rows: a few sizes, at most 1024 rows wasted beyond the table."""
    for size in BUCKETS:
        if n <= size:
            return size
    return -(-n // 1024) * 1024


def standardise(y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Mean 0 and sd 1, the same for y and a y + b with a > 0, whatever the scale.

    One absurdly bad value neither flattens the rest nor bends the network: the upper tail is
    compressed first.
    """
    if len(y) == 0:
        return y
    v, mean, sd, _ = _moments(y)
    if not sd > 0:
        return np.zeros_like(v)
    # Rounding hides the last bits, which an affine change of y would alter.
    return np.round((v - mean) / sd, 10)


def units(y: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """What a standardised 0 and a step of 1 mean in the objective's own units."""
    _, mean, sd, unit = _moments(y)
    return unit * mean, unit * sd


def _moments(
    y: Float[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, " n"], float, float, float]:
    """Values with a compressed tail in some unit, their mean and sd, and the unit."""
    unit = float(np.max(np.abs(y))) or 1.0  # values near 1e300 must not overflow
    v = _compress_upper_tail(y / unit)
    mean, sd = float(np.mean(v)), float(np.std(v))
    constant = not sd > 1e-13 * (abs(mean) + sd)  # up to rounding
    return v, mean, 0.0 if constant else sd, unit


def _compress_upper_tail(v: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """v above a fence becomes fence + s log(1 + (v - fence)/s), which keeps the order.

    The fence is so high that only the worst few of ordinary data would cross it.
    """
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
    """What networks see."""
    y: Float[np.ndarray, " N"]
    """Standardised targets, to be minimised."""
    values: Float[np.ndarray, " known"]
    """The targets in the objective's own units."""
    mask: Float[np.ndarray, " N"]
    """1 for an observation, 0 for padding."""
    points: Float[np.ndarray, "n encoded"]
    """The observations as the space encodes them; x, but for the features of pools."""
    pending: Float[np.ndarray, "k columns"]
    """Where values are still awaited."""
    taken: Float[np.ndarray, "m encoded"]
    """Every point evaluated (also in vain) or pending: not to be suggested again."""
    image: tuple[int, int, int] | None = None
    """Height, width and channels, if the columns are the pixels of an image."""
    laws: Laws | None = None
    """Differential equations that the objective obeys."""

    @cached_property
    def n(self) -> int:
        return int(self.mask.sum())

    @cached_property
    def order(self) -> np.ndarray:
        """Rows from the best observation to the worst."""
        return np.argsort(self.y[: self.n], kind="stable")

    def alone(self, rows: Int[np.ndarray, " m"]) -> tuple[Data, float, float]:
        """These observations as if there were no others, and what 0 and 1 of their units are in
        the units of `y`. Nothing about them changes when others come, not the last bit."""
        values = self.values[rows]
        found = Data.pad(self.x[rows], standardise(values))
        found = replace(found, values=values, image=self.image)
        if not len(values):
            return found, 0.0, 1.0
        (mean, sd), (mean_of_all, sd_of_all) = units(values), units(self.values)
        if not sd_of_all > 0:
            return found, 0.0, 1.0
        return found, (mean - mean_of_all) / sd_of_all, sd / sd_of_all or 1.0

    def believing(self, values: Float[np.ndarray, " k"]) -> Data:
        """As if the pending points had these values."""
        x = np.concatenate([self.x[: self.n], self.pending])
        more = Data.pad(x, np.concatenate([self.y[: self.n], values]))
        mean, sd = units(self.values) if self.n else (0.0, 1.0)
        return replace(
            self,
            x=more.x,
            y=more.y,
            values=np.concatenate([self.values, mean + sd * values]),
            mask=more.mask,
            pending=self.pending[:0],
        )

    @staticmethod
    def of(space: Space, trials: Trials) -> Data:
        points, pending = space.encode(trials.params), space.encode(trials.pending)
        values = np.asarray(trials.values, dtype=float)
        good = np.isfinite(values)
        y = standardise(values[good])
        taken = np.concatenate([points, pending])
        data = Data.pad(space.inputs(points[good]), y)
        return replace(
            data,
            values=values[good],
            points=points[good],
            pending=space.inputs(pending),
            taken=taken[:0] if trials.repeats or space.repeats else taken,
            image=space.image,
        )

    @staticmethod
    def pad(
        x: Float[np.ndarray, "n columns"], y: Float[np.ndarray, " n"], *, size: int | None = None
    ) -> Data:
        """Observations of a space without pools, none pending."""
        n = len(y)
        extra = (bucket(n) if size is None else size) - n
        return Data(
            x=np.pad(x, ((0, extra), (0, 0))),
            y=np.pad(y, (0, extra)),
            values=y,
            mask=np.pad(np.ones(n), (0, extra)),
            points=x,
            pending=x[:0],
            taken=x,
        )
