"""STO-BNTS and STO-BNTS-Linear (Dai et al., "Sample-Then-Optimize Batch Neural Thompson Sampling",
Algorithms 1 and 2).

Each point of a batch is the minimum of one function drawn from the posterior of the network's
tangent kernel, so that a batch needs nothing but several draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import jax
import numpy as np
from jax import Array

from neurobo.algorithms.base import options, register
from neurobo.algorithms.settings import (
    Gammas,
    Region,
    check_gamma,
    check_region,
    hyper_for,
    network_for,
    radius_for,
)
from neurobo.data import Data
from neurobo.errors import InvalidInput, check_number
from neurobo.maximise import Score
from neurobo.networks import MLP
from neurobo.posterior import SOLVERS, Recipe, draws
from neurobo.schedules import sto_beta


@options
class STOBNTS:
    """Options of STO-BNTS; symbols are the paper's."""

    linear: bool = False
    """Train only the tangent (Algorithm 2): exact for the kernel of the finite network."""
    beta: float | Literal["theory"] = 1.0
    """β_t, the factor of the posterior's standard deviation. "theory" is Theorem 1's for a grid of
    100 values in each column."""
    perturb: bool = True
    """Whether the targets get fresh noise, as an exact draw needs. False: as the authors ran it."""
    gamma: Gammas = "evidence"
    """γ: "evidence" finds σ_w, σ_b, the scale and the noise; a number is both σ_w and σ_b."""
    noise: float | None = None
    """Variance of the noise, in units of the standardised objective. None: by evidence, or 0."""
    ard: bool = False
    """Whether the evidence gives each input column a scale of its own."""
    width: int = 256
    depth: int = 2
    activation: str = "relu"
    solver: Literal["gauss-newton", "adam"] = "gauss-newton"
    trust_region: Region = "auto"
    """Every other suggestion stays within this half-width (whole box: 2) of the best point.
    "auto": 0.4 above 6 columns. None: never, as in the paper."""

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        check_gamma(self.gamma)
        if self.beta != "theory":
            check_number("beta", self.beta, above=0)
        if self.noise is not None:
            check_number("noise", self.noise, least=0)
        if self.solver not in SOLVERS:
            raise InvalidInput(f"solver must be one of {sorted(SOLVERS)}, got {self.solver!r}")
        check_region(self.trust_region)

    def score(self, key: Array, data: Data, number: int) -> Score:
        return self.scores(key, data, [number])[0]

    def scores(self, key: Array, data: Data, numbers: Sequence[int]) -> list[Score]:
        """A batch: one draw for each number."""
        network = network_for(data, width=self.width, depth=self.depth, activation=self.activation)
        hyper = hyper_for(data, network, self.gamma, ard=self.ard, noise=self.noise)
        recipe = Recipe(
            network=network,
            gamma=hyper.gamma,
            noise=hyper.noise / hyper.scale**2,
            scale=hyper.scale * self._beta(data),  # β_t² of the variance, also of the noise's
            scales=hyper.scales,
            surrogate="linear" if self.linear else "posterior",
            solver=self.solver,
            perturbed=self.perturb,
        )
        # Suggestions in a row share the tangent features: the same as a batch of Algorithm 2.
        iteration = jax.random.fold_in(jax.random.fold_in(key, 2**31), data.n)
        keys = [jax.random.fold_in(key, number) for number in numbers]
        return [drawn for drawn, _ in draws(keys, data, recipe, tangent_key=iteration)]

    def _beta(self, data: Data) -> float:
        if self.beta == "theory":
            return sto_beta(data.n + 1, data.x.shape[1] * np.log(100))
        return self.beta

    def radius(self, data: Data, number: int) -> float | None:
        return radius_for(self.trust_region, data, number)


register("sto-bnts", STOBNTS, "Neural Thompson sampling in batches: train a fresh posterior draw.")
register(
    "sto-bnts-linear",
    partial(STOBNTS, linear=True),
    "The same with the network's tangent: exact for its kernel at any width.",
)
