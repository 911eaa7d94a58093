"""From a posterior to a score: what it is worth to evaluate a point. Lower is better."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import log_ndtr, ndtr
from jaxtyping import Float

from neurobo.gp import GP


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LogExpectedImprovement:
    """x -> -log E[max(best - f(x), 0)]."""

    posterior: GP
    best: Float[Array, ""]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        mean, sd = self.posterior.mean_and_sd(x)
        return -jnp.log(sd) - log_improvement((self.best - mean) / sd)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LowerBound:
    """x -> mean - √β sd."""

    posterior: GP
    beta: Float[Array, ""]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        mean, sd = self.posterior.mean_and_sd(x)
        return mean - jnp.sqrt(self.beta) * sd


def log_improvement(z: Float[Array, " n"]) -> Float[Array, " n"]:
    """log(φ(z) + z Φ(z)), also where φ(z) underflows or the two terms cancel."""
    # Each branch sees only arguments that it can take: NaN would leak through its gradient.
    near, far, above = jnp.clip(z, _FAR, 0.0), jnp.minimum(z, _FAR), jnp.maximum(z, 0.0)
    ratio = jnp.exp(log_ndtr(near) - _log_density(near))  # Φ/φ
    inverse = far**-2.0
    tail = jnp.log(inverse) + jnp.log1p(inverse * (-3 + inverse * (15 - 105 * inverse)))
    below = _log_density(jnp.minimum(z, 0.0)) + jnp.where(z > _FAR, jnp.log1p(near * ratio), tail)
    return jnp.where(z > 0, jnp.log(jnp.exp(_log_density(above)) + above * ndtr(above)), below)


_FAR = -20.0


def _log_density(z: Float[Array, " n"]) -> Float[Array, " n"]:
    return -(z**2) / 2 - np.log(2 * np.pi) / 2
