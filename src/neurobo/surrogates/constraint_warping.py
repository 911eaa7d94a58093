"""Constraint warping: constraints on a logarithmic scale around their threshold.

A stress that is 1e6 in one corner and 0.1 above its limit near the optimum hides that limit: after
standardisation the whole feasible region lies within rounding of the threshold. The marginal
likelihood tells whether a logarithm on both sides of the threshold explains the values better,

    w = sign(c) log(1 + |c|/s),

which keeps 0, the threshold, where it is. The scale s is a share of the median of |c|, so that c
and a c with a > 0 are warped alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from neurobo.data.content_cache import cached
from neurobo.data.observations import CRASH, Constraint
from neurobo.data.scaling import Scale, standardise
from neurobo.networks.architectures import Architecture
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.mlp import MLP
from neurobo.surrogates import kernel_spectrum, refit_schedule
from neurobo.surrogates.input_warping import gain
from neurobo.surrogates.kernel_choice import MOST
from neurobo.surrogates.multi_output import GAMMAS, spectrum
from neurobo.surrogates.output_warping import LEAST, PENALTY, cost_of

SHARES = (1.0, 0.1, 0.01)
"""s in units of the median of |c|."""


@dataclass(frozen=True)
class Bilog:
    scale: float
    """s."""

    def __call__(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        return np.sign(values) * np.log1p(np.abs(values) / self.scale)

    def log_slope(self, values: Float[np.ndarray, " n"]) -> float:
        """Σ log dw/dc."""
        return -float(np.sum(np.log(self.scale + np.abs(values))))


def warped_constraint(
    constraint: Constraint, network: Architecture, *, ard: bool = False
) -> Constraint:
    """The constraint with its values warped, if the marginal likelihood prefers it."""
    warp = constraint_warping_for(constraint, network, ard=ard)
    return constraint if warp is None else constraint.warped(warp)


def constraint_warping_for(
    constraint: Constraint, network: Architecture, *, ard: bool = False
) -> Bilog | None:
    """As the hyper-parameters: from the first observations, until there are a tenth more. With
    `ard` the evidence is that of a NTK GP with a scale for each column, which is asked again
    when there are half as many more. None: values are best as they are."""
    data = constraint.data
    if constraint.name == CRASH or data.n < LEAST:  # success and failure have nothing between them
        return None
    schedule = refit_schedule
    rows = schedule.choice_rows(data.n, LEAST, MOST) if ard else schedule.scheduled_rows(data.n)
    return None if rows is None else choose(data.x[rows], data.values[rows], network, ard=ard)


@cached
def choose(
    x: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, " n"],
    network: Architecture,
    *,
    ard: bool = False,
) -> Bilog | None:
    """The scale of the highest evidence; None: values are best as they are."""
    median = float(np.median(np.abs(values)))
    if len(np.unique(values)) < LEAST or not 0 < median < np.inf:
        return None
    warps = [Bilog(share * median) for share in SHARES]
    cost = _cost_of_columns if ard else _cost
    costs = [cost(x, values, network, warp) + PENALTY for warp in warps]
    best = int(np.argmin(costs))
    gained = cost(x, values, network, None) - costs[best]
    if ard and gained > 0:  # what looks like a logarithm of values may be one of parameters
        wide = _wide(network)
        gained += gain(x, standardise(warps[best](values)), wide)
        gained -= gain(x, standardise(values), wide)
    return warps[best] if gained > 0 else None


def _cost(
    x: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, " n"],
    network: Architecture,
    warp: Bilog | None,
) -> float:
    """Minus the logarithm of the evidence of values warped like this, for the best γ of a few."""
    slope = 0.0 if warp is None else warp.log_slope(values)
    values = values if warp is None else warp(values)
    scale = Scale.of(values)
    y = scale(values)
    costs = []
    for gamma in GAMMAS:
        eigenvalues, vectors, _ = spectrum(network, gamma, x)
        found = kernel_spectrum.profile(eigenvalues, (vectors.T @ y) ** 2)[0]
        costs.append(found + kernel_spectrum.gamma_prior(gamma))
    return min(costs) - scale.log_slope(values) - slope


def _cost_of_columns(
    x: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, " n"],
    network: Architecture,
    warp: Bilog | None,
) -> float:
    """The same for the NTK GP with a scale for each column."""
    return cost_of(x, values, _wide(network), warp, noisy=False, ard=True)[0]


def _wide(network: Architecture) -> InfiniteWidthMLP:
    assert isinstance(network, MLP)
    return InfiniteWidthMLP.of(network)
