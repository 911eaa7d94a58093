"""Rows r_i(θ) of the training problem: what is compared with a target.

A row set is a pytree with two methods: `values(θ)`, and `gram(θ)` = J Jᵀ for J = ∂values/∂θ.
Value rows of an MLP have a Gram without a Jacobian; everything else uses `gram_by_rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from neurobo.networks import Architecture, Gamma, Layer, Theta, affine


@runtime_checkable
class Rows(Protocol):
    def values(self, theta: Theta) -> Float[Array, " n"]: ...

    def gram(self, theta: Theta) -> Float[Array, "n n"]: ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ValueRows:
    """r_i(θ) = f(x_i; θ)."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    x: Float[Array, "n d"]

    def values(self, theta: Theta) -> Float[Array, " n"]:
        return self.network.apply(theta, self.gamma, self.x)

    def gram(self, theta: Theta) -> Float[Array, "n n"]:
        return self.network.tangent_kernel(theta, self.gamma, self.x, self.x)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TangentRows:
    """r_i(θ) = ⟨∇f(x_i; θ0), θ⟩: linear in θ, so that one step of the solver is exact."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    x: Float[Array, "n d"]
    theta0: Theta

    def values(self, theta: Theta) -> Float[Array, " n"]:
        at = ValueRows(self.network, self.gamma, self.x).values
        return jax.jvp(at, (self.theta0,), (theta,))[1]

    def gram(self, theta: Theta) -> Float[Array, "n n"]:
        return ValueRows(self.network, self.gamma, self.x).gram(self.theta0)


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
        size = self.hidden.shape[1]
        return self.gamma[0] ** 2 / size * self.hidden @ self.hidden.T + self.gamma[1] ** 2


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
        return gram_by_rows(
            lambda point: jax.grad(self.function)(theta, point), self.points, self.chunk
        )


def gram_by_rows(gradient: Callable[[Any], Theta], points: Any, chunk: int) -> Float[Array, "n n"]:
    """J Jᵀ from one gradient a row, computed `chunk` rows at a time."""
    jacobian = jax.lax.map(lambda p: ravel_pytree(gradient(p))[0], points, batch_size=chunk)
    return jnp.asarray(jacobian @ jacobian.T)
