"""Networks in NTK parameterisation: every parameter starts as N(0, 1).

    h <- act(σ_w/√fan_in · h Wᵀ + σ_b b),   linear output,   γ = (σ_w, σ_b)

The papers sometimes write the same function in standard parameterisation (weights with variance
σ_w²/fan_in) and weight the penalty by the inverse prior variance; this with a plain one is equal.
γ is an argument of `apply`, not part of the network, so that a new γ needs no new compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.errors import InvalidInput, check_count

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


class LayerFeatures(NamedTuple):
    """What one layer adds to ∇f(x): the gradient is δ hᵀ for its weights and δ for its biases."""

    delta: Float[Array, "n out"]
    inputs: Float[Array, "n inp"]


@dataclass(frozen=True)
class MLP:
    """A fully connected network with one output."""

    width: int = 1024
    depth: int = 1
    """Hidden layers."""
    activation: str = "tanh"

    def __post_init__(self) -> None:
        check_count("width", self.width)
        check_count("depth", self.depth)
        if self.activation not in ACTIVATIONS:
            raise InvalidInput(
                f"activation must be one of {sorted(ACTIVATIONS)}, got {self.activation!r}"
            )

    def init(self, key: Array, dim: int) -> Theta:
        sizes = [dim, *([self.width] * self.depth), 1]
        shapes = list(zip(sizes[1:], sizes, strict=False))
        # One call of the generator: a call for each array would take longer to compile.
        counts = [n for out, inp in shapes for n in (out * inp, out)]
        numbers = jax.random.normal(key, (sum(counts),))
        parts = iter(jnp.split(numbers, np.cumsum(counts)[:-1]))
        return tuple(Layer(next(parts).reshape(shape), next(parts)) for shape in shapes)

    def apply(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        act = ACTIVATIONS[self.activation]
        h = x
        for layer in theta[:-1]:
            h = act(self._affine(layer, gamma, h))
        return self._affine(theta[-1], gamma, h)[:, 0]

    @staticmethod
    def _affine(layer: Layer, gamma: Gamma, h: Float[Array, "n inp"]) -> Float[Array, "n out"]:
        return gamma[0] / jnp.sqrt(h.shape[1]) * h @ layer.weight.T + gamma[1] * layer.bias

    @staticmethod
    def without_last_layer(theta: Theta) -> Theta:
        """θ with the output layer set to zero (Greedy, Algorithm 3, line 3)."""
        return (*theta[:-1], jax.tree.map(jnp.zeros_like, theta[-1]))

    def features(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> list[LayerFeatures]:
        """∇f(x; θ) layer by layer, without ever forming the n × p Jacobian."""
        act = ACTIVATIONS[self.activation]
        inputs, slopes = [x], []
        for layer in theta[:-1]:
            z = self._affine(layer, gamma, inputs[-1])
            h, slope = jax.jvp(act, (z,), (jnp.ones_like(z),))
            inputs.append(h)
            slopes.append(slope)
        delta = jnp.ones((x.shape[0], 1), x.dtype)
        found = [LayerFeatures(delta, inputs[-1])]
        for layer, slope, h in zip(theta[:0:-1], slopes[::-1], inputs[-2::-1], strict=True):
            delta = (gamma[0] / jnp.sqrt(layer.weight.shape[1]) * delta @ layer.weight) * slope
            found.append(LayerFeatures(delta, h))
        return found

    @staticmethod
    def kernel(gamma: Gamma, a: list[LayerFeatures], b: list[LayerFeatures]) -> Float[Array, "n m"]:
        """⟨∇f(x), ∇f(x')⟩ = Σ_layers (δ δ'ᵀ) ∘ (σ_w²/fan_in · h h'ᵀ + σ_b²)."""
        return sum(
            (p.delta @ q.delta.T)
            * (gamma[0] ** 2 / p.inputs.shape[1] * p.inputs @ q.inputs.T + gamma[1] ** 2)
            for p, q in zip(a, b, strict=True)
        )  # type: ignore[return-value]
