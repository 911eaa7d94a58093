"""Networks in NTK parameterisation: every parameter starts as N(0, 1).

    h <- act(σ_w/√fan_in · h Wᵀ + σ_b b),   linear output,   γ = (σ_w, σ_b)

The papers sometimes write the same function in standard parameterisation (weights with variance
σ_w²/fan_in) and weight the penalty by the inverse prior variance; this with a plain one is equal.
γ is an argument of `apply`, not part of the network, so that a new γ needs no new compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.errors import InvalidInput

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": jnp.tanh,
    "erf": jax.scipy.special.erf,
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
    "softplus": jax.nn.softplus,
    "sin": jnp.sin,
}


class Layer(NamedTuple):
    weight: Float[Array, "out inp"]
    bias: Float[Array, " out"]


Theta = Any  # a pytree of arrays; for an MLP a tuple of Layer
Gamma = Float[Array, "2"]
FixedGamma = float | tuple[float, float]
"""γ as users give it: one number for σ_w and σ_b, or both."""


def gamma_pair(gamma: FixedGamma) -> tuple[float, float]:
    """σ_w and σ_b."""
    return gamma if isinstance(gamma, tuple) else (gamma, gamma)


class Dense(NamedTuple):
    """What a dense layer adds to ∇f(x): δ hᵀ for its weights, δ for its biases, times γ."""

    delta: Float[Array, "n out"]
    inputs: Float[Array, "n inp"]

    def kernel(self, other: Dense, gamma: Gamma) -> Float[Array, "n m"]:
        """(δ δ'ᵀ) ∘ (σ_w²/fan_in · h h'ᵀ + σ_b²)."""
        inner = gamma[0] ** 2 / self.inputs.shape[1] * self.inputs @ other.inputs.T + gamma[1] ** 2
        return (self.delta @ other.delta.T) * inner

    def size(self, weight: Layer | None, gamma: Gamma) -> Float[Array, " n"]:
        factor = gamma[0] ** 2 / self.inputs.shape[1]
        if weight is None:
            inner = factor * jnp.sum(self.inputs**2, 1) + gamma[1] ** 2
            return jnp.sum(self.delta**2, 1) * inner
        inner = factor * self.inputs**2 @ weight.weight.T + gamma[1] ** 2 * weight.bias
        return jnp.sum(self.delta**2 * inner, 1)

    def squares(self, weight: Float[Array, " n"], gamma: Gamma) -> Layer:
        delta = weight[:, None] * self.delta**2
        factor = gamma[0] ** 2 / self.inputs.shape[1]
        return Layer(factor * delta.T @ self.inputs**2, gamma[1] ** 2 * jnp.sum(delta, 0))


class Patches(NamedTuple):
    """What a convolution adds to ∇f(x): the same summed over the places of the image."""

    weight: Float[Array, "n out inp"]
    bias: Float[Array, "n out"]

    def _flat(self, gamma: Gamma) -> Float[Array, "n p"]:
        scaled = gamma[0] / jnp.sqrt(self.weight.shape[2]) * self.weight
        parts = [scaled.reshape(len(scaled), -1), gamma[1] * self.bias]
        return jnp.concatenate(parts, axis=1)

    def kernel(self, other: Patches, gamma: Gamma) -> Float[Array, "n m"]:
        return self._flat(gamma) @ other._flat(gamma).T

    def size(self, weight: Layer | None, gamma: Gamma) -> Float[Array, " n"]:
        if weight is None:
            return jnp.sum(self._flat(gamma) ** 2, 1)
        return self._flat(gamma) ** 2 @ jnp.concatenate([weight.weight.ravel(), weight.bias])

    def squares(self, weight: Float[Array, " n"], gamma: Gamma) -> Layer:
        found = weight @ self._flat(gamma) ** 2
        _, out, inp = self.weight.shape
        return Layer(found[: out * inp].reshape(out, inp), found[out * inp :])


Features = list[Dense | Patches]
"""∇f(x; θ) layer by layer from the input to the output, without the n × p Jacobian."""


class Architecture:
    """What every architecture shares: hidden layers, then a linear output."""

    def init(self, key: Array, dim: int) -> Theta:
        raise NotImplementedError

    def hidden(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        """What the output layer sees."""
        raise NotImplementedError

    def features(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Features:
        raise NotImplementedError

    def apply(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return affine(theta[-1], gamma, self.hidden(theta, gamma, x))[:, 0]

    @staticmethod
    def without_last_layer(theta: Theta) -> Theta:
        """θ with the output layer set to zero (Greedy, Algorithm 3, line 3)."""
        return (*theta[:-1], jax.tree.map(jnp.zeros_like, theta[-1]))

    @staticmethod
    def negated(theta: Theta) -> Theta:
        """The parameters of -f."""
        return (*theta[:-1], jax.tree.map(jnp.negative, theta[-1]))

    def tangent_kernel(
        self, theta: Theta, gamma: Gamma, a: Float[Array, "n d"], b: Float[Array, "m d"]
    ) -> Float[Array, "n m"]:
        """⟨∇f(a_i; θ), ∇f(b_j; θ)⟩."""
        left = self.features(theta, gamma, a)
        right = left if a is b else self.features(theta, gamma, b)
        parts: Any = zip(left, right, strict=True)
        return sum((p.kernel(q, gamma) for p, q in parts), start=jnp.zeros((len(a), len(b))))

    def tangent_size(
        self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"], weight: Theta | None = None
    ) -> Float[Array, " n"]:
        """Σ_p weight_p (∂f(x_i; θ)/∂θ_p)²."""
        # No weight is not a weight of ones: XLA (jaxlib 0.10.2) has given NaN for a product with a
        # constant matrix of ones.
        weights = [None] * len(theta) if weight is None else weight
        parts = zip(self.features(theta, gamma, x), weights, strict=True)
        return sum((p.size(w, gamma) for p, w in parts), start=jnp.zeros(len(x)))

    def tangent_squares(
        self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"], weight: Float[Array, " n"]
    ) -> Theta:
        """Σ_i weight_i (∂f(x_i; θ)/∂θ_p)² for every parameter p."""
        return tuple(part.squares(weight, gamma) for part in self.features(theta, gamma, x))


def activated(
    layer: Layer, gamma: Gamma, h: Float[Array, "*n inp"], act: Callable[[Array], Array]
) -> tuple[Float[Array, "*n out"], Float[Array, "*n out"]]:
    """What a layer puts out, and the slope of its activation."""
    z = affine(layer, gamma, h)
    out, slope = jax.jvp(act, (z,), (jnp.ones_like(z),))
    return out, slope


def backward(layer: Layer, gamma: Gamma, delta: Float[Array, "n out"]) -> Float[Array, "n inp"]:
    """The derivative by a layer's inputs from that by its sums."""
    return gamma[0] / jnp.sqrt(layer.weight.shape[1]) * delta @ layer.weight


def affine(layer: Layer, gamma: Gamma, h: Float[Array, "*n inp"]) -> Float[Array, "*n out"]:
    return gamma[0] / jnp.sqrt(h.shape[-1]) * h @ layer.weight.T + gamma[1] * layer.bias


def random_layers(key: Array, shapes: list[tuple[int, int]]) -> Theta:
    """Layers of normal numbers, from one call of the generator: a call for each array would take
    longer to compile."""
    counts = [n for out, inp in shapes for n in (out * inp, out)]
    parts = iter(jnp.split(jax.random.normal(key, (sum(counts),)), np.cumsum(counts)[:-1]))
    return tuple(Layer(next(parts).reshape(shape), next(parts)) for shape in shapes)


def check_smooth(name: str) -> None:
    """Refuse an activation that differential equations cannot use."""
    if name == "relu":
        raise InvalidInput(
            "activation must have derivatives of every order, such as tanh, got 'relu'"
        )


def check_activation(name: str) -> None:
    if name not in ACTIVATIONS:
        raise InvalidInput(f"activation must be one of {sorted(ACTIVATIONS)}, got {name!r}")
