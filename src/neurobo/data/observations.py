"""What was observed, as the numeric core sees it: encoded, standardised, padded.

Arrays are padded to a few bucket sizes so that a growing history does not recompile every jitted
function at every observation. A padded row has mask 0 and must change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from neurobo.data.scaling import Scale, standardise, units
from neurobo.data.trials import Trials
from neurobo.space.search_space import Space

BUCKETS = (64, 128, 192, 256, 384, 512, 768, 1024)


def bucket(n: int) -> int:
    """The padded length for n rows: a few sizes, at most 1024 rows wasted beyond the table."""
    for size in BUCKETS:
        if n <= size:
            return size
    return -(-n // 1024) * 1024


@dataclass(frozen=True)
class Constraint:
    """A constraint, feasible where it is at most its threshold."""

    name: str
    data: Data
    """Where it was observed, and its standardised values."""
    observed: Float[np.ndarray, " n"]
    """Its values at the observations of the objective; NaN where unknown."""
    threshold: float
    """The user's 0 in the units of `data.y`."""
    known: Float[np.ndarray, " n"]
    """`observed` in the units of `data.y`."""

    @staticmethod
    def of(
        name: str,
        x: Float[np.ndarray, "m columns"],
        values: Float[np.ndarray, " m"],
        observed: Float[np.ndarray, " n"],
        image: tuple[int, int, int] | None = None,
    ) -> Constraint:
        scale = Scale.of(values)
        data = replace(Data.pad(x, scale(values)), values=values, image=image)
        threshold = float(scale(np.zeros(1))[0])
        return Constraint(name, data, observed, threshold, scale(observed))

    def warped(self, warp: Callable[[np.ndarray], np.ndarray]) -> Constraint:
        """The same constraint with values warped by a function that keeps 0."""
        data = self.data
        values, observed = warp(data.values), warp(self.observed)
        return Constraint.of(self.name, data.x[: data.n], values, observed, data.image)


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
    excluded: Float[np.ndarray, "m encoded"]
    """Every point evaluated (also in vain) or pending: not to be suggested again."""
    pruned: Float[np.ndarray, "p encoded"] | None = None
    """Points whose evaluation was given up early: later suggestions keep a distance."""
    image: tuple[int, int, int] | None = None
    """Height, width and channels, if the columns are the pixels of an image."""
    constraints: tuple[Constraint, ...] = ()
    """The constraints, each with observations of its own."""
    violation: Float[np.ndarray, " n"] | None = None
    """By how much the observations break the constraints, in units of their spread; None: not."""
    active: Int[np.ndarray, " n"] | None = None
    """How many columns take part at each observation; None: all."""
    incumbents: Float[np.ndarray, "n columns"] | None = None
    """What networks see of the observations if some parameters were as new points have them;
    None: new points are as free as the observations."""
    noisy: bool = False
    """Whether values are known to be noisy; False means unknown."""

    @cached_property
    def n(self) -> int:
        return int(self.mask.sum())

    @cached_property
    def order(self) -> np.ndarray:
        """Rows from the best observation to the worst: what breaks constraints comes last."""
        y = self.y[: self.n]
        return np.lexsort([y] if self.violation is None else [y, self.violation])

    @cached_property
    def eligible(self) -> Int[np.ndarray, " m"]:
        """Rows among which the best one is: the feasible, or else those that are nearest to it."""
        if self.violation is None or not self.n:
            return np.arange(self.n)
        return np.flatnonzero(self.violation <= np.min(self.violation))

    def alone(self, rows: Int[np.ndarray, " m"]) -> tuple[Data, float, float]:
        """These observations as if there were no others, and what 0 and 1 of their units are in
        the units of `y`. Nothing about them changes when others come, not the last bit."""
        values = self.values[rows]
        found = Data.pad(self.x[rows], standardise(values))
        found = replace(found, values=values, image=self.image, noisy=self.noisy)
        if not len(values):
            return found, 0.0, 1.0
        (mean, sd), (mean_of_all, sd_of_all) = units(values), units(self.values)
        if not sd_of_all > 0:
            return found, 0.0, 1.0
        return found, (mean - mean_of_all) / sd_of_all, sd / sd_of_all or 1.0

    @property
    def raw(self) -> Data:
        """The same with the values as they are instead of standardised ones."""
        return replace(self, y=np.pad(self.values, (0, len(self.y) - self.n)))

    def repadded(self, step: int) -> Data:
        """The same with the least padding to a multiple of `step` rows."""
        rows = min(-(-max(self.n, 1) // step) * step, len(self.y))
        return replace(self, x=self.x[:rows], y=self.y[:rows], mask=self.mask[:rows])

    def with_fantasies(self, values: Float[np.ndarray, " k"]) -> Data:
        """As if the pending points had these values; whether they are feasible stays open."""
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
            violation=None,
        )

    @staticmethod
    def of(space: Space, trials: Trials) -> Data:
        points, pending = trials.encoded or (
            space.encode(trials.params),
            space.encode(trials.pending),
        )
        values = np.asarray(trials.values, dtype=float)
        good = np.isfinite(values)
        y = standardise(values[good])
        tried = np.concatenate([points, pending])
        data = Data.pad(space.inputs(points[good]), y)
        return replace(
            data,
            values=values[good],
            points=points[good],
            pending=space.inputs(pending),
            excluded=tried[:0] if trials.repeats or space.repeats else tried,
            pruned=points[np.array(trials.pruned)] if any(trials.pruned) else None,
            image=space.image,
            constraints=_constraints(space, trials, points, good),
            active=space.active_columns(points[good]).sum(axis=1) if space.conditions else None,
            incumbents=_moved(space, points[good]) if space.fixed else None,
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
            excluded=x,
        )


def _moved(space: Space, points: Float[np.ndarray, "n encoded"]) -> Float[np.ndarray, "n columns"]:
    """What networks see of points that are moved to the fixed values, and into what known input
    constraints allow there."""
    found = space.snap(points)
    return space.inputs(found if space.feasible is None else space.feasible.brought_in(found))


CRASH = "neurobo:crash"
"""The name of the constraint that is learned from failed evaluations."""


def _constraints(
    space: Space,
    trials: Trials,
    points: Float[np.ndarray, "n encoded"],
    good: Bool[np.ndarray, " n"],
) -> tuple[Constraint, ...]:
    """The constraints in the order of their names, each from the trials that have it."""
    names = sorted({name for known in trials.constraints for name in known})
    values = {
        name: np.array([known.get(name, np.nan) for known in trials.constraints], dtype=float)
        for name in names
    }
    crashed = np.asarray(trials.crashed, dtype=bool)
    if crashed.any():
        values[CRASH] = np.where(crashed, 1.0, np.where(good, -1.0, np.nan))
    found = []
    for name, c in values.items():
        known = np.isfinite(c)
        if not known.any():
            continue
        observed = np.where(known, c, np.nan)[good]
        x = space.inputs(points[known])
        found.append(Constraint.of(name, x, c[known], observed, space.image))
    return tuple(found)
