"""Fully connected networks."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from neurobo.errors import check_count
from neurobo.networks.architectures import (
    ACTIVATIONS,
    Architecture,
    Dense,
    Features,
    Gamma,
    Theta,
    activated,
    affine,
    backward,
    check_activation,
    random_layers,
)
from neurobo.networks.input_maps import on_sphere


@dataclass(frozen=True)
class MLP(Architecture):
    """A fully connected network with one output."""

    width: int = 1024
    depth: int = 1
    """Hidden layers."""
    activation: str = "tanh"
    sphere: bool = False
    """Whether inputs, which must not be scaled, are put on a sphere."""

    def __post_init__(self) -> None:
        check_count("width", self.width)
        check_count("depth", self.depth)
        check_activation(self.activation)

    def _seen(self, x: Float[Array, "n d"]) -> Float[Array, "n inp"]:
        return on_sphere(x, jnp.ones(x.shape[1])) if self.sphere else x

    def init(self, key: Array, dim: int) -> Theta:
        sizes = [dim + self.sphere, *([self.width] * self.depth), 1]
        return random_layers(key, list(zip(sizes[1:], sizes, strict=False)))

    def hidden(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        act = ACTIVATIONS[self.activation]
        h = self._seen(x)
        for layer in theta[:-1]:
            h = act(affine(layer, gamma, h))
        return h

    def features(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Features:
        act = ACTIVATIONS[self.activation]
        inputs, slopes = [self._seen(x)], []
        for layer in theta[:-1]:
            h, slope = activated(layer, gamma, inputs[-1], act)
            inputs.append(h)
            slopes.append(slope)
        delta = jnp.ones((x.shape[0], 1), x.dtype)
        found: Features = [Dense(delta, inputs[-1])]
        for layer, slope, h in zip(theta[:0:-1], slopes[::-1], inputs[-2::-1], strict=True):
            delta = backward(layer, gamma, delta) * slope
            found.append(Dense(delta, h))
        return found[::-1]
