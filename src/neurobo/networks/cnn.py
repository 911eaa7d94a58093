"""Convolutional networks, for images."""

from __future__ import annotations

from dataclasses import dataclass

import jax
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
    Patches,
    Theta,
    activated,
    affine,
    backward,
    check_activation,
    random_layers,
)


@dataclass(frozen=True)
class CNN(Architecture):
    """A convolutional network with one output: 3 × 3 patches, 2 × 2 mean pooling, one dense layer.

    Images come as rows of pixels, channels last.
    """

    shape: tuple[int, int, int]
    """Height, width, channels."""
    channels: int = 64
    width: int = 256
    """Of the dense layer."""
    activation: str = "relu"

    def __post_init__(self) -> None:
        check_count("channels", self.channels)
        check_count("width", self.width)
        check_activation(self.activation)

    @property
    def _window(self) -> tuple[int, int]:
        """Of pooling; a single row or column of pixels stays."""
        height, width, _ = self.shape
        return (2 if height > 1 else 1, 2 if width > 1 else 1)

    def init(self, key: Array, dim: int) -> Theta:
        height, width, depth = self.shape
        (a, b) = self._window
        pooled = (height // a) * (width // b) * self.channels
        return random_layers(
            key, [(self.channels, 9 * depth), (self.width, pooled), (1, self.width)]
        )

    def _patches(self, x: Float[Array, "n d"]) -> Float[Array, "n height width inp"]:
        """Every pixel with its neighbours: XLA's own convolution is slow in double precision."""
        height, width, _ = self.shape
        images = jnp.pad(x.reshape(-1, *self.shape), ((0, 0), (1, 1), (1, 1), (0, 0)))
        shifts = [images[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
        return jnp.concatenate(shifts, axis=-1)

    def _pool(self, h: Float[Array, "n height width out"]) -> Float[Array, "n m"]:
        (n, height, width, out), (a, b) = h.shape, self._window
        h = h[:, : height // a * a, : width // b * b]
        return h.reshape(n, height // a, a, width // b, b, out).mean((2, 4)).reshape(n, -1)

    def hidden(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        act = ACTIVATIONS[self.activation]
        h = self._pool(act(affine(theta[0], gamma, self._patches(x))))
        return act(affine(theta[1], gamma, h))

    def features(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Features:
        act = ACTIVATIONS[self.activation]
        patches = self._patches(x)
        drawn, drawn_slope = activated(theta[0], gamma, patches, act)
        pooled, unpool = jax.vjp(self._pool, drawn)
        h, slope = activated(theta[1], gamma, pooled, act)
        last = jnp.ones((x.shape[0], 1), x.dtype)
        delta = backward(theta[2], gamma, last) * slope
        (before,) = unpool(backward(theta[1], gamma, delta))
        places = before * drawn_slope
        first = Patches(jnp.einsum("nhwo,nhwi->noi", places, patches), jnp.sum(places, axis=(1, 2)))
        return [first, Dense(delta, pooled), Dense(last, h)]
