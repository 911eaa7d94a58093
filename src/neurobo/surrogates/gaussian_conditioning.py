"""What all Gaussian posteriors share: the remaining uncertainty, and Matheron's rule."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

FLOOR = 1e-12
"""The least share of the prior variance that is left."""


def remaining_sd(
    prior: Float[Array, " n"], explained: Float[Array, "*k n"]
) -> Float[Array, "*k n"]:
    """The posterior standard deviation: of the prior variance, the observations explain a part.

    At an observed point nothing is left but rounding error, whose root has no slope.
    """
    return jnp.sqrt(jnp.maximum(prior - explained, FLOOR * prior))


def matheron_weights(
    missed: Float[Array, " n"], whiten: Float[Array, "m m"], gain: Float[Array, "m n"] | None
) -> Float[Array, " m"]:
    """The weights of the kernel's columns that turn a prior sample into a posterior sample.

    `missed` is what the prior's sample, with noise, misses of the observations. `whiten` is L⁻¹,
    where L Lᵀ is the covariance of the observations; with landmarks `gain` is used instead.
    """
    return whiten.T @ (whiten @ missed) if gain is None else gain @ missed
