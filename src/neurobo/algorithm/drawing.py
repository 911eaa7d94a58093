"""What the drawing algorithms have in common: the network, γ, ν and the noise for it, and where to
look."""

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
"""Columns above which a drawn function is lowest in a far corner more often than not."""


@options
class Drawing:
    """Options of the algorithms that train networks of one kind with γ by evidence."""

    gamma: Gammas = "evidence"
    """γ: larger means less smooth. "evidence" finds σ_w, σ_b, the scale ν and the noise by the
    marginal likelihood of the wide limit. A number is both σ_w and σ_b, a pair one of each; "grid"
    finds a number in the range [0.5, 5] of the "Be Greedy" paper by leaving one observation out."""
    noise: float | None = None
    """Variance of the noise, in units of the standardised objective. None: by evidence, or 0."""
    ard: bool = False
    """Whether the evidence gives each input column a scale of its own."""
    width: int = 256
    depth: int = 2
    activation: str = "relu"
    sphere: bool = True
    """Whether inputs are put on a sphere, as the theory assumes, by one more column; not with
    `ard`. False: networks see the box, as in the papers' experiments."""
    trust_region: Radius = "auto"
    """Every other suggestion stays within this half-width (whole box: 1) of the best point.
    "auto": 0.4 above 6 columns; "adaptive": as far as the history says, above 6 columns. None:
    never, as in the papers."""
    candidates: int | None = None
    """How many Sobol points are scored, and nothing else, as in some of the authors' programs.
    None: Sobol points and the surroundings of the best observations, refined with gradients."""

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
    """Observations with the values that are expected there: with noise the lowest one is luck."""
    if wide is None or hyper.noise < CLEAR:
        return data
    found = means(gp.condition(data, wide, hyper), data)
    return replace(data, y=np.pad(found, (0, len(data.y) - data.n)))


CLEAR = 1e-4
"""Noise of less than 1 % of the objective's standard deviation decides nothing."""


def hyper_for(
    data: Data,
    network: Architecture,
    gamma: Gammas,
    *,
    ard: bool = False,
    noise: float | None = None,
    start: Logarithms | None = None,
) -> Hyper:
    """γ, ν and the noise: given, or found by evidence."""
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
