"""The infinitely wide network as a surrogate: an exact Gaussian process with the NTK or NNGP.

It is the exact counterpart of the finite-network algorithms: with `acquisition="ts"` and kernel
"ntk" it is what PosteriorSMB and STO-BNTS become when their networks are infinitely wide.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from jax import Array

from neurobo.acquisition.exploration import sto_beta
from neurobo.acquisition.registry import acquire
from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import given_later, options, register
from neurobo.data.observations import Data
from neurobo.errors import check_choice, check_flag, check_number
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.surrogates import refit_schedule
from neurobo.surrogates.gaussian_process import GP, GPSurrogate
from neurobo.surrogates.hyperparameters import Hyper, Logarithms
from neurobo.surrogates.posterior import Function


@options
class NTKGP:
    """`ntk-gp`: the infinitely wide network, an exact Gaussian process with the neural tangent
    kernel.

    It has a closed-form posterior, and its hyper-parameters (smoothness, scales of the inputs,
    noise) are chosen by marginal likelihood. A suggestion takes a fraction of a second up to
    thousands of observations. Use it alone for plots, for uncertainty, or as a Gaussian-process
    baseline; `auto` uses it as a member.
    """

    acquisition: Literal["ei", "ucb", "ts"] = "ei"
    """"ei": log expected improvement, under noise noisy expected improvement; "ucb": lower
    confidence bound; "ts": Thompson sampling, the minimum of one posterior sample."""
    kernel: Literal["ntk", "nngp"] = "ntk"
    """"ntk": neural tangent kernel, a trained network; "nngp": the kernel of random networks, in
    which only the last layer is trained."""
    depth: int = 1
    """Number of hidden layers."""
    activation: str = "erf"
    """Activation: "erf", "tanh", "relu", "gelu", "silu", "softplus" or "sin"."""
    ard: bool = True
    """Whether each input column has a scale of its own (automatic relevance determination)."""
    sphere: bool = True
    """Whether inputs are mapped to a sphere by one more column, as the theory assumes. False: the
    network sees the box, and varies most in its corners."""
    additive: bool = False
    """Whether the kernel is a sum of kernels of one column each: precise from few observations if
    parameters do not interact."""
    noise: float | None = None
    """Noise variance, in units of the standardised objective; 0.0 for exact values. None: chosen by
    marginal likelihood."""
    beta: float | Literal["theory"] = 4.0
    """For "ucb": the bound lies √β standard deviations below the mean. "theory" is β_t of STO-BNTS'
    Theorem 1 for a grid of 100 values in each column."""

    start: Logarithms | None = given_later(default=None)

    def with_start(self, start: Logarithms) -> NTKGP:
        return replace(self, start=start)

    def __post_init__(self) -> None:
        check_flag("sphere", self.sphere)
        check_flag("additive", self.additive)
        _ = self.wide  # which checks the rest
        check_number("beta", self.beta, least=0, unless=("theory",))
        check_number("noise", self.noise, least=0, unless=(None,))
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
        name, beta = self.acquisition if data.n else "ts", self._beta(data)
        return Decision(acquire(name, self.surrogate(data), key, data, number, beta=beta))

    def _beta(self, data: Data) -> float:
        if self.beta == "theory":
            return sto_beta(data.n + 1, data.x.shape[1] * np.log(100))
        return self.beta


register(
    "ntk-gp",
    NTKGP,
    "The infinitely wide network: an exact Gaussian process with the neural tangent kernel.",
)
