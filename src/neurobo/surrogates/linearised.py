"""A trained network as a posterior: its values are the mean, its gradients give the uncertainty.

The model is linear in the gradients g(x) = ∇f(x; θ) with the prior N(0, ν² I) and noise ν² λ. With
U = λ I + Σ g gᵀ the variance is ν² λ gᵀ U⁻¹ g, which needs no p × p matrix: with K = G Gᵀ it is
ν² (‖g‖² - k(x)ᵀ (K + λ I)⁻¹ k(x)).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.compilation import compiled
from neurobo.data.content_cache import content
from neurobo.data.observations import Data
from neurobo.networks.architectures import Architecture, Gamma, Theta
from neurobo.networks.keys import fold_in, split
from neurobo.surrogates import draws
from neurobo.surrogates.draws import Draw, Network, Recipe, Tangent, normal, random_network
from neurobo.surrogates.gaussian_conditioning import matheron_weights, remaining_sd
from neurobo.training import landmarks
from neurobo.training.incremental_cholesky import BLOCK, inverse_factor
from neurobo.training.landmarks import Explained
from neurobo.training.problem import JITTER
from neurobo.training.residuals import TangentRows


@dataclass(frozen=True)
class LinearisedPosterior:
    """What both forms of the variance share."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    theta: Theta
    """Where the gradients are taken."""
    function: Draw
    """The mean."""
    nu: Float[Array, ""]
    ridge: Float[Array, ""]
    """λ."""
    seen: Float[Array, "N d"]
    """The observations and pending points."""
    seen_mask: Float[Array, " N"]

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.function(x)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Exact(LinearisedPosterior):
    """The variance by the dual formula."""

    x: Float[Array, "M d"]
    """What has been seen, or the landmarks among it."""
    mask: Float[Array, " M"]
    whiten: Float[Array, "M M"]
    """L⁻¹, where L Lᵀ = K + λ I; with landmarks their R."""
    gain: Float[Array, "M N"] | None = None
    """With landmarks: from values of all that was seen to weights."""
    missing: Float[Array, ""] | None = None
    """With landmarks: the share of the variance that they miss."""

    def mean_and_sd(self, x: Float[Array, "n d"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        cross = self.network.tangent_kernel(self.theta, self.gamma, x, self.x) * self.mask
        prior = self.network.tangent_size(self.theta, self.gamma, x)
        explained = jnp.sum((cross @ self.whiten.T) ** 2, axis=1)
        return self.mean(x), self.nu * remaining_sd(prior, explained)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Diagonal(LinearisedPosterior):
    """The variance with only the diagonal of U, as NeuralUCB and NeuralTS were published."""

    inverse: Theta
    """1/U_pp."""

    def mean_and_sd(self, x: Float[Array, "n d"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        size = self.network.tangent_size(self.theta, self.gamma, x, self.inverse)
        return self.mean(x), self.nu * jnp.sqrt(self.ridge * size)


@compiled(static="network")
def tangent_kernel(network: Architecture, gamma: Gamma, theta: Theta, a: Array, b: Array) -> Array:
    return network.tangent_kernel(theta, gamma, a, b)


@compiled(static="network")
def _explained(
    network: Architecture, gamma: Gamma, theta: Theta, ridge: Array, x: Array, mask: Array,
    chosen: Array,
) -> Explained:  # fmt: skip
    columns = network.tangent_kernel(theta, gamma, x, x[chosen]) * mask[:, None]
    sizes = network.tangent_size(theta, gamma, x) * mask
    return landmarks.explained(columns, sizes, chosen, ridge)


def _whiten(
    network: Architecture, gamma: Gamma, theta: Theta, ridge: float, known: Data
) -> Float[np.ndarray, "N N"]:
    """L⁻¹, with zeros for padding."""

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        # Padded, so that there are few shapes to compile.
        sizes = (BLOCK if len(a) <= BLOCK else len(known.x)), len(known.x)
        padded = (np.pad(v, ((0, k - len(v)), (0, 0))) for v, k in zip((a, b), sizes, strict=True))
        return np.asarray(tangent_kernel(network, gamma, theta, *padded))[: len(a), : len(b)]

    corner = np.ones((1, known.x.shape[1]))
    raised = max(ridge, JITTER * float(kernel(corner, corner)[0, 0]))
    name = content(network, gamma, theta, raised)
    found = inverse_factor(name, kernel, known.x[: known.n], raised)
    return np.pad(found, (0, len(known.x) - known.n))


@compiled(static="network")
def _inverse_diagonal(
    network: Architecture, gamma: Gamma, theta: Theta, ridge: Array, x: Array, mask: Array
) -> Theta:
    squares = network.tangent_squares(theta, gamma, x, mask)
    return jax.tree.map(lambda u: 1 / (ridge + u), squares)


def around(
    function: Draw,
    data: Data,
    *,
    nu: float,
    ridge: float,
    diagonal: bool = False,
    theta: Theta | None = None,
) -> Exact | Diagonal:
    """The posterior around a trained network, the first part of `function`; its gradients are taken
    there or at the given θ."""
    trained = function.parts[0]
    assert isinstance(trained, Network)
    network, gamma = trained.network, trained.gamma
    theta = trained.theta if theta is None else theta
    # Pending points reduce the uncertainty at once: it does not depend on values.
    known = data.with_fantasies(np.zeros(len(data.pending)))
    x, mask = jnp.asarray(known.x), jnp.asarray(known.mask)
    n, r = (jnp.asarray(np.asarray(v, dtype=float)) for v in (nu, ridge))
    common = (network, gamma, theta, function, n, r, x, mask)
    if diagonal:
        inverse = _inverse_diagonal(network, gamma, theta, r, x, mask)
        return Diagonal(*common, inverse)
    chosen = landmarks.choose(known.y, known.mask)
    if chosen is None:
        return Exact(*common, x, mask, jnp.asarray(_whiten(network, gamma, theta, ridge, known)))
    found = _explained(network, gamma, theta, r, x, mask, jnp.asarray(chosen))
    return Exact(*common, x[chosen], mask[chosen], found.root, found.gain, found.missing)


@compiled
def _scaled(direction: Theta, inverse: Theta, ridge: Array) -> Theta:
    return jax.tree.map(lambda z, u: z * jnp.sqrt(ridge * u), direction, inverse)


@compiled
def _conditioned(found: Exact, start: Theta, epsilon: Float[Array, " N"]) -> Theta:
    """A draw from N(0, λ U⁻¹), from one of N(0, I) and noise: Matheron's rule."""
    seen = TangentRows(found.network, found.gamma, found.seen, found.theta).values(start)
    missed = found.seen_mask * (jnp.sqrt(found.ridge) * epsilon - seen)
    weights = matheron_weights(missed, found.whiten, found.gain)
    rows = TangentRows(found.network, found.gamma, found.x, found.theta)
    (back,) = jax.vjp(rows.values, start)[1](weights)
    return jax.tree.map(jnp.add, start, back)


def draw(key: Array, found: Exact | Diagonal) -> Draw:
    """One function: the mean plus ν ⟨g(x), w⟩ with w ~ N(0, λ U⁻¹)."""
    start_key, noise_key = split(key)
    start = random_network(found.network, start_key, len(found.function.scales))
    if isinstance(found, Diagonal):
        direction = _scaled(start, found.inverse, found.ridge)
    else:
        epsilon = jnp.asarray(normal(noise_key, len(found.seen_mask)))
        direction = _conditioned(found, start, epsilon)
    factor = found.nu / found.function.scale
    scaled = jax.tree.map(lambda leaf: factor * leaf, direction)
    tangent = Tangent(found.network, found.gamma, found.theta, scaled)
    return replace(found.function, parts=(*found.function.parts, tangent))


@dataclass(frozen=True)
class LinearisedNetwork:
    """A network trained from the run's one random start, and its gradients there."""

    recipe: Recipe
    nu: float
    ridge: float
    diagonal: bool = False

    def fit(self, key: Array, data: Data) -> Exact | Diagonal:
        mean, _ = draws.draw(key, data, self.recipe)
        return around(mean, data, nu=self.nu, ridge=self.ridge, diagonal=self.diagonal)

    def sample(self, key: Array, data: Data, number: int) -> Draw:
        return draw(fold_in(key, number), self.fit(key, data))
