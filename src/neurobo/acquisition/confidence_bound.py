"""The lower confidence bound."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from neurobo.surrogates.posterior import Posterior


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LowerConfidenceBound:
    """x -> mean - √β sd."""

    posterior: Posterior
    beta: Float[Array, ""]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        mean, sd = self.posterior.mean_and_sd(x)
        return mean - jnp.sqrt(self.beta) * sd
