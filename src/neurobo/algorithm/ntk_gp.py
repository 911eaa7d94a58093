"""The wide limit of the networks as a surrogate: an exact Gaussian process with the NTK or NNGP.

It is the exact counterpart of the finite-network algorithms: with `acquisition="ts"` and kernel
"ntk" it is what PosteriorSMB and STO-BNTS become when their networks are infinitely wide.
"""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from neurobo.acquisition.exploration import sto_beta
from neurobo.acquisition.functions import (
    LogExpectedImprovement,
    LowerBound,
    expected,
    expected_best,
)
from neurobo.acquisition.noisy_improvement import noisy_improvement, truths
from neurobo.algorithm.registry import options, register
from neurobo.data.observations import Data
from neurobo.errors import check_choice, check_flag, check_number
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.search.optimiser import Region, Score
from neurobo.surrogates import gaussian_process as gp
from neurobo.surrogates import refit_schedule
from neurobo.surrogates.hyperparameters import Hyper

NOISY = 1e-3
"""Variance of noise that counts, in units of the standardised objective."""
TRUTHS = 32
"""That improvements are averaged over if values are known to be noisy. What only looks noisy may
be rugged: one truth for each suggestion explores more."""
BOWL = 1.0
"""Height of the prior's bowl if values are known to be noisy."""


@options
class NTKGP:
    """Options of the wide limit."""

    acquisition: Literal["ei", "ucb", "ts"] = "ei"
    """Log expected improvement, confidence bound, or one drawn function (Thompson sampling).
    Under noise "ei" is noisy expected improvement."""
    kernel: Literal["ntk", "nngp"] = "ntk"
    depth: int = 1
    activation: str = "erf"
    ard: bool = True
    """Whether each input column has a scale of its own."""
    sphere: bool = True
    """Whether inputs are put on a sphere, as the theory assumes, by one more column. False: the
    network sees the box, and varies most in its corners."""
    noise: float | None = None
    """Variance of the noise, in units of the standardised objective. None: by evidence."""
    beta: float | Literal["theory"] = 4.0
    """Of the confidence bound: √β standard deviations below the mean. "theory" is β_t of STO-BNTS'
    Theorem 1 for a grid of 100 values in each column."""

    def __post_init__(self) -> None:
        InfiniteWidthMLP(self.depth, self.activation, self.kernel)
        check_flag("sphere", self.sphere)
        if self.beta != "theory":
            check_number("beta", self.beta, least=0)
        if self.noise is not None:
            check_number("noise", self.noise, least=0)
        check_choice("acquisition", self.acquisition, ("ei", "ucb", "ts"))

    def score(self, key: Array, data: Data, number: int) -> Score:
        if self.acquisition == "ts" or not data.n:
            return self.sample(key, data, number)
        believed, found = self._believing(key, data)
        if self.acquisition == "ucb":
            return LowerBound(found, jnp.asarray(np.asarray(self._beta(data), dtype=float)))
        hyper = self.hyper(data)
        if hyper.noise < NOISY or found.gain is not None:  # many observations: noise averages out
            # With noise the lowest value is luck: the lowest mean at an observation counts.
            return LogExpectedImprovement(found, jnp.asarray(expected_best(found, data)))
        # The mean alone would be so sure of the best point that it goes there again and again.
        count, bowl = (TRUTHS, BOWL) if data.noisy else (1, 0.0)
        key = jax.random.fold_in(key, number)
        return noisy_improvement(truths(key, believed, found, hyper, count, bowl=bowl), data)

    def _beta(self, data: Data) -> float:
        if self.beta == "theory":
            return sto_beta(data.n + 1, data.x.shape[1] * np.log(100))
        return self.beta

    def posterior(self, key: Array, data: Data) -> gp.GP:
        """What the data say; no chance is involved."""
        return gp.condition(data, self.wide, self.hyper(data))

    @property
    def wide(self) -> InfiniteWidthMLP:
        return InfiniteWidthMLP(self.depth, self.activation, self.kernel, self.sphere)

    def hyper(self, data: Data) -> Hyper:
        return refit_schedule.scheduled(data, self.wide, ard=self.ard, noise=self.noise)

    def _believing(self, key: Array, data: Data) -> tuple[Data, gp.GP]:
        """As if pending points had turned out as expected: it knows where not to go again."""
        found = self.posterior(key, data)
        if not len(data.pending):
            return data, found
        believed = data.believing(expected(found, data))
        return believed, gp.condition(believed, self.wide, self.hyper(data))

    def sample(self, key: Array, data: Data, number: int) -> Score:
        """One function drawn from the posterior."""
        return gp.draw(jax.random.fold_in(key, number), self.posterior(key, data), data)

    def region(self, data: Data, number: int) -> Region | None:
        return None


register("ntk-gp", NTKGP, "The wide limit: an exact Gaussian process with the network's kernel.")
