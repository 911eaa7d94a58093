"""Steps that stay in a polytope exactly: projection by an active set, then a ray to the boundary.

Notation: k points with p columns z each, r rows of which the first are equations,
{ z : rows z = right (equations), rows z <= right (others), low <= z <= high }.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from neurobo.space.feasible_set import FeasibleSet, Points

PASSES = 12
"""In each of which constraints join the active set."""
MET = 1e-12
"""By how much rounding may miss a row."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Logarithmic:
    """z of encoded columns of which some are logarithmic in the user's units."""

    log: Bool[Array, " p"]
    low: Float[Array, " p"]
    high: Float[Array, " p"]

    def to_z(self, x: Float[Array, "k p"]) -> Float[Array, "k p"]:
        ratio = self.high / self.low
        z = 2 * (ratio ** ((x + 1) / 2) - 1) / (ratio - 1) - 1
        return jnp.where(self.log, z, x)

    def to_x(self, z: Float[Array, "k p"]) -> Float[Array, "k p"]:
        ratio = self.high / self.low
        value = jnp.maximum(1 + (z + 1) / 2 * (ratio - 1), 1.0)
        return jnp.where(self.log, 2 * jnp.log(value) / jnp.log(ratio) - 1, z)

    def slope(self, x: Float[Array, "k p"]) -> Float[Array, "k p"]:
        """dz / dx."""
        ratio = self.high / self.low
        slope = ratio ** ((x + 1) / 2) * jnp.log(ratio) / (ratio - 1)
        return jnp.where(self.log, slope, 1.0)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Polytope:
    """Where the continuous columns of k points may go while their other columns stay."""

    place: Int[Array, " p"]
    """The networks' input columns of z."""
    rows: Float[Array, "r p"]
    right: Float[Array, " r"]
    equation: Bool[Array, " r"]
    low: Float[Array, "k p"]
    high: Float[Array, "k p"]
    logarithmic: Logarithmic | None

    def to_z(self, x: Float[Array, "k p"]) -> Float[Array, "k p"]:
        return x if self.logarithmic is None else self.logarithmic.to_z(x)

    def to_x(self, z: Float[Array, "k p"]) -> Float[Array, "k p"]:
        return z if self.logarithmic is None else self.logarithmic.to_x(z)

    def slope(self, x: Float[Array, "k p"]) -> Float[Array, "k p"]:
        return jnp.ones_like(x) if self.logarithmic is None else self.logarithmic.slope(x)

    def along(self, at: Float[Array, "k d"], gradient: Float[Array, "k d"]) -> Float[Array, "k d"]:
        """A gradient of inputs without its part across the equations, in columns that can move."""
        x, g = at[:, self.place], gradient[:, self.place]
        z, slope = self.to_z(x), self.slope(x)
        stuck = (self.low >= self.high) | ((z <= self.low) & (g > 0)) | ((z >= self.high) & (g < 0))
        weights = jnp.where(stuck, 0.0, slope**2)
        active = jnp.broadcast_to(self.equation, (len(x), len(self.right)))
        over = self._solved(weights, active, (g / slope * weights) @ self.rows.T)
        kept = jnp.where(stuck, 0.0, g - slope * (over @ self.rows))
        return gradient.at[:, self.place].set(kept)

    def moved(self, at: Float[Array, "k d"], to: Float[Array, "k d"]) -> Float[Array, "k d"]:
        """Inputs after a step from points inside towards others, other columns as in `to`."""
        x, target = at[:, self.place], to[:, self.place]
        slope = self.slope(x)
        z = self.to_z(x)
        step = z + slope * (target - x)  # dz = slope dx
        return to.at[:, self.place].set(self.to_x(self.toward(z, step, slope**2)))

    def toward(
        self, z: Float[Array, "k p"], target: Float[Array, "k p"], weights: Float[Array, "k p"]
    ) -> Float[Array, "k p"]:
        """The point of the polytope near the target, seen from a point inside.

        As Michelot's projection on the simplex: project on the active rows, let every column that
        leaves its bounds stay there, add the rows that are broken, repeat. The segment from z to
        the result is cut where it leaves the polytope, if it does.
        """
        still = self.low >= self.high
        first = jnp.where(still, z, target)
        active = jnp.broadcast_to(self.equation, (len(z), len(self.right)))

        def going(carry: tuple[Array, ...]) -> Array:
            i, *_, done = carry
            return (i < PASSES) & ~done

        def one(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            i, at, fixed, active, _ = carry
            free = jnp.where(fixed, 0.0, weights)
            missed = jnp.where(active, self.right - at @ self.rows.T, 0.0)
            at = at + free * (self._solved(free, active, missed) @ self.rows)
            fixed = fixed | (at < self.low) | (at > self.high)
            at = jnp.clip(at, self.low, self.high)
            broken = self._missed(at) > MET
            return i + 1, at, fixed, active | broken, ~jnp.any(broken)

        carry: tuple[Array, ...] = (jnp.zeros((), int), first, still, active, jnp.zeros((), bool))
        _, end, _, _, _ = jax.lax.while_loop(going, one, carry)
        return self._cut(z, end)

    def _missed(self, z: Float[Array, "k p"]) -> Float[Array, "k r"]:
        over = z @ self.rows.T - self.right
        return jnp.where(self.equation, jnp.abs(over), over)

    def _solved(
        self, weights: Float[Array, "k p"], active: Bool[Array, "k r"], right: Float[Array, "k r"]
    ) -> Float[Array, "k r"]:
        """Multipliers of the active rows: (rows W rowsᵀ) λ = right."""
        gram = jnp.einsum("ip,kp,jp->kij", self.rows, weights, self.rows)
        both = active[:, :, None] & active[:, None, :]
        tiny = 1e-13 * jnp.max(jnp.abs(gram), axis=(1, 2), initial=0.0) + 1e-300
        size = jnp.where(active, tiny[:, None], 1.0)
        gram = jnp.where(both, gram, 0.0) + size[:, :, None] * jnp.eye(len(self.right))
        return jnp.linalg.solve(gram, jnp.where(active, right, 0.0)[..., None])[..., 0]

    def _cut(self, z: Float[Array, "k p"], end: Float[Array, "k p"]) -> Float[Array, "k p"]:
        broken = self._missed(end) > MET
        speed = (end - z) @ self.rows.T
        room = jnp.maximum(self.right - z @ self.rows.T, 0.0)
        t = jnp.where(
            broken, jnp.where(self.equation, 0.0, room / jnp.where(broken, speed, 1.0)), 1
        )
        share = jnp.clip(jnp.min(t, axis=1, initial=1.0), 0.0, 1.0)[:, None]
        return jnp.where(share >= 1.0, end, jnp.clip(z + share * (end - z), self.low, self.high))


def polytope(
    region: FeasibleSet,
    place: Int[np.ndarray, " p"],
    z: Points,
    free: Bool[np.ndarray, "k p"],
    box: tuple[Points, Points],
) -> Polytope:
    """Where the free columns of points may go inside a box, in z."""
    scale = region.scale
    logarithmic = None
    if scale.log.any():
        low, high = np.where(scale.log, scale.low, 1.0), np.where(scale.log, scale.high, 2.0)
        logarithmic = Logarithmic(jnp.asarray(scale.log), jnp.asarray(low), jnp.asarray(high))
    return Polytope(
        jnp.asarray(place),
        jnp.asarray(np.concatenate([region.e, region.a])),
        jnp.asarray(np.concatenate([region.f, region.b])),
        jnp.asarray(np.arange(len(region.f) + len(region.b)) < len(region.f)),
        jnp.asarray(np.where(free, np.minimum(box[0], z), z)),
        jnp.asarray(np.where(free, np.maximum(box[1], z), z)),
        logarithmic,
    )
