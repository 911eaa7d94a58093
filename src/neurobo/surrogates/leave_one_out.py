"""γ as in the "Be Greedy" paper: by predicting each observation from the others."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.compilation import compiled
from neurobo.data.observations import Data
from neurobo.networks.infinite_width import InfiniteWidthMLP

GRID = np.arange(0.5, 5.01, 0.5)
"""γ in the "Be Greedy" paper: [0.5, 5]."""


@compiled(static="wide")
def _left_out(
    gamma: Array, x: Array, y: Array, mask: Array, wide: InfiniteWidthMLP
) -> Float[Array, ""]:
    """Summed squared errors of predicting each observation from the others."""
    both = jnp.full(2, gamma)
    ones = jnp.ones(x.shape[1])
    kernel = wide.between(x, x, both, ones) * mask * mask[:, None]
    ridge = 1e-6 * jnp.max(wide.variance(x, both, ones))
    inverse = jnp.linalg.inv(kernel + jnp.diag(jnp.where(mask > 0, ridge, 1.0)))
    return jnp.sum((inverse @ y / jnp.diag(inverse)) ** 2 * mask)


def by_leaving_out(data: Data, wide: InfiniteWidthMLP) -> float:
    """The γ = σ_w = σ_b of the paper's range whose wide network predicts left-out values best."""
    arrays = [jnp.asarray(v) for v in (data.x, data.y, data.mask)]
    errors = [float(_left_out(jnp.asarray(g), *arrays, wide)) for g in GRID]
    return float(GRID[int(np.argmin(np.nan_to_num(errors, nan=np.inf)))])
