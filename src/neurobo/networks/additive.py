"""Sums of functions of one column."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.errors import check_count
from neurobo.networks.architectures import (
    ACTIVATIONS,
    Architecture,
    Dense,
    Features,
    Gamma,
    Layer,
    Patches,
    Theta,
    backward,
    check_activation,
    random_layers,
)


@dataclass(frozen=True)
class Additive(Architecture):
    """A sum of functions of one column each: every unit of its only hidden layer sees one column.

    Few functions of many variables are such sums, but those are learnt from few values.
    """

    width: int = 1024
    """Units of all columns together."""
    activation: str = "sin"

    def __post_init__(self) -> None:
        check_count("width", self.width)
        check_activation(self.activation)

    def init(self, key: Array, dim: int) -> Theta:
        return random_layers(key, [(self.width, 1), (1, self.width)])

    def _seen(self, x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        """The column that each unit sees."""
        return x[:, np.arange(self.width) % x.shape[1]]

    def _sums(self, layer: Layer, gamma: Gamma, x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        return gamma[0] * layer.weight[:, 0] * self._seen(x) + gamma[1] * layer.bias

    def hidden(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        return ACTIVATIONS[self.activation](self._sums(theta[0], gamma, x))

    def features(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Features:
        z = self._sums(theta[0], gamma, x)
        h, slope = jax.jvp(ACTIVATIONS[self.activation], (z,), (jnp.ones_like(z),))
        last = jnp.ones((x.shape[0], 1), x.dtype)
        delta = backward(theta[1], gamma, last) * slope
        return [Patches((delta * self._seen(x))[:, :, None], delta), Dense(last, h)]
