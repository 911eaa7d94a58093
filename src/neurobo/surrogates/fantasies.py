"""What happens to pending points: they count as observed at the values that are expected there.

A posterior given these fantasies is certain at the pending points, so that a batch spreads out.
The search excludes the points themselves (`search/exclusion.py`).
"""

from __future__ import annotations

import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.data.observations import Data
from neurobo.surrogates.posterior import P, Posterior, Surrogate, mean_at


def with_fantasies(surrogate: Surrogate[P], key: Array, data: Data) -> tuple[Data, P]:
    """The data as if pending points had turned out as expected, and the posterior given these: it
    knows where not to go again."""
    posterior = surrogate.fit(key, data)
    if not len(data.pending):
        return data, posterior
    fantasies = data.with_fantasies(means_at_pending(posterior, data))
    return fantasies, surrogate.fit(key, fantasies)


def means_at_pending(posterior: Posterior, data: Data) -> Float[np.ndarray, " k"]:
    k = len(data.pending)
    padded = Data.pad(data.pending, np.zeros(k)).x
    return np.asarray(mean_at(posterior, padded))[:k]
