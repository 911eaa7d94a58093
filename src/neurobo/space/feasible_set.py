"""Where constraints between parameters allow a point, in the coordinates of the search.

Linear constraints are linear in the user's units. An encoded column is linear in them too, unless
its range is logarithmic; so the geometry lives in z, the user's value mapped linearly to [-1, 1].
Notation: p constrained numeric columns, m inequalities, k equations, q directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from neurobo.space.encoders import Matrix
from neurobo.space.oracle import Oracle

Points = Float[np.ndarray, "_ p"]

INSIDE = 1e-9
"""By how much rounding may put a point outside, in scaled rows."""


class Group(NamedTuple):
    """At most `k` of these columns differ from zero."""

    k: int
    columns: Int[np.ndarray, " g"]


@dataclass(frozen=True)
class Scale:
    """z of the constrained columns, and back."""

    low: Float[np.ndarray, " p"]
    high: Float[np.ndarray, " p"]
    log: Bool[np.ndarray, " p"]

    def to_z(self, x: Points) -> Points:
        """Of encoded columns: the identity, except in logarithmic ranges."""
        if not self.log.any():
            return x
        unit, low, high = (x + 1) / 2, *self._positive()
        value = np.exp(np.log(low) * (1 - unit) + np.log(high) * unit)
        # The ends are exact by decree, as in the encoder.
        z = np.where(np.abs(x) >= 1, x, 2 * (value - low) / (high - low) - 1)
        return np.where(self.log, z, x)

    def to_x(self, z: Points) -> Points:
        if not self.log.any():
            return z
        low, high = self._positive()
        value = low + (z + 1) / 2 * (high - low)
        x = 2 * np.log(np.maximum(value, low) / low) / np.log(high / low) - 1
        return np.where(self.log, np.where(np.abs(z) >= 1, z, x), z)

    def slope(self, x: Points) -> Points:
        """dz / dx."""
        low, high = self._positive()
        log_ratio = np.log(high / low)
        value = low * np.exp(log_ratio * (x + 1) / 2)
        return np.where(self.log, value * log_ratio / (high - low), 1.0)

    def _positive(self) -> tuple[np.ndarray, np.ndarray]:
        return np.where(self.log, self.low, 1.0), np.where(self.log, self.high, 2.0)

    def value(self, z: Points) -> Points:
        """In the user's units."""
        return self.low + (z + 1) / 2 * (self.high - self.low)


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """{ z in [-1, 1]^p : a z <= b, e z = f, lattices, groups } and where callables are <= 0."""

    names: tuple[str, ...]
    """The parameters of z."""
    columns: Int[np.ndarray, " p"]
    """Their encoded columns."""
    scale: Scale
    a: Float[np.ndarray, "m p"]
    b: Float[np.ndarray, " m"]
    e: Float[np.ndarray, "k p"]
    f: Float[np.ndarray, " k"]
    equations: tuple[Float[np.ndarray, "_ p"], Float[np.ndarray, " _"]]
    """Equalities in the user's units."""
    spacing: Float[np.ndarray, " p"]
    """Of the lattice of whole or stepped columns; 0: continuous."""
    groups: tuple[Group, ...]
    zero: Float[np.ndarray, " p"]
    """z of the value 0, where a group needs it."""
    directions: Float[np.ndarray, "p q"]
    """Of continuous columns; they keep the equations, and are as long as the region is wide."""
    lattice: Float[np.ndarray, "l p"]
    """Smallest steps of whole columns, which keep the equations with the continuous ones' help."""
    starts: Float[np.ndarray, "s p"]
    """Points of the region: vertices, or one inside."""
    centre: Float[np.ndarray, " p"] | None
    """Of the largest ball inside, if all columns are continuous and there are no groups."""
    oracle: Oracle | None
    """The callables."""
    extended: bool = True
    """Whether these columns can vary at all."""

    @property
    def continuous(self) -> Bool[np.ndarray, " p"]:
        return self.spacing == 0

    @property
    def discrete_moves(self) -> bool:
        """Whether gradients cannot reach all of it."""
        return bool(len(self.lattice) or self.groups)

    def z(self, x: Matrix) -> Points:
        """Of encoded points; whole columns exactly on their lattice."""
        z = self.scale.to_z(x[:, self.columns])
        d = np.where(self.continuous, 1.0, self.spacing)
        return np.where(self.continuous, z, np.round((z + 1) / d) * d - 1)

    def put(self, x: Matrix, z: Points) -> Matrix:
        """Encoded points with these z."""
        out = x.copy()
        out[:, self.columns] = self.scale.to_x(z)
        return out

    def holds(self, z: Points) -> Bool[np.ndarray, " n"]:
        """Whether points meet everything but the callables."""
        inside = np.all(np.abs(z) <= 1 + INSIDE, axis=1)
        inside &= np.all(z @ self.a.T <= self.b + INSIDE, axis=1)
        inside &= np.all(np.abs(z @ self.e.T - self.f) <= INSIDE, axis=1)
        for group in self.groups:
            inside &= np.sum(self.nonzero(z)[:, group.columns], axis=1) <= group.k
        return inside

    def contains(self, x: Matrix) -> Bool[np.ndarray, " n"]:
        """Whether encoded points are allowed."""
        inside = self.holds(self.z(x))
        if self.oracle is not None and inside.any():
            inside[inside] = self.oracle(x[inside]) <= 0
        return inside

    def brought_in(self, x: Matrix) -> Matrix:
        """The encoded points that meet everything but the callables; of others the constrained
        columns are those of the nearest start."""
        z = self.z(x)
        far = ((z[:, None] - self.starts) ** 2).sum(axis=2)
        nearest = self.starts[np.argmin(far, axis=1)]
        return np.where(self.holds(z)[:, None], x, self.put(x, nearest))

    def nonzero(self, z: Points) -> Bool[np.ndarray, "n p"]:
        return np.asarray(np.abs(z - self.zero) > INSIDE)

    def settle(self, values: dict[str, Any]) -> dict[str, Any]:
        """Decoded parameters without the rounding of the encoding: zeros and sums are exact."""
        low, high = self.scale.low, self.scale.high
        half = (high - low) / 2
        v = np.array([float(values[name]) for name in self.names])
        free = self.continuous & (v > low) & (v < high)
        for group in self.groups:
            near = group.columns[np.abs(v[group.columns]) <= INSIDE * half[group.columns]]
            v[near], free[near] = 0.0, False
        rows, right = self.equations
        if len(right) and free.any():  # ranges may be wide and values small
            room = np.minimum(v - low, high - v) * free
            v = v + room * np.linalg.lstsq(rows * room, right - rows @ v, rcond=1e-10)[0]
        v = np.clip(v, low, high)
        moved = {n: float(v[i]) for i, n in enumerate(self.names) if self.continuous[i]}
        return values | moved
