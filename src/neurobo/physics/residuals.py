"""Rows for laws: r_j(θ) = R(u_θ, z_j), in the same training problem as the values.

With u = location + spread · f the residual is in the user's units. Each row is divided by a size,
so that laws and values weigh alike whatever their units (`sizes_of`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Int

from neurobo.networks.architectures import Architecture, Gamma, Theta
from neurobo.physics.law import Law
from neurobo.training.residuals import TangentRows, by_row

DENSE = 3072
"""Rows up to which laws and values are solved without landmarks: rows of a law do not stand for
each other as observations of a function do."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LawRows:
    """r_j(θ) = R(location + spread (f(·; θ) + parts), z_j) / size_j."""

    law: Law = field(metadata={"static": True})
    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    x: Float[Array, "m k"]
    """The points in the law's coordinates."""
    inputs: Float[Array, "m d"]
    """What networks see of them."""
    location: Float[Array, ""]
    spread: Float[Array, ""]
    size: Float[Array, "m q"]
    """Of each point and equation."""
    parts: tuple[Any, ...] = ()
    """Functions of inputs, added to the network."""
    around: Any = None
    """A function of inputs in place of a network to take the law's derivative at."""

    def values(self, theta: Theta) -> Float[Array, " rows"]:
        found = jax.vmap(lambda at: self._one(theta, at))((self.x, self.inputs, self.size))
        return found.reshape(-1)

    def jacobian(self, theta: Theta) -> Float[Array, "rows p"]:
        """By points, a few at a time."""
        flat, unravel = ravel_pytree(theta)

        def gradients(at: tuple[Array, Array, Array]) -> Float[Array, "q p"]:
            _, back = jax.vjp(lambda t: self._one(unravel(t), at), flat)
            return jax.vmap(lambda unit: back(unit)[0])(jnp.eye(self.law.equations))

        points, few = (self.x, self.inputs, self.size), max(64 // self.law.equations, 1)
        if len(self.x) <= few:  # no loop: it compiles in half the time
            return jax.vmap(gradients)(points).reshape(-1, len(flat))
        return jax.lax.map(gradients, points, batch_size=few).reshape(-1, len(flat))

    def _one(self, theta: Theta, at: tuple[Array, Array, Array]) -> Float[Array, " q"]:
        x, inputs, size = at

        def h(row: Float[Array, " d"]) -> Float[Array, ""]:
            total = self.network.apply(theta, self.gamma, row[None])
            total = sum((part(row[None]) for part in self.parts), start=total)
            return self.location + self.spread * total[0]

        if self.around is None:
            return self.law.of(h, (x, inputs)) / size
        return linearised(self.law, self.around, h, (x, inputs)) / size


def linearised(law: Law, around: Any, h: Any, at: tuple[Array, Array]) -> Float[Array, " q"]:
    """R(v) + R'(v)[u - v] for u = h and v = `around`: the law as a linear one near v.

    Both are functions of one row of inputs.
    """

    def between(t: Array) -> Array:
        return law.of(lambda row: (1 - t) * around(row) + t * h(row), at)

    here, slope = jax.jvp(between, (jnp.zeros(()),), (jnp.ones(()),))
    return here + slope


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ValuesAndLaws:
    """Values of a network and laws, by gradients row by row."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    x: Float[Array, "n d"]
    laws: tuple[LawRows, ...]

    dense = DENSE

    def values(self, theta: Theta) -> Float[Array, " N"]:
        seen = self.network.apply(theta, self.gamma, self.x)
        return jnp.concatenate([seen, *(law.values(theta) for law in self.laws)])

    def jacobian(self, theta: Theta) -> Float[Array, "N p"]:
        def one(theta: Theta, x: Float[Array, " d"]) -> Array:
            return self.network.apply(theta, self.gamma, x[None])[0]

        seen = by_row(one, lambda g: g, theta, self.x)
        return jnp.concatenate([seen, *(law.jacobian(theta) for law in self.laws)])

    def gram(self, theta: Theta) -> Float[Array, "N N"]:
        rows = self.jacobian(theta)
        return rows @ rows.T

    def columns(self, theta: Theta, chosen: Int[Array, " m"]) -> Float[Array, "N m"]:
        rows = self.jacobian(theta)
        return rows @ rows[chosen].T

    def sizes(self, theta: Theta) -> Float[Array, " N"]:
        return jnp.sum(self.jacobian(theta) ** 2, axis=1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LinearRows:
    """Values and laws of a network's tangent, ⟨∇f(x; θ0), θ⟩: the gradients of the laws and the
    products of all are known, and one step of the solver is exact."""

    values_only: TangentRows
    omega: Float[Array, "m p"]
    """Ω: the gradients of the laws' rows."""
    cross: Float[Array, "n m"]
    """Φ Ωᵀ."""
    among: Float[Array, "m m"]
    """Ω Ωᵀ."""

    dense = DENSE

    def values(self, theta: Theta) -> Float[Array, " N"]:
        return jnp.concatenate(
            [self.values_only.values(theta), self.omega @ ravel_pytree(theta)[0]]
        )

    def gram(self, theta: Theta) -> Float[Array, "N N"]:
        seen = self.values_only.gram(theta)
        return jnp.block([[seen, self.cross], [self.cross.T, self.among]])

    def columns(self, theta: Theta, chosen: Int[Array, " k"]) -> Float[Array, "N k"]:
        return self.gram(theta)[:, chosen]

    def sizes(self, theta: Theta) -> Float[Array, " N"]:
        return jnp.concatenate([self.values_only.sizes(theta), jnp.diag(self.among)])


def sizes_of(squares: Float[np.ndarray, " m"], typical: float) -> Float[np.ndarray, " m"]:
    """What to divide the rows of a law by, from their squared norms and that of a value.

    The typical row of a law then weighs as much as a value. None weighs more: a law may be all but
    infinite at some points. Rows that are not finite get an infinite size.
    """
    good = np.isfinite(squares)
    middle = np.median(squares[good]) if good.any() else 0.0
    found = np.sqrt(np.maximum(np.where(good, squares, 0.0), middle) / typical)
    return np.where(good & (found > 0), found, np.inf)
