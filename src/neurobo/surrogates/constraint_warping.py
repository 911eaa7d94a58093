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
from neurobo.data.scaling import Scale
from neurobo.networks.architectures import Architecture
from neurobo.surrogates import kernel_spectrum, refit_schedule
from neurobo.surrogates.multi_output import GAMMAS, spectrum
from neurobo.surrogates.output_warping import LEAST, PENALTY

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


def warped_constraint(constraint: Constraint, network: Architecture) -> Constraint:
    """The constraint with its values warped, if the evidence says so."""
    warp = constraint_warping_for(constraint, network)
    return constraint if warp is None else constraint.warped(warp)


def constraint_warping_for(constraint: Constraint, network: Architecture) -> Bilog | None:
    """As the hyper-parameters: from the first observations, until there are a tenth more. None:
    values are best as they are."""
    data = constraint.data
    if constraint.name == CRASH or data.n < LEAST:  # success and failure have nothing between them
        return None
    rows = refit_schedule.scheduled_rows(data.n)
    return choose(data.x[rows], data.values[rows], network)


@cached
def choose(
    x: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"], network: Architecture
) -> Bilog | None:
    """The scale of the highest evidence; None: values are best as they are."""
    median = float(np.median(np.abs(values)))
    if len(np.unique(values)) < LEAST or not 0 < median < np.inf:
        return None
    warps = [Bilog(share * median) for share in SHARES]
    costs = [_cost(x, w(values), network) - w.log_slope(values) + PENALTY for w in warps]
    best = int(np.argmin(costs))
    return warps[best] if costs[best] < _cost(x, values, network) else None


def _cost(
    x: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"], network: Architecture
) -> float:
    """Minus the logarithm of the evidence of values, for the best γ of a few."""
    scale = Scale.of(values)
    y = scale(values)
    costs = []
    for gamma in GAMMAS:
        eigenvalues, vectors, _ = spectrum(network, gamma, x)
        found = kernel_spectrum.profile(eigenvalues, (vectors.T @ y) ** 2)[0]
        costs.append(found + kernel_spectrum.gamma_prior(gamma))
    return min(costs) - scale.log_slope(values)
