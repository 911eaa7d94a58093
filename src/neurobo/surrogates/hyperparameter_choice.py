"""Hyper-parameters of a network: given, or chosen from the observations."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from neurobo.data.observations import Data
from neurobo.networks.architectures import Architecture, FixedGamma, gamma_pair
from neurobo.networks.cnn import CNN
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.mlp import MLP
from neurobo.surrogates import image_evidence, leave_one_out, refit_schedule
from neurobo.surrogates.hyperparameters import Hyper, Logarithms

GammaOption = FixedGamma | Literal["evidence", "grid"]
"""γ, or how it is chosen: by marginal likelihood, or from a grid by leave-one-out errors."""


def hyper_for(
    data: Data,
    network: Architecture,
    gamma: GammaOption,
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
