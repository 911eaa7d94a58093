"""Where the posterior is most uncertain."""

from __future__ import annotations

from dataclasses import dataclass

import jax
from jax import Array
from jaxtyping import Float

from neurobo.surrogates.gaussian_process import GP


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Uncertainty:
    """x -> -sd, relative to the sd before any observation.

    The theory assumes inputs of one length, for which the prior sd is the same everywhere. Without
    the ratio only corners of the box would be chosen, because there networks vary most.
    """

    posterior: GP

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return -self.posterior.mean_and_sd(x)[1] / self.posterior.prior_sd(x)
