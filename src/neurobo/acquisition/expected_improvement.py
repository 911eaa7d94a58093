"""Expected improvement on the best observation, by its logarithm."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.acquisition.normal_tails import log_improvement
from neurobo.data.observations import Data
from neurobo.surrogates.posterior import Posterior, lowest_mean


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LogExpectedImprovement:
    """x -> -log E[max(best - f(x), 0)]."""

    posterior: Posterior
    best: Float[Array, ""]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        mean, sd = self.posterior.mean_and_sd(x)
        return -jnp.log(sd) - log_improvement((self.best - mean) / sd)


def expected_improvement(posterior: Posterior, data: Data) -> LogExpectedImprovement:
    """On the lowest mean at a feasible observation; on the prior's mean if there is none."""
    best = lowest_mean(posterior, data) if data.n else 0.0
    return LogExpectedImprovement(posterior, jax.device_put(np.asarray(best)))
