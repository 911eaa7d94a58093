"""A trained network as a posterior: its values are the mean, its gradients give the doubt.

The model is linear in the gradients g(x) = ∇f(x; θ) with the prior N(0, ν² I) and noise ν² λ. With
U = λ I + Σ g gᵀ the variance is ν² λ gᵀ U⁻¹ g, which needs no p × p matrix: with K = G Gᵀ it is
ν² (‖g‖² - k(x)ᵀ (K + λ I)⁻¹ k(x)).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import solve_triangular
from jaxtyping import Float

from neurobo.data import Data
from neurobo.networks import Architecture, Gamma, Theta
from neurobo.posterior import Draw, Network, Tangent, normal, random_network
from neurobo.rows import TangentRows
from neurobo.solve import JITTER, Problem, linear


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Exact:
    """The variance by the dual formula."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    theta: Theta
    function: Draw
    """The mean."""
    nu: Float[Array, ""]
    ridge: Float[Array, ""]
    """λ."""
    x: Float[Array, "N d"]
    mask: Float[Array, " N"]
    whiten: Float[Array, "N N"]
    """L⁻¹, where L Lᵀ = K + λ I."""

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.function(x)

    def mean_and_sd(self, x: Float[Array, "n d"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        cross = self.network.tangent_kernel(self.theta, self.gamma, x, self.x) * self.mask
        prior = self.network.tangent_size(self.theta, self.gamma, x)
        explained = jnp.sum((cross @ self.whiten.T) ** 2, axis=1)
        # At an observed point nothing is left but rounding error, whose root has no slope.
        return self.mean(x), self.nu * jnp.sqrt(jnp.maximum(prior - explained, 1e-12 * prior))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Diagonal:
    """The variance with only the diagonal of U, as NeuralUCB and NeuralTS were published."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    theta: Theta
    function: Draw
    nu: Float[Array, ""]
    ridge: Float[Array, ""]
    inverse: Theta
    """1/U_pp."""

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.function(x)

    def mean_and_sd(self, x: Float[Array, "n d"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        size = self.network.tangent_size(self.theta, self.gamma, x, self.inverse)
        return self.mean(x), self.nu * jnp.sqrt(self.ridge * size)


@partial(jax.jit, static_argnames="network")
def _whiten(
    network: Architecture, gamma: Gamma, theta: Theta, ridge: Array, x: Array, mask: Array
) -> Float[Array, "N N"]:
    gram = network.tangent_kernel(theta, gamma, x, x) * mask * mask[:, None]
    raised = jnp.maximum(ridge, JITTER * jnp.max(jnp.diag(gram)))
    factor = jnp.linalg.cholesky(gram + jnp.diag(jnp.where(mask > 0, raised, 1.0)))
    return solve_triangular(factor, jnp.eye(len(x)), lower=True)


@partial(jax.jit, static_argnames="network")
def _inverse_diagonal(
    network: Architecture, gamma: Gamma, theta: Theta, ridge: Array, x: Array, mask: Array
) -> Theta:
    squares = network.tangent_squares(theta, gamma, x, mask)
    return jax.tree.map(lambda u: 1 / (ridge + u), squares)


def around(
    function: Draw, data: Data, *, nu: float, ridge: float, diagonal: bool
) -> Exact | Diagonal:
    """The posterior around a trained network, the first part of `function`."""
    trained = function.parts[0]
    assert isinstance(trained, Network)
    network, gamma, theta = trained.network, trained.gamma, trained.theta
    # Pending points reduce the doubt as soon as they are chosen: it does not depend on values.
    known = data.believing(np.zeros(len(data.pending)))
    x, mask = jnp.asarray(known.x), jnp.asarray(known.mask)
    n, r = (jnp.asarray(np.asarray(v, dtype=float)) for v in (nu, ridge))
    if diagonal:
        inverse = _inverse_diagonal(network, gamma, theta, r, x, mask)
        return Diagonal(network, gamma, theta, function, n, r, inverse)
    whiten = _whiten(network, gamma, theta, r, x, mask)
    return Exact(network, gamma, theta, function, n, r, x, mask, whiten)


@jax.jit
def _scaled(direction: Theta, inverse: Theta, ridge: Array) -> Theta:
    return jax.tree.map(lambda z, u: z * jnp.sqrt(ridge * u), direction, inverse)


def draw(key: Array, found: Exact | Diagonal) -> Draw:
    """One function: the mean plus ν ⟨g(x), w⟩ with w ~ N(0, λ U⁻¹)."""
    start_key, noise_key = jax.random.split(key)
    dim = len(found.function.scales)
    start = random_network(found.network, start_key, dim)
    if isinstance(found, Diagonal):
        direction = _scaled(start, found.inverse, found.ridge)
    else:
        rows = TangentRows(found.network, found.gamma, found.x, found.theta)
        targets = np.sqrt(float(found.ridge)) * normal(noise_key, len(found.mask))
        problem = Problem(rows, jnp.asarray(targets), found.mask, found.ridge, start)
        direction = linear([problem])[0].theta
    factor = found.nu / found.function.scale
    scaled = jax.tree.map(lambda leaf: factor * leaf, direction)
    tangent = Tangent(found.network, found.gamma, found.theta, scaled)
    return Draw(found.function.scale, found.function.scales, (*found.function.parts, tangent))
