"""The wide limit of the networks as a surrogate: an exact Gaussian process with the NTK or NNGP.

It is the exact counterpart of the finite-network algorithms: with `acquisition="ts"` and kernel
"ntk" it is what PosteriorSMB and STO-BNTS become when their networks are infinitely wide.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import jax
import numpy as np
from jax import Array

from neurobo.acquisition.expected_improvement import expected_improvement
from neurobo.acquisition.exploration import sto_beta
from neurobo.acquisition.noisy_improvement import noisy_improvement, truths
from neurobo.acquisition.registry import acquire
from neurobo.acquisition.score import Score
from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import given_later, options, register
from neurobo.data.observations import Data
from neurobo.errors import check_choice, check_flag, check_number
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.surrogates import refit_schedule
from neurobo.surrogates.fantasies import with_fantasies
from neurobo.surrogates.gaussian_process import GP, GPSurrogate
from neurobo.surrogates.hyperparameters import Hyper, Logarithms
from neurobo.surrogates.posterior import Function

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
    additive: bool = False
    """Whether the network is a sum of networks of one column each, which see the box: precise from
    few observations where parameters do not interact."""
    noise: float | None = None
    """Variance of the noise, in units of the standardised objective. None: by evidence."""
    beta: float | Literal["theory"] = 4.0
    """Of the confidence bound: √β standard deviations below the mean. "theory" is β_t of STO-BNTS'
    Theorem 1 for a grid of 100 values in each column."""

    start: Logarithms | None = given_later(default=None)

    def with_start(self, start: Logarithms) -> NTKGP:
        return replace(self, start=start)

    def __post_init__(self) -> None:
        InfiniteWidthMLP(self.depth, self.activation, self.kernel)
        check_flag("sphere", self.sphere)
        check_flag("additive", self.additive)
        if self.beta != "theory":
            check_number("beta", self.beta, least=0)
        if self.noise is not None:
            check_number("noise", self.noise, least=0)
        check_choice("acquisition", self.acquisition, ("ei", "ucb", "ts"))

    @property
    def wide(self) -> InfiniteWidthMLP:
        sphere = self.sphere and not self.additive
        return InfiniteWidthMLP(self.depth, self.activation, self.kernel, sphere, self.additive)

    def hyper(self, data: Data) -> Hyper:
        return refit_schedule.scheduled(
            data, self.wide, ard=self.ard, noise=self.noise, start=self.start
        )

    def surrogate(self, data: Data) -> GPSurrogate:
        return GPSurrogate(self.wide, self.hyper(data))

    def posterior(self, key: Array, data: Data) -> GP:
        return self.surrogate(data).fit(key, data)

    def sample(self, key: Array, data: Data, number: int) -> Function:
        return self.surrogate(data).sample(key, data, number)

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        surrogate, name = self.surrogate(data), self.acquisition if data.n else "ts"
        if name == "ei" and surrogate.hyper.noise >= NOISY:
            return Decision(_noisy(surrogate, key, data, number))
        return Decision(acquire(name, surrogate, key, data, number, beta=self._beta(data)))

    def _beta(self, data: Data) -> float:
        if self.beta == "theory":
            return sto_beta(data.n + 1, data.x.shape[1] * np.log(100))
        return self.beta


def _noisy(surrogate: GPSurrogate, key: Array, data: Data, number: int) -> Score:
    """Noisy expected improvement: the mean alone would be so sure of the best point that it goes
    there again and again."""
    fantasies, posterior = with_fantasies(surrogate, key, data)
    if posterior.gain is not None:  # many observations: noise averages out
        return expected_improvement(posterior, data)
    count, bowl = (TRUTHS, BOWL) if data.noisy else (1, 0.0)
    key = jax.random.fold_in(key, number)
    sampled = truths(key, fantasies, posterior, surrogate.hyper, count, bowl=bowl)
    return noisy_improvement(sampled, data)


register("ntk-gp", NTKGP, "The wide limit: an exact Gaussian process with the network's kernel.")
