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


def _activated(
    layer: Layer, gamma: Gamma, h: Float[Array, "*n inp"], act: Callable[[Array], Array]
) -> tuple[Float[Array, "*n out"], Float[Array, "*n out"]]:
    """What a layer puts out, and the slope of its activation."""
    z = affine(layer, gamma, h)
    out, slope = jax.jvp(act, (z,), (jnp.ones_like(z),))
    return out, slope


def _back(layer: Layer, gamma: Gamma, delta: Float[Array, "n out"]) -> Float[Array, "n inp"]:
    """The derivative by a layer's inputs from that by its sums."""
    return gamma[0] / jnp.sqrt(layer.weight.shape[1]) * delta @ layer.weight


def affine(layer: Layer, gamma: Gamma, h: Float[Array, "*n inp"]) -> Float[Array, "*n out"]:
    return gamma[0] / jnp.sqrt(h.shape[-1]) * h @ layer.weight.T + gamma[1] * layer.bias


def _random(key: Array, shapes: list[tuple[int, int]]) -> Theta:
    """Layers of normal numbers, from one call of the generator: a call for each array would take
    longer to compile."""
    counts = [n for out, inp in shapes for n in (out * inp, out)]
    parts = iter(jnp.split(jax.random.normal(key, (sum(counts),)), np.cumsum(counts)[:-1]))
    return tuple(Layer(next(parts).reshape(shape), next(parts)) for shape in shapes)


def stretched(x: Float[Array, "n d"], bends: Float[Array, " d"]) -> Float[Array, "n d"]:
    """Columns within [-1, 1], stretched at the lower end if their t is above 0, else at the upper.

        u = (1 + x)/2,   w = log(1 + (eᵗ - 1) u)/t

    A range of R to 1 gets its logarithm with t = log R. Seen from the other end, t is -t.
    """
    small = jnp.abs(bends) < 1e-4
    t = jnp.where(small, 1.0, bends)
    w = jnp.log1p(jnp.expm1(t) * (1 + x) / 2) / t
    return jnp.where(small, x + bends * (1 - x**2) / 4, 2 * w - 1)  # exact, and its slope, at 0


def on_sphere(x: Float[Array, "n d"], scales: Float[Array, " d"]) -> Float[Array, "n d+1"]:
    """Scaled points of [-1, 1]^d with one more column that gives all of them the same length.

    The papers' theory assumes inputs of one length. Here it pays because the column is a bowl: with
    the others it makes bowls around any place nearly linear, so that networks see from points far
    outside how low they are, which in many dimensions is where all points are.
    """
    return jnp.concatenate([x * scales, lift(x, scales)[:, None]], axis=1)


def lift(x: Float[Array, "n d"], scales: Float[Array, " d"]) -> Float[Array, " n"]:
    """That column."""
    rest = jnp.sum(scales**2 * (1 - x**2), axis=1)
    # The floor keeps the root's slope finite in a corner.
    return jnp.sqrt(jnp.maximum(rest, 1e-9 * jnp.sum(scales**2)))


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
    sphere: bool = False
    """Whether inputs, which must not be scaled, are put on a sphere."""

    def __post_init__(self) -> None:
        check_count("width", self.width)
        check_count("depth", self.depth)
        _check_activation(self.activation)

    def _seen(self, x: Float[Array, "n d"]) -> Float[Array, "n inp"]:
        return on_sphere(x, jnp.ones(x.shape[1])) if self.sphere else x

    def init(self, key: Array, dim: int) -> Theta:
        sizes = [dim + self.sphere, *([self.width] * self.depth), 1]
        return _random(key, list(zip(sizes[1:], sizes, strict=False)))

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
            h, slope = _activated(layer, gamma, inputs[-1], act)
            inputs.append(h)
            slopes.append(slope)
        delta = jnp.ones((x.shape[0], 1), x.dtype)
        found: Features = [Dense(delta, inputs[-1])]
        for layer, slope, h in zip(theta[:0:-1], slopes[::-1], inputs[-2::-1], strict=True):
            delta = _back(layer, gamma, delta) * slope
            found.append(Dense(delta, h))
        return found[::-1]


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
        _check_activation(self.activation)

    def init(self, key: Array, dim: int) -> Theta:
        return _random(key, [(self.width, 1), (1, self.width)])

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
        delta = _back(theta[1], gamma, last) * slope
        return [Patches((delta * self._seen(x))[:, :, None], delta), Dense(last, h)]


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
        drawn, drawn_slope = _activated(theta[0], gamma, patches, act)
        pooled, unpool = jax.vjp(self._pool, drawn)
        h, slope = _activated(theta[1], gamma, pooled, act)
        last = jnp.ones((x.shape[0], 1), x.dtype)
        delta = _back(theta[2], gamma, last) * slope
        (before,) = unpool(_back(theta[1], gamma, delta))
        places = before * drawn_slope
        first = Patches(jnp.einsum("nhwo,nhwi->noi", places, patches), jnp.sum(places, axis=(1, 2)))
        return [first, Dense(delta, pooled), Dense(last, h)]


def network_for(
    image: tuple[int, int, int] | None,
    width: int,
    depth: int,
    activation: str,
    *,
    sphere: bool = False,
) -> Architecture:
    """A fully connected network, or a convolutional one for images, which has its own sizes."""
    if image is None:
        return MLP(width, depth, activation, sphere)
    return CNN(image, activation=activation)
