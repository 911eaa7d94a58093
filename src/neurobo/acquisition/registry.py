"""The acquisition functions by name: from a surrogate to the score of a suggestion."""

from __future__ import annotations

from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jax import Array

from neurobo.acquisition.confidence_bound import LowerConfidenceBound
from neurobo.acquisition.expected_improvement import expected_improvement
from neurobo.acquisition.noisy_improvement import improvement
from neurobo.acquisition.score import Score
from neurobo.data.observations import Data
from neurobo.surrogates.fantasies import with_fantasies
from neurobo.surrogates.posterior import SamplingSurrogate


def acquire(
    name: Literal["ei", "ucb", "ts"],
    surrogate: SamplingSurrogate[Any],
    key: Array,
    data: Data,
    number: int,
    *,
    beta: float = 1.0,
    fantasies: bool = True,
) -> Score:
    """The score of suggestion `number`.

    Args:
        name: "ei" is log expected improvement (the noisy one if a Gaussian process has found
            noise), "ucb" the lower confidence bound (what is minimised
            has a lower one), "ts" a posterior sample (Thompson sampling).
        surrogate: Its posterior, or a sample of it, is scored.
        key: The run's.
        data: Observations and pending points.
        number: Of the suggestion.
        beta: √β standard deviations below the mean is the confidence bound.
        fantasies: Whether pending points count as observed at their means. False: for posteriors
            that take pending points into account themselves.
    """
    if name == "ts":
        return surrogate.sample(key, data, number)
    if name == "ei" and fantasies:
        return improvement(surrogate, key, data, number)
    if fantasies:
        _, posterior = with_fantasies(surrogate, key, data)
    else:
        posterior = surrogate.fit(key, data)
    if name == "ucb":
        return LowerConfidenceBound(posterior, jnp.asarray(np.asarray(beta, dtype=float)))
    return expected_improvement(posterior, data)
