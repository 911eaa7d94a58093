"""The marginal likelihood of observations where there are laws.

What is maximised is the likelihood of the observations *given* the laws,

    y ~ N(K_ur (K_rr + λ2)⁻¹ t, ν² (K_uu - K_ur (K_rr + λ2)⁻¹ K_ru + λ1)),

together with priors that matter while observations are few. That laws hold at their points is not
itself counted as an observation: the likelihood of hundreds of zeros that were not measured would
drown that of the values, and every law would seem to be exact. As λ2 grows, a law says less and
less; a law that contradicts the values makes them unlikely and so gets a large λ2.

PhysicsKernels are those of the very network that is used, so that this is exact at finite width.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cholesky, solve_triangular

_RATIOS = np.logspace(-8, 1, 28)[:, None]
"""λ1 in units of κ."""
_SCALES = np.linspace(-4, 4, 33)
"""log ν √κ."""
_NOISE = np.log(1e-6), 4.0
_SCALE_SD = 1.0


class PhysicsKernels(NamedTuple):
    """Of values and laws, in units of κ."""

    values: Float[np.ndarray, "n n"]
    cross: Float[np.ndarray, "n m"]
    laws: Float[np.ndarray, "m m"]


class Cost(NamedTuple):
    """Minus the logarithm of likelihood and priors, where it is lowest over ν and λ1."""

    cost: float
    scale: float
    """ν √κ."""
    noise: float
    """σ²."""


def cost(
    kernels: PhysicsKernels,
    y: Float[np.ndarray, " n"],
    targets: Float[np.ndarray, " m"],
    noise: Float[np.ndarray, " m"],
    known_noise: float | None = None,
) -> Cost:
    """For given λ2 (`noise`, in units of κ)."""
    factor = cholesky(kernels.laws + np.diag(noise), lower=True)
    half = solve_triangular(factor, kernels.cross.T, lower=True)
    left = kernels.values - half.T @ half
    missed = y - half.T @ solve_triangular(factor, targets, lower=True)
    values, vectors = np.linalg.eigh(left)
    turned = (vectors.T @ missed) ** 2
    spectrum = np.maximum(values, 0.0) + _RATIOS
    squares = np.sum(turned / spectrum, axis=1)[:, None]
    variance = np.exp(2 * _SCALES)
    noises = _RATIOS * variance
    found = squares / variance + len(y) * 2 * _SCALES + np.sum(np.log(spectrum), axis=1)[:, None]
    found = (found + (_SCALES / _SCALE_SD) ** 2) / 2
    if known_noise is None:
        found = found + ((np.log(noises) - _NOISE[0]) / _NOISE[1]) ** 2 / 2
    else:  # the nearest there is
        found = found + 10 * np.log(noises / max(known_noise, 1e-8)) ** 2
    i, j = np.unravel_index(np.argmin(found), found.shape)
    return Cost(float(found[i, j]), float(np.exp(_SCALES[j])), float(noises[i, j]))
