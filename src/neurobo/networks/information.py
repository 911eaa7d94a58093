"""What observations tell about a function, by its kernel."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float


def information_gain(kernel: Float[Array, "n n"], noise: float | Array) -> Float[Array, ""]:
    """½ log det(I + K/λ): what n observations with noise variance λ tell about the function."""
    return jnp.linalg.slogdet(jnp.eye(len(kernel)) + kernel / noise)[1] / 2


def interaction_information(
    values: Float[Array, "n n"],
    cross: Float[Array, "n m"],
    laws: Float[Array, "m m"],
    noise: float | Array,
    law_noise: float | Float[Array, " m"],
) -> Float[Array, ""]:
    """What observations and rows of a differential equation tell both (PINN-BO, Lemma 5.3.6).

    ½ log [det(ΦᵀΦ/λ1 + I) det(ΩᵀΩ/λ2 + I) / det(ΦᵀΦ/λ1 + ΩᵀΩ/λ2 + I)], where the arguments are the
    Grams ΦΦᵀ, ΦΩᵀ and ΩΩᵀ: by Sylvester's identity no matrix is larger than the number of rows.
    λ2 may differ from row to row.
    """
    root = jnp.sqrt(jnp.broadcast_to(jnp.asarray(law_noise), len(laws)))
    mixed, scaled = cross / jnp.sqrt(jnp.asarray(noise)) / root, laws / root / root[:, None]
    both = jnp.block([[values / noise, mixed], [mixed.T, scaled]])
    together = information_gain(both, 1.0)
    return information_gain(values, noise) + information_gain(scaled, 1.0) - together
