"""The marginal likelihood of a given kernel by its eigenvalues: one decomposition serves all scales
and noises, and all quantities that were observed at the same points."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from neurobo.surrogates.marginal_likelihood import PRIOR_MEAN, PRIOR_SD

RATIOS = np.logspace(-8, 1, 46)
"""Of the noise's variance to the mean variance of the function."""


def of_kernel(
    kernel: Float[np.ndarray, "n n"], y: Float[np.ndarray, " n"]
) -> tuple[float, float, float]:
    """Minus the log likelihood, ν² and σ² of y ~ N(0, ν² K + σ² I) at its highest.

    For a given ratio of noise to function the best ν² is known, and one eigendecomposition serves
    all ratios.
    """
    size = float(np.trace(kernel)) / len(y)
    values, vectors = np.linalg.eigh(kernel / size)
    cost, variance, noise = profile(np.maximum(values, 0), (vectors.T @ y) ** 2, prior=False)
    return cost, variance / size, noise


def profile(
    values: Float[np.ndarray, " n"], turned: Float[np.ndarray, " n"], *, prior: bool = True
) -> tuple[float, float, float]:
    """Minus the log likelihood, the variance and the noise at its highest, for a kernel of mean
    variance 1 with these eigenvalues and the squares of y along its eigenvectors. The prior is that
    of the noise."""
    spectrum = values + RATIOS[:, None]
    variance = np.maximum(np.mean(turned / spectrum, axis=1), 1e-12)
    cost = (len(values) * np.log(variance) + np.sum(np.log(spectrum), axis=1)) / 2
    if prior:
        cost += ((np.log(RATIOS) - PRIOR_MEAN[3]) / PRIOR_SD[3]) ** 2 / 2
    i = int(np.argmin(cost))
    return float(cost[i]), float(variance[i]), float(variance[i] * RATIOS[i])


def gamma_prior(gamma: tuple[float, float]) -> float:
    """Minus the log density of the prior."""
    return float(np.sum(((np.log(gamma) - PRIOR_MEAN[:2]) / PRIOR_SD[:2]) ** 2) / 2)
