"""The wide limit of the networks as a surrogate: an exact Gaussian process with the NTK or NNGP.

It is the exact counterpart of the finite-network algorithms: with `acquisition="ts"` and kernel
"ntk" it is what PosteriorSMB and STO-BNTS become when their networks are infinitely wide.
"""

from __future__ import annotations

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jax import Array

from neurobo import evidence, gp
from neurobo.acquire import LogExpectedImprovement, LowerBound
from neurobo.algorithms.base import options, register
from neurobo.data import Data
from neurobo.errors import InvalidInput, check_number
from neurobo.maximise import Score
from neurobo.ntk import Wide

ACQUISITIONS = ("ei", "ucb", "ts")


@options
class NTKGP:
    """Options of the wide limit."""

    acquisition: Literal["ei", "ucb", "ts"] = "ei"
    """Log expected improvement, confidence bound, or one drawn function (Thompson sampling)."""
    kernel: Literal["ntk", "nngp"] = "ntk"
    depth: int = 1
    activation: str = "erf"
    ard: bool = True
    """Whether each input column has a scale of its own."""
    beta: float = 4.0
    """Of the confidence bound: √β standard deviations below the mean."""

    def __post_init__(self) -> None:
        Wide(self.depth, self.activation, self.kernel)
        check_number("beta", self.beta, least=0)
        if self.acquisition not in ACQUISITIONS:
            raise InvalidInput(
                f"acquisition must be one of {list(ACQUISITIONS)}, got {self.acquisition!r}"
            )

    def score(self, key: Array, data: Data) -> Score:
        wide = Wide(self.depth, self.activation, self.kernel)
        hyper = evidence.scheduled(data, wide, ard=self.ard)
        posterior = gp.condition(data, wide, hyper)
        if self.acquisition == "ts" or not data.n:
            return gp.draw(key, posterior, data)
        if self.acquisition == "ucb":
            return LowerBound(posterior, jnp.asarray(np.asarray(self.beta, dtype=float)))
        # With noise the lowest value is luck: the lowest mean at an observation counts.
        seen = np.where(data.mask > 0, np.asarray(gp.mean(posterior, posterior.x)), np.inf)
        return LogExpectedImprovement(posterior, jnp.asarray(seen.min()))

    def radius(self, data: Data, number: int) -> float | None:
        return None


register("ntk-gp", NTKGP, "The wide limit: an exact Gaussian process with the network's kernel.")
