"""The scores of many points, in batches of one shape."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.acquisition.score import Score
from neurobo.compilation import compiled
from neurobo.space.encoders import Matrix
from neurobo.space.search_space import Space

CHUNK = 1024
"""Every batch is padded to this many rows: one shape, one compilation."""


@compiled
def _evaluate(score: Score, x: Float[Array, "n d"]) -> Float[Array, " n"]:
    return or_worst(score(x))


def or_worst(values: Float[Array, " n"]) -> Float[Array, " n"]:
    """Scores, where what is no number is never chosen."""
    return jnp.where(jnp.isfinite(values), values, jnp.inf)


def evaluate(score: Score, space: Space, x: Matrix) -> Float[np.ndarray, " n"]:
    """Scores of any number of encoded points, in batches of one shape."""
    found = []
    for i in range(0, len(x), CHUNK):
        part = space.inputs(x[i : i + CHUNK])
        padded = np.pad(part, ((0, CHUNK - len(part)), (0, 0)))
        found.append(np.asarray(_evaluate(score, padded))[: len(part)])
    return np.concatenate(found) if found else np.empty(0)
