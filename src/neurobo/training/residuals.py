"""Rows r_i(θ) of the training problem: what is compared with a target.

A row set is a pytree with `values(θ)` and, for J = ∂values/∂θ, the matrix `gram(θ)` = J Jᵀ, its
`columns(θ, chosen)` and its diagonal `sizes(θ)`. Value rows of a network need no Jacobian for
these; `GeneralRows` computes gradients row by row. Rows of laws are in `physics/residuals.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Int

from neurobo.compilation import compiled
from neurobo.networks.architectures import Architecture, Gamma, Layer, Theta, affine


@runtime_checkable
class Rows(Protocol):
    def values(self, theta: Theta) -> Float[Array, " n"]: ...

    def gram(self, theta: Theta) -> Float[Array, "n n"]: ...

    def columns(self, theta: Theta, chosen: Int[Array, " m"]) -> Float[Array, "n m"]: ...

    def sizes(self, theta: Theta) -> Float[Array, " n"]: ...


@compiled
def gram_of(rows: Rows, theta: Theta) -> Float[Array, "n n"]:
    return rows.gram(theta)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ValueRows:
    """r_i(θ) = f(x_i; θ)."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    x: Float[Array, "n d"]

    def only(self, chosen: Int[Array, " m"]) -> ValueRows:
        return replace(self, x=self.x[chosen])

    def values(self, theta: Theta) -> Float[Array, " n"]:
        return self.network.apply(theta, self.gamma, self.x)

    def gram(self, theta: Theta) -> Float[Array, "n n"]:
        return self.network.tangent_kernel(theta, self.gamma, self.x, self.x)

    def columns(self, theta: Theta, chosen: Int[Array, " m"]) -> Float[Array, "n m"]:
        return self.network.tangent_kernel(theta, self.gamma, self.x, self.x[chosen])

    def sizes(self, theta: Theta) -> Float[Array, " n"]:
        return self.network.tangent_size(theta, self.gamma, self.x)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TangentRows:
    """r_i(θ) = ⟨∇f(x_i; θ0), θ⟩: linear in θ, so that one step of the solver is exact."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    x: Float[Array, "n d"]
    theta0: Theta

    @property
    def _rows(self) -> ValueRows:
        return ValueRows(self.network, self.gamma, self.x)

    def values(self, theta: Theta) -> Float[Array, " n"]:
        return jax.jvp(self._rows.values, (self.theta0,), (theta,))[1]

    def gram(self, theta: Theta) -> Float[Array, "n n"]:
        return self._rows.gram(self.theta0)

    def columns(self, theta: Theta, chosen: Int[Array, " m"]) -> Float[Array, "n m"]:
        return self._rows.columns(self.theta0, chosen)

    def sizes(self, theta: Theta) -> Float[Array, " n"]:
        return self._rows.sizes(self.theta0)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class OutputRows:
    """r_i(θ) = f(x_i) as a function of the output layer alone: linear, too."""

    gamma: Gamma
    hidden: Float[Array, "n m"]
    """What the output layer sees."""

    def values(self, theta: Layer) -> Float[Array, " n"]:
        return affine(theta, self.gamma, self.hidden)[:, 0]

    def gram(self, theta: Layer) -> Float[Array, "n n"]:
        return self._products(self.hidden)

    def columns(self, theta: Layer, chosen: Int[Array, " m"]) -> Float[Array, "n m"]:
        return self._products(self.hidden[chosen])

    def sizes(self, theta: Layer) -> Float[Array, " n"]:
        size = self.hidden.shape[1]
        return self.gamma[0] ** 2 / size * jnp.sum(self.hidden**2, axis=1) + self.gamma[1] ** 2

    def _products(self, other: Float[Array, "k m"]) -> Float[Array, "n k"]:
        size = self.hidden.shape[1]
        return self.gamma[0] ** 2 / size * self.hidden @ other.T + self.gamma[1] ** 2


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GeneralRows:
    """r_i(θ) = function(θ, points_i) for any differentiable function of one point."""

    function: Callable[[Theta, Any], Array] = field(metadata={"static": True})
    points: Any
    """A pytree of arrays whose leading axis counts rows."""
    chunk: int = field(default=64, metadata={"static": True})

    def values(self, theta: Theta) -> Float[Array, " n"]:
        return jax.vmap(self.function, in_axes=(None, 0))(theta, self.points)

    def gram(self, theta: Theta) -> Float[Array, "n n"]:
        jacobian = self._by_row(lambda g: g, theta, self.points)
        return jnp.asarray(jacobian @ jacobian.T)

    def columns(self, theta: Theta, chosen: Int[Array, " m"]) -> Float[Array, "n m"]:
        some = jax.tree.map(lambda leaf: leaf[chosen], self.points)
        among = self._by_row(lambda g: g, theta, some)
        return self._by_row(lambda g: among @ g, theta, self.points)

    def sizes(self, theta: Theta) -> Float[Array, " n"]:
        return self._by_row(lambda g: jnp.vdot(g, g), theta, self.points)

    def _by_row(self, use: Callable[[Array], Array], theta: Theta, points: Any) -> Array:
        """What is made of each row's gradient, computed `chunk` rows at a time."""

        return by_row(self.function, use, theta, points, self.chunk)


def by_row(
    function: Callable[[Theta, Any], Array],
    use: Callable[[Array], Array],
    theta: Theta,
    points: Any,
    chunk: int = 64,
) -> Array:
    """What is made of the gradient of `function` at each point, `chunk` points at a time."""

    def one(point: Any) -> Array:
        return use(ravel_pytree(jax.grad(function)(theta, point))[0])

    return jnp.asarray(jax.lax.map(one, points, batch_size=chunk))
