"""Do parameters interact? The marginal likelihood chooses the kernel.

A network of all parameters on a sphere is the default. Where parameters do not interact, a sum of
networks of one parameter each learns from few observations what a joint one cannot: in three
dimensions each of them has to cover a line instead of a cube. Its units are sines, whose kernel
is stationary, so that a parameter may have many optima. The evidence must prefer it by a margin.

Evidence for additivity is not lost in clusters of observations: these show as well as others
whether the effect of one parameter depends on the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from neurobo.data.content_cache import cached
from neurobo.data.observations import Data
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.surrogates import marginal_likelihood, refit_schedule
from neurobo.surrogates.input_warping import InputWarping
from neurobo.surrogates.output_warping import OutputWarping, cost_of

JOINT = InfiniteWidthMLP(1, "erf", sphere=True)
ADDITIVE = InfiniteWidthMLP(1, "sin", additive=True)
LEAST = 12
"""Observations before which nothing is chosen."""
MOST = 64
"""Observations that decide: an even share of more."""
MARGIN = 3.0
"""By how much the logarithm of the evidence must be higher than that of the default."""


@dataclass(frozen=True)
class KernelChoice:
    wide: InfiniteWidthMLP
    gain: float
    """By how much the logarithm of the evidence is higher than that of the default."""


def kernel_for(data: Data, strength: float, input_warp: InputWarping | None) -> KernelChoice | None:
    """From the first observations, until there are half as many more. Additive networks see
    values as they are, joint ones as they are warped with this strength. None: the default."""
    rows = refit_schedule.choice_rows(data.n, LEAST, MOST)
    if rows is None or not 1 < data.x.shape[1] <= marginal_likelihood.MANY:
        return None
    seen = data if input_warp is None else input_warp(data)
    return _choose(seen.x[rows], data.values[rows], strength, noisy=data.noisy)


@cached
def _choose(
    x: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, " n"],
    strength: float,
    *,
    noisy: bool,
) -> KernelChoice | None:
    plain, warp = (OutputWarping.of(k, values) for k in (0.0, strength))
    if plain is None:
        return None
    joint, _ = cost_of(x, values, JOINT, warp or plain, noisy=noisy, ard=True)
    additive, _ = cost_of(x, values, ADDITIVE, plain, noisy=noisy, ard=True)
    gain = joint - additive
    return KernelChoice(ADDITIVE, gain) if gain > MARGIN else None
