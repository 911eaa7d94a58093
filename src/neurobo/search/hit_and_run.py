"""Random points of a feasible set: many Markov chains that never leave it.

Hit-and-run (Smith, 1984): a point moves to a uniform position on the chord through it in a random
direction, here one of as many axes as the region has dimensions. The stationary distribution is
uniform (log-uniform in logarithmic ranges), in thin regions too, because axes are as long as the
region is wide. Whole columns move along the chords of a lattice, groups (`AtMost`) exchange a
component, and callables are respected by slice sampling: a position that they refuse shortens the
chord (Neal, 2003).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from neurobo.space.encoders import Matrix
from neurobo.space.feasible_set import FeasibleSet, Points
from neurobo.space.search_space import Space

SHRINKS = 24
"""How often a chord is shortened before a point stays where it is."""
NEVER = 1e-13
"""Speeds below this share of the fastest column are rounding."""


@dataclass(frozen=True)
class Walk:
    """A random walk in a feasible set, inside a box."""

    space: Space
    feasible: FeasibleSet
    rng: np.random.Generator
    low: Float[np.ndarray, " p"] | float = -1.0
    high: Float[np.ndarray, " p"] | float = 1.0
    """The box, in z."""
    radius: Float[np.ndarray, " n"] | None = None
    """The longest move of each point in any column, but a whole step at least; None: any."""
    level: float = 0.0
    """Callables may be as high as this."""

    def after(self, x: Matrix, sweeps: int) -> Matrix:
        """Points after this many moves of each kind."""
        x = self.space.filled(x, self.rng)  # a move of a parent may activate what was not
        region, z = self.feasible, self.feasible.z(x)
        for _ in range(sweeps):
            if region.directions.shape[1]:
                z = self._slide(x, z)
            if len(region.lattice):
                z = self._jump(x, z)
            if region.groups:
                z = self._exchange(x, z)
            if region.oracle is not None:
                x = self._recategorise(region.put(x, z))
        return self.space.snap(region.put(x, self._restored(z)))

    def _slide(self, x: Matrix, z: Points) -> Points:
        """Along a chord of the continuous columns."""
        region, n = self.feasible, len(z)
        axes = region.directions.T
        if not region.groups:  # one axis at a time mixes faster than mixtures of all
            d = axes[self.rng.integers(len(axes), size=n)]
        else:
            d = self.rng.normal(size=(n, len(axes))) @ axes
            free = opened(region, z, self.rng)
            d = _kept(region, d * free, free)
        start, end = self._chord(z, d)
        if self.radius is not None:
            speed = np.abs(d) / region.scale.slope(region.scale.to_x(z))  # of encoded columns
            most = self.radius / np.maximum(np.max(speed, axis=1), 1e-300)
            start, end = np.maximum(start, -most), np.minimum(end, most)
        allowed = self._slice(x, z)
        t = self.rng.uniform(start, end)
        if allowed is None:
            return z + t[:, None] * d
        for _ in range(SHRINKS):
            refused = ~allowed(z + t[:, None] * d)
            if not refused.any():
                break
            start = np.where(refused & (t < 0), t, start)
            end = np.where(refused & (t >= 0), t, end)
            t = np.where(refused, self.rng.uniform(start, end), t)
        t = np.where(allowed(z + t[:, None] * d), t, 0.0)
        return z + t[:, None] * d

    def _jump(self, x: Matrix, z: Points) -> Points:
        """Along a chord of the lattice of whole columns."""
        steps = self.feasible.lattice
        d = steps[self.rng.integers(len(steps), size=len(z))]
        start, end = self._chord(z, d)
        if self.radius is not None:
            most = np.maximum(np.floor(self.radius / np.max(np.abs(d), axis=1)), 1.0)
            start, end = np.maximum(start, -most), np.minimum(end, most)
        start, end = np.ceil(start - 1e-9), np.floor(end + 1e-9)
        t = np.minimum(start + np.floor(self.rng.random(len(z)) * (end - start + 1)), end)
        return self._accepted(x, z, z + t[:, None] * d)

    def _exchange(self, x: Matrix, z: Points) -> Points:
        """One component of a group leaves, and another takes its place."""
        region = self.feasible
        for group in region.groups:
            used = region.nonzero(z)[:, group.columns]
            chance = self.rng.random((2, *used.shape))
            leaves = group.columns[np.argmax(np.where(used, chance[0], -1.0), axis=1)]
            enters = group.columns[np.argmax(np.where(used, -1.0, chance[1]), axis=1)]
            possible = np.asarray(used.any(axis=1) & ~used.all(axis=1))
            moved = exchanged(region, z, leaves, enters)
            z = self._accepted(x, z, np.where(possible[:, None], moved, z))
        return z

    def _recategorise(self, x: Matrix) -> Matrix:
        """Categories and candidates that callables look at are drawn anew, if that is allowed."""
        assert self.feasible.oracle is not None
        for parameter, columns in self.space.blocks():
            if parameter.ordered:
                continue
            proposed = x.copy()
            proposed[:, columns] = parameter.from_unit(self.rng.random(len(x)))
            keep = self.feasible.oracle(proposed) <= self.level
            x = np.where(keep[:, None], proposed, x)
        return x

    def _chord(self, z: Points, d: Points) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest t with z + t d in the polytope and the box."""
        region = self.feasible
        speed = np.concatenate([d @ region.a.T, d, -d], axis=1)
        room = np.concatenate([region.b - z @ region.a.T, self.high - z, z - self.low], axis=1)
        speed = np.where(np.abs(speed) > NEVER * np.max(np.abs(d), axis=1)[:, None], speed, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.maximum(room, 0.0) / speed
        start = np.max(np.where(speed < 0, t, -np.inf), axis=1, initial=-np.inf)
        end = np.min(np.where(speed > 0, t, np.inf), axis=1, initial=np.inf)
        still = ~np.isfinite(start) | ~np.isfinite(end)  # no direction is left
        return np.where(still, 0.0, start), np.where(still, 0.0, end)

    def _slice(self, x: Matrix, z: Points) -> Callable[[Points], Bool[np.ndarray, " n"]] | None:
        """Which points belong to a random level set of the density; None: all."""
        region = self.feasible
        if region.oracle is None and not region.scale.log.any():
            return None
        floor = self._log_density(z) + np.log(self.rng.uniform(1e-300, 1.0, len(z)))

        def allowed(moved: Points) -> Bool[np.ndarray, " n"]:
            inside = self._log_density(moved) >= floor
            if region.oracle is not None:
                inside &= region.oracle(self.space.snap(region.put(x, moved))) <= self.level
            return inside

        return allowed

    def _log_density(self, z: Points) -> Float[np.ndarray, " n"]:
        """Uniform in the logarithm of a logarithmic range: 1 / value."""
        scale = self.feasible.scale
        return -np.sum(np.log(scale.value(z)[:, scale.log]), axis=1)

    def _accepted(self, x: Matrix, z: Points, proposed: Points) -> Points:
        """The proposal where the constraints and the density take it."""
        region = self.feasible
        inside = region.holds(proposed)
        inside &= np.all((proposed >= self.low - 1e-9) & (proposed <= self.high + 1e-9), axis=1)
        allowed = self._slice(x, z)
        if allowed is not None:
            inside &= allowed(np.where(inside[:, None], proposed, z))
        return np.where(inside[:, None], proposed, z)

    def _restored(self, z: Points) -> Points:
        """Without the rounding of many moves."""
        region = self.feasible
        free = in_use(region, z)
        if len(region.f):
            z = z + correction(region, region.f - z @ region.e.T, free)
        return np.where(free, np.clip(z, -1.0, 1.0), z)


def in_use(region: FeasibleSet, z: Points) -> Bool[np.ndarray, "n p"]:
    """Continuous columns that are not zero by a group."""
    free = np.tile(region.continuous, (len(z), 1))
    for group in region.groups:
        free[:, group.columns] &= region.nonzero(z)[:, group.columns]
    return free


def opened(region: FeasibleSet, z: Points, rng: np.random.Generator) -> Bool[np.ndarray, "n p"]:
    """Continuous columns that may move: of a group those in use, and others up to its number."""
    free = np.tile(region.continuous, (len(z), 1))
    for group in region.groups:
        used = region.nonzero(z)[:, group.columns] + rng.random((len(z), len(group.columns)))
        rank = np.argsort(np.argsort(-used, axis=1), axis=1)
        free[:, group.columns] &= rank < group.k
    return free


def exchanged(region: FeasibleSet, z: Points, leaves: np.ndarray, enters: np.ndarray) -> Points:
    """Points whose column `enters` has the value of the column `leaves`, which becomes zero; where
    the equations do not allow that, what `leaves` had is shared by `enters` and, a little, by the
    other columns in use."""
    row, scale = np.arange(len(z)), region.scale
    value = scale.value(z)[row, leaves]
    moved = z.copy()
    low, high = scale.low[enters], scale.high[enters]
    moved[row, enters] = 2 * (value - low) / (high - low) - 1
    moved[row, leaves] = region.zero[leaves]
    fits = region.holds(moved)
    if fits.all():
        return moved
    shared = z.copy()
    shared[row, leaves] = region.zero[leaves]
    weights = in_use(region, z) * 1e-3
    weights[row, enters] = region.continuous[enters]
    weights[row, leaves] = 0.0
    shared = shared + correction(region, region.f - shared @ region.e.T, weights)
    return np.where(fits[:, None], moved, shared)


def _kept(region: FeasibleSet, d: Points, weights: np.ndarray) -> Points:
    """Directions that keep the equations, changed in the columns that have weight."""
    return d + correction(region, -d @ region.e.T, weights) if len(region.f) else d


def correction(region: FeasibleSet, missed: np.ndarray, weights: np.ndarray) -> Points:
    """The smallest change with e · change = missed, weighted least squares for each point."""
    rows = region.e * weights[:, None, :]
    gram = rows @ region.e.T + 1e-13 * np.eye(len(region.f))
    change = np.zeros(weights.shape)
    for _ in range(2):  # the second solves for the rounding of the first
        rest = missed - change @ region.e.T
        change = change + np.einsum(
            "nkp,nk->np", rows, np.linalg.solve(gram, rest[..., None])[..., 0]
        )
    return change
