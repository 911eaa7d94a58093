"""What the algorithms that minimise posterior samples share: the network, its hyper-parameters γ, ν
and noise, and the trust region."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from neurobo.acquisition.score import Score
from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import given_later, options, set_gamma
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput, check_choice, check_count, check_flag, check_number
from neurobo.networks.architectures import Architecture, FixedGamma, gamma_pair
from neurobo.networks.cnn import CNN
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.mlp import MLP
from neurobo.networks.selection import network_for
from neurobo.search import trust_region as trust
from neurobo.search.trust_region import RADIUS, Region
from neurobo.surrogates import gaussian_process as gp
from neurobo.surrogates import image_evidence, leave_one_out, refit_schedule
from neurobo.surrogates.hyperparameters import Hyper, Logarithms
from neurobo.surrogates.posterior import means

Gammas = FixedGamma | Literal["evidence", "grid"]


def check_solver(solver: str, *, known: Collection[str] = ("adam", "gauss-newton")) -> None:
    check_choice("solver", solver, sorted(known))


Radius = float | Literal["auto", "adaptive"] | None
HIGH = 6
"""Columns above which a posterior sample is lowest in a far corner more often than not."""


@options
class Drawing:
    """Options that the algorithms with posterior samples of a network share."""

    gamma: Gammas = "evidence"
    """γ, the standard deviations σ_w and σ_b of weights and biases; larger means less smooth.
    "evidence" maximises the marginal likelihood of the infinitely wide network over σ_w, σ_b, the
    scale ν and the noise. A number sets both, a pair each. "grid" chooses a number in the range
    [0.5, 5] of the "Be Greedy" paper by leave-one-out cross-validation."""
    noise: float | None = None
    """Noise variance, in units of the standardised objective. None: chosen by marginal likelihood,
    or 0 if `gamma` is given."""
    ard: bool = False
    """Whether each input column has a scale of its own (automatic relevance determination)."""
    width: int = 256
    """Units of each hidden layer."""
    depth: int = 2
    """Number of hidden layers."""
    activation: str = "relu"
    """Activation: "erf", "tanh", "relu", "gelu", "silu", "softplus" or "sin"."""
    sphere: bool = True
    """Whether inputs are mapped to a sphere by one more column, as the theory assumes; ignored with
    `ard`. False: networks see the box, as in the papers' experiments."""
    trust_region: Radius = "auto"
    """Half-width of the trust region around the best point, which every other suggestion stays in;
    the whole box has 1. "auto": 0.4 above 6 columns; "adaptive": grows and shrinks with the
    history, above 6 columns. None: no trust region, as in the papers."""
    candidates: int | None = None
    """Number of Sobol points to choose from, without refinement, as in some of the authors'
    programs. None: Sobol points and perturbations of the best observations, refined with
    gradients."""

    start: Logarithms | None = given_later(default=None)

    def with_start(self, start: Logarithms) -> Drawing:
        return replace(self, start=start)

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        set_gamma(self, words=("evidence", "grid"))
        check_flag("sphere", self.sphere)
        if self.noise is not None:
            check_number("noise", self.noise, least=0)
        if self.candidates is not None:
            check_count("candidates", self.candidates)
        region = self.trust_region
        words = (None, "auto", "adaptive")
        known = region in words or (isinstance(region, float | int) and 0 < region <= 2)
        if not known:
            raise InvalidInput(
                f'trust_region must be None, "auto", "adaptive" or in (0, 2], got {region!r}'
            )

    def network(self, data: Data) -> Architecture:
        sphere = self.sphere and not self.ard
        return network_for(data.image, self.width, self.depth, self.activation, sphere=sphere)

    def hyper(self, data: Data) -> Hyper:
        network = self.network(data)
        return hyper_for(
            data, network, self.gamma, ard=self.ard, noise=self.noise, start=self.start
        )

    def decisions(
        self, samples: Sequence[Score], data: Data, numbers: Sequence[int]
    ) -> list[Decision]:
        """Samples as scores, each with its trust region."""
        return [
            Decision(sample, self.region(data, number), candidates=self.candidates)
            for sample, number in zip(samples, numbers, strict=True)
        ]

    def region(self, data: Data, number: int) -> Region | None:
        """Where to search for suggestion `number`; None: everywhere."""
        radius = self.trust_region
        if isinstance(radius, str) and data.x.shape[1] <= HIGH:
            radius = None
        if radius is None or not number % 2 or not data.n:
            return None
        if isinstance(radius, str):
            radius = RADIUS if radius == "auto" else trust.radius(data)
        network = self.network(data)
        wide = InfiniteWidthMLP.of(network) if isinstance(network, MLP) else None
        return Region(int(smoothed(data, wide, self.hyper(data)).order[0]), radius)


def smoothed(data: Data, wide: InfiniteWidthMLP | None, hyper: Hyper) -> Data:
    """Observations with their posterior means as values: with noise the lowest value is luck."""
    if wide is None or hyper.noise < CLEAR:
        return data
    found = means(gp.condition(data, wide, hyper), data)
    return replace(data, y=np.pad(found, (0, len(data.y) - data.n)))


CLEAR = 1e-4
"""Noise below 1 % of the objective's standard deviation is ignored."""


def hyper_for(
    data: Data,
    network: Architecture,
    gamma: Gammas,
    *,
    ard: bool = False,
    noise: float | None = None,
    start: Logarithms | None = None,
) -> Hyper:
    """γ, ν and the noise: given, or chosen by marginal likelihood."""
    ones = (1.0,) * data.x.shape[1]
    if not isinstance(gamma, str):
        return Hyper(gamma_pair(gamma), 1.0, noise or 0.0, ones)
    if isinstance(network, CNN):
        found = image_evidence.fit(data, network)
        return found if noise is None else replace(found, noise=noise)
    assert isinstance(network, MLP)
    wide = InfiniteWidthMLP.of(network)
    if gamma == "evidence":
        return refit_schedule.scheduled(data, wide, ard=ard, noise=noise, start=start)
    best = leave_one_out.by_leaving_out(data, wide)
    return Hyper((best, best), 1.0, noise or 0.0, ones)
