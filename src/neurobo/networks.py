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
from jax.flatten_util import ravel_pytree
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


CHUNK = 64
"""Rows whose gradients are in memory at once."""


class Layer(NamedTuple):
    weight: Float[Array, "out inp"]
    bias: Float[Array, " out"]


Theta = Any  # a pytree of arrays; for an MLP a tuple of Layer
Gamma = Float[Array, "2"]


class LayerFeatures(NamedTuple):
    """What one layer adds to ∇f(x): the gradient is δ hᵀ for its weights and δ for its biases."""

    delta: Float[Array, "n out"]
    inputs: Float[Array, "n inp"]


class Architecture:
    """What every architecture shares: hidden layers, then a linear output.

    The sums over gradients go row by row in chunks; an architecture that knows better overrides
    them.
    """

    def init(self, key: Array, dim: int) -> Theta:
        raise NotImplementedError

    def hidden(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        """What the output layer sees."""
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

    def _by_row(
        self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"], use: Callable[[Theta], Array]
    ) -> Array:
        """`use` of the gradient at each row, a few rows at a time."""
        gradient = jax.grad(lambda at, row: self.apply(at, gamma, row[None])[0])
        found: Array = jax.lax.map(lambda row: use(gradient(theta, row)), x, batch_size=CHUNK)
        return found

    def tangent_kernel(
        self, theta: Theta, gamma: Gamma, a: Float[Array, "n d"], b: Float[Array, "m d"]
    ) -> Float[Array, "n m"]:
        """⟨∇f(a_i; θ), ∇f(b_j; θ)⟩."""
        others = self._by_row(theta, gamma, b, lambda g: ravel_pytree(g)[0])
        if a is b:
            return others @ others.T
        return self._by_row(theta, gamma, a, lambda g: others @ ravel_pytree(g)[0])

    def tangent_size(
        self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"], weight: Theta | None = None
    ) -> Float[Array, " n"]:
        """Σ_p weight_p (∂f(x_i; θ)/∂θ_p)²."""

        def size(g: Theta) -> Array:
            squares = jax.tree.map(jnp.square, g)
            parts = squares if weight is None else jax.tree.map(jnp.multiply, squares, weight)
            return sum((jnp.sum(leaf) for leaf in jax.tree.leaves(parts)), start=jnp.zeros(()))

        return self._by_row(theta, gamma, x, size)

    def tangent_squares(
        self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"], weight: Float[Array, " n"]
    ) -> Theta:
        """Σ_i weight_i (∂f(x_i; θ)/∂θ_p)² for every parameter p."""
        gradient = jax.grad(lambda at, row: self.apply(at, gamma, row[None])[0])

        def add(total: Theta, one: tuple[Array, Array]) -> tuple[Theta, None]:
            row, w = one
            return jax.tree.map(lambda t, g: t + w * g**2, total, gradient(theta, row)), None

        found: Theta = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, theta), (x, weight))[0]
        return found


def affine(layer: Layer, gamma: Gamma, h: Float[Array, "*n inp"]) -> Float[Array, "*n out"]:
    return gamma[0] / jnp.sqrt(h.shape[-1]) * h @ layer.weight.T + gamma[1] * layer.bias


def _random(key: Array, shapes: list[tuple[int, int]]) -> Theta:
    """Layers of normal numbers, from one call of the generator: a call for each array would take
    longer to compile."""
    counts = [n for out, inp in shapes for n in (out * inp, out)]
    parts = iter(jnp.split(jax.random.normal(key, (sum(counts),)), np.cumsum(counts)[:-1]))
    return tuple(Layer(next(parts).reshape(shape), next(parts)) for shape in shapes)


def _check_activation(name: str) -> None:
    if name not in ACTIVATIONS:
        raise InvalidInput(f"activation must be one of {sorted(ACTIVATIONS)}, got {name!r}")


@dataclass(frozen=True)
class MLP(Architecture):
    """A fully connected network with one output."""

    width: int = 1024
    depth: int = 1
    """Hidden layers."""
    activation: str = "tanh"

    def __post_init__(self) -> None:
        check_count("width", self.width)
        check_count("depth", self.depth)
        _check_activation(self.activation)

    def init(self, key: Array, dim: int) -> Theta:
        sizes = [dim, *([self.width] * self.depth), 1]
        return _random(key, list(zip(sizes[1:], sizes, strict=False)))

    def hidden(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        act = ACTIVATIONS[self.activation]
        h = x
        for layer in theta[:-1]:
            h = act(affine(layer, gamma, h))
        return h

    def features(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> list[LayerFeatures]:
        """∇f(x; θ) layer by layer, without ever forming the n × p Jacobian."""
        act = ACTIVATIONS[self.activation]
        inputs, slopes = [x], []
        for layer in theta[:-1]:
            z = affine(layer, gamma, inputs[-1])
            h, slope = jax.jvp(act, (z,), (jnp.ones_like(z),))
            inputs.append(h)
            slopes.append(slope)
        delta = jnp.ones((x.shape[0], 1), x.dtype)
        found = [LayerFeatures(delta, inputs[-1])]
        for layer, slope, h in zip(theta[:0:-1], slopes[::-1], inputs[-2::-1], strict=True):
            delta = (gamma[0] / jnp.sqrt(layer.weight.shape[1]) * delta @ layer.weight) * slope
            found.append(LayerFeatures(delta, h))
        return found

    def tangent_kernel(
        self, theta: Theta, gamma: Gamma, a: Float[Array, "n d"], b: Float[Array, "m d"]
    ) -> Float[Array, "n m"]:
        """Σ_layers (δ δ'ᵀ) ∘ (σ_w²/fan_in · h h'ᵀ + σ_b²)."""
        left = self.features(theta, gamma, a)
        right = left if a is b else self.features(theta, gamma, b)
        return sum(
            (p.delta @ q.delta.T)
            * (gamma[0] ** 2 / p.inputs.shape[1] * p.inputs @ q.inputs.T + gamma[1] ** 2)
            for p, q in zip(left, right, strict=True)
        )  # type: ignore[return-value]

    def tangent_size(
        self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"], weight: Theta | None = None
    ) -> Float[Array, " n"]:
        total = jnp.zeros(len(x))
        # Features run from the output back to the input.
        for i, (delta, h) in enumerate(self.features(theta, gamma, x)):
            factor = gamma[0] ** 2 / h.shape[1]
            if weight is None:
                total += jnp.sum(delta**2, 1) * (factor * jnp.sum(h**2, 1) + gamma[1] ** 2)
            else:
                layer = weight[-1 - i]
                inner = factor * h**2 @ layer.weight.T + gamma[1] ** 2 * layer.bias
                total += jnp.sum(delta**2 * inner, 1)
        return total

    def tangent_squares(
        self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"], weight: Float[Array, " n"]
    ) -> Theta:
        found = []
        for delta, h in self.features(theta, gamma, x):
            d = weight[:, None] * delta**2
            found.append(
                Layer(gamma[0] ** 2 / h.shape[1] * d.T @ h**2, gamma[1] ** 2 * jnp.sum(d, 0))
            )
        return tuple(reversed(found))


@dataclass(frozen=True)
class CNN(Architecture):
    """A convolutional network with one output: 3 × 3 patches, 2 × 2 mean pooling, one dense layer.

    Images come as rows of pixels, channels last.
    """

    shape: tuple[int, int, int]
    """Height, width, channels."""
    channels: int = 64
    width: int = 64
    """Of the dense layer."""
    activation: str = "relu"

    def __post_init__(self) -> None:
        check_count("channels", self.channels)
        check_count("width", self.width)
        _check_activation(self.activation)

    @property
    def _window(self) -> tuple[int, int]:
        """Of pooling; a single row or column of pixels stays."""
        height, width, _ = self.shape
        return (2 if height > 1 else 1, 2 if width > 1 else 1)

    def init(self, key: Array, dim: int) -> Theta:
        height, width, depth = self.shape
        (a, b) = self._window
        pooled = (height // a) * (width // b) * self.channels
        return _random(key, [(self.channels, 9 * depth), (self.width, pooled), (1, self.width)])

    def hidden(self, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        act = ACTIVATIONS[self.activation]
        height, width, _ = self.shape
        images = jnp.pad(x.reshape(-1, *self.shape), ((0, 0), (1, 1), (1, 1), (0, 0)))
        # Patches as rows of a matrix: XLA's own convolution is slow in double precision.
        shifts = [images[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
        h = act(affine(theta[0], gamma, jnp.concatenate(shifts, axis=-1)))
        a, b = self._window
        h = h[:, : height // a * a, : width // b * b]
        h = h.reshape(len(x), height // a, a, width // b, b, self.channels).mean((2, 4))
        return act(affine(theta[1], gamma, h.reshape(len(x), -1)))
