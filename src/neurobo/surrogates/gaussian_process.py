"""The infinitely wide network: an exact Gaussian process with the kernel of an infinite network.

It is what the finite networks approach as they get wider, without training anything. Everything is
a pytree in units of the standardised objective, padded like the data.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import solve_triangular
from jaxtyping import Float

from neurobo.compilation import compiled
from neurobo.data.observations import Data
from neurobo.networks.additive import Additive
from neurobo.networks.architectures import Architecture, Gamma
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.input_maps import on_sphere
from neurobo.networks.keys import fold_in, split
from neurobo.networks.mlp import MLP
from neurobo.surrogates.draws import Network, Tangent, normal, random_network
from neurobo.surrogates.gaussian_conditioning import matheron_weights, remaining_sd
from neurobo.surrogates.hyperparameters import Hyper
from neurobo.surrogates.marginal_likelihood import JITTER
from neurobo.training import landmarks

PRIOR_WIDTH = 4096
"""Width of the network whose tangent stands for a draw from the prior."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GP:
    """The posterior of ν f with f ~ GP(0, Θ), given the data."""

    wide: InfiniteWidthMLP = field(metadata={"static": True})
    gamma: Gamma
    scales: Float[Array, " d"]
    scale: Float[Array, ""]
    """ν."""
    noise: Float[Array, ""]
    """σ²."""
    x: Float[Array, "N d"]
    """The observations, or the landmarks among many."""
    mask: Float[Array, " N"]
    whiten: Float[Array, "N N"]
    """L⁻¹, where L Lᵀ = ν² Θ + σ² I, with a unit row for padding; with landmarks their R."""
    weights: Float[Array, " N"]
    """(ν² Θ + σ² I)⁻¹ y."""
    gain: Float[Array, "N n"] | None = None
    """With landmarks: from values of the n observations to weights."""
    missing: Float[Array, ""] | None = None
    """With landmarks: the share of the variance that they miss."""

    def seen(self, x: Float[Array, "n d"]) -> Float[Array, "n inp"]:
        """What networks of this kind see of points."""
        return on_sphere(x, self.scales) if self.wide.sphere else x * self.scales

    def cross(self, x: Float[Array, "n d"]) -> Float[Array, "n N"]:
        return self.scale**2 * self.wide.between(x, self.x, self.gamma, self.scales) * self.mask

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.cross(x) @ self.weights

    def prior_sd(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.scale * jnp.sqrt(self.wide.variance(x, self.gamma, self.scales))

    def mean_and_sd(self, x: Float[Array, "n d"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        cross = self.cross(x)
        prior = self.prior_sd(x) ** 2
        explained = jnp.sum((cross @ self.whiten.T) ** 2, axis=1)
        return cross @ self.weights, remaining_sd(prior, explained)

    def covariance(self, x: Float[Array, "n d"]) -> Float[Array, "n n"]:
        """The joint posterior covariance at a few points."""
        prior = self.scale**2 * self.wide.between(x, x, self.gamma, self.scales)
        half = self.cross(x) @ self.whiten.T
        return prior - half @ half.T


@compiled(static="wide")
def _condition(
    wide: InfiniteWidthMLP, gamma: Array, scales: Array, scale: Array, noise: Array,
    x: Array, y: Array, mask: Array,
) -> GP:  # fmt: skip
    variance = scale**2 * wide.variance(x, gamma, scales)
    covariance = scale**2 * wide.between(x, x, gamma, scales) * mask * mask[:, None]
    covariance += jnp.diag(jnp.where(mask > 0, noise + JITTER * variance, 1.0))
    factor = jnp.linalg.cholesky(covariance)
    whiten = solve_triangular(factor, jnp.eye(len(y)), lower=True)
    weights = whiten.T @ (whiten @ (y * mask))
    return GP(wide, gamma, scales, scale, noise, x, mask, whiten, weights)


@compiled(static="wide")
def _condition_many(
    wide: InfiniteWidthMLP, gamma: Array, scales: Array, scale: Array, noise: Array,
    x: Array, y: Array, mask: Array, chosen: Array,
) -> GP:  # fmt: skip
    variance = scale**2 * wide.variance(x, gamma, scales) * mask
    columns = scale**2 * wide.between(x, x[chosen], gamma, scales) * mask[:, None]
    root, gain, missing = landmarks.explained(columns, variance, chosen, noise)
    return GP(
        wide, gamma, scales, scale, noise, x[chosen], mask[chosen],
        root, gain @ (y * mask), gain, missing,
    )  # fmt: skip


def condition(data: Data, wide: InfiniteWidthMLP, hyper: Hyper) -> GP:
    """The posterior given the data."""
    chosen = landmarks.choose(data.y, data.mask)
    numbers = (hyper.gamma, hyper.scales, hyper.scale, hyper.noise)
    arrays = (np.asarray(v, dtype=float) for v in numbers)
    data_arrays = data.x, data.y, data.mask
    if chosen is not None:
        return _condition_many(wide, *arrays, *data_arrays, jnp.asarray(chosen))
    return _condition(wide, *arrays, *data_arrays)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GPDraw:
    """x -> one function drawn from the posterior: a draw from the prior, corrected by the data."""

    gp: GP
    prior: Network | Tangent
    weights: Float[Array, " N"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.gp.scale * self.prior(self.gp.seen(x)) + self.gp.cross(x) @ self.weights


@compiled
def _correct(
    gp: GP, prior: Network | Tangent, x: Array, y: Array, mask: Array, epsilon: Array
) -> Float[Array, " N"]:
    """(ν² Θ + σ² I)⁻¹ (y + σ ε - ν f(X)): Matheron's rule."""
    seen = gp.scale * prior(gp.seen(x)) + jnp.sqrt(gp.noise) * epsilon
    missed = (y - seen) * mask
    return matheron_weights(missed, gp.whiten, gp.gain)


def draw(key: Array, gp: GP, data: Data) -> GPDraw:
    """A function drawn from the posterior, to be evaluated anywhere.

    The prior's draw is a random network's tangent (NTK) or the network itself (NNGP). Its
    covariance is the kernel exactly for one hidden layer, and up to 1/width for more, so the draw
    has the exact posterior mean and covariance; only its higher moments depend on the width.
    """
    start, direction, noise = split(key, 3)
    network, dim = _prior_network(gp.wide, data.x.shape[1]), data.x.shape[1] + gp.wide.sphere
    theta0 = random_network(network, start, dim)
    prior: Network | Tangent
    if gp.wide.kind == "ntk":
        prior = Tangent(network, gp.gamma, theta0, random_network(network, direction, dim))
    else:
        prior = Network(network, gp.gamma, theta0)
    epsilon = normal(noise, len(data.y))
    arrays = (jnp.asarray(v) for v in (data.x, data.y, data.mask, epsilon))
    return GPDraw(gp, prior, _correct(gp, prior, *arrays))


def _prior_network(wide: InfiniteWidthMLP, columns: int) -> Architecture:
    """The finite network whose tangent has this kernel."""
    if not wide.additive:
        return MLP(PRIOR_WIDTH, wide.depth, wide.activation)
    return Additive(PRIOR_WIDTH - PRIOR_WIDTH % columns, wide.activation)  # each column has as many


@dataclass(frozen=True)
class GPSurrogate:
    """The Gaussian process with these hyper-parameters, which pending points do not change."""

    wide: InfiniteWidthMLP
    hyper: Hyper

    def fit(self, key: Array, data: Data) -> GP:
        """What the data say; no chance is involved."""
        return condition(data, self.wide, self.hyper)

    def infinite_width(self, data: Data) -> tuple[InfiniteWidthMLP, Hyper]:
        return self.wide, self.hyper

    def sample(self, key: Array, data: Data, number: int) -> GPDraw:
        return draw(fold_in(key, number), self.fit(key, data), data)
