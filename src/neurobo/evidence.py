"""Hyper-parameters by evidence: the marginal likelihood of the data under a wide network.

In the wide limit a network drawn and trained is a Gaussian process whose kernel is known, so that
γ, the scale of the function, the noise and the scales of the inputs have a likelihood:

    y ~ N(0, ν² Θ_γ(s ∘ x, s ∘ x) + σ² I)

It is maximised together with priors (MAP) that matter only while observations are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from scipy.optimize import minimize as scipy_minimize

from neurobo.data import Data, bucket
from neurobo.ntk import Wide


@dataclass(frozen=True)
class Hyper:
    """What the evidence says, in units of the standardised objective."""

    gamma: tuple[float, float]
    """σ_w and σ_b."""
    scale: float
    """ν: the function has the prior variance ν² Θ(x, x)."""
    noise: float
    """σ²: variance of the noise."""
    scales: tuple[float, ...]
    """Factors of the input columns."""


# The parameters are logarithms: σ_w, σ_b, the function's standard deviation, the noise variance,
# then one scale for each column. Priors are normal, bounds keep the kernels in a sane range.
_MEAN = np.array([np.log(1.5), np.log(1.0), 0.0, np.log(1e-3)])
_SD = np.array([0.8, 0.8, 0.8, 3.0])
_LOW = np.log([0.1, 0.05, 0.05, 1e-8])
_HIGH = np.log([8.0, 8.0, 20.0, 4.0])
_COLUMN_SD = 0.7
"""Of the logarithm of a column's scale: two columns may well differ by a factor 3."""
_STARTS = np.log([[0.7, 1.0, 1.0, 1e-5], [1.5, 1.0, 1.0, 1e-5], [3.0, 1.0, 1.0, 1e-5],
                  [5.0, 2.0, 1.0, 1e-3], [1.0, 1.0, 1.0, 1e-1]])  # fmt: skip
_FROM = 2
"""Searches that start from the best of these."""
JITTER = 1e-9
"""Relative to the function's variance: what keeps duplicates from breaking the factorisation."""


@partial(jax.jit, static_argnames="wide")
def _cost(
    p: Float[Array, " k"],
    x: Float[Array, "N d"],
    y: Float[Array, " N"],
    mask: Float[Array, " N"],
    prior: tuple[Array, Array],
    wide: Wide,
) -> tuple[Float[Array, ""], Float[Array, " k"]]:
    """Minus the logarithm of likelihood times prior, and its gradient."""
    return jax.value_and_grad(_negative_log_posterior)(p, x, y, mask, prior, wide)


def _negative_log_posterior(
    p: Array, x: Array, y: Array, mask: Array, prior: tuple[Array, Array], wide: Wide
) -> Array:
    kernel = _unit_kernel(p, x, mask, wide)
    variance, noise = jnp.exp(2 * p[2]), jnp.exp(p[3])
    covariance = variance * kernel * mask * mask[:, None]
    # A padded row becomes an independent N(0, 1) variable that is observed to be 0.
    covariance += jnp.diag(jnp.where(mask > 0, noise + JITTER * variance, 1.0))
    factor = jnp.linalg.cholesky(covariance)
    white = jax.scipy.linalg.solve_triangular(factor, y * mask, lower=True)
    likelihood = -jnp.sum(white**2) / 2 - jnp.sum(jnp.log(jnp.diag(factor)))
    return jnp.sum(((p - prior[0]) / prior[1]) ** 2) / 2 - likelihood


def _unit_kernel(p: Array, x: Array, mask: Array, wide: Wide) -> Array:
    """The kernel, scaled to a mean variance of 1 over the observations."""
    gamma, scales = jnp.exp(p[:2]), jnp.exp(p[4:])
    scales = jnp.ones(x.shape[1]) if not len(scales) else scales
    mean = jnp.sum(wide.variance(x, gamma, scales) * mask) / jnp.sum(mask)
    return wide.between(x, x, gamma, scales) / mean


@partial(jax.jit, static_argnames="wide")
def _mean_variance(
    gamma: Array, scales: Array, x: Array, mask: Array, wide: Wide
) -> Float[Array, ""]:
    return jnp.sum(wide.variance(x, gamma, scales) * mask) / jnp.sum(mask)


def fit(data: Data, wide: Wide, *, ard: bool = False) -> Hyper:
    """The hyper-parameters of highest posterior density for these observations."""
    columns = data.x.shape[1]
    extra = columns if ard else 0
    prior = (
        np.concatenate([_MEAN, np.zeros(extra)]),
        np.concatenate([_SD, np.full(extra, _COLUMN_SD)]),
    )
    x, y, mask = (jnp.asarray(v) for v in (data.x, data.y, data.mask))

    def cost(p: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = _cost(jnp.asarray(p), x, y, mask, prior, wide)
        found = float(value), np.asarray(gradient)
        if not np.isfinite(found[0]) or not np.all(np.isfinite(found[1])):
            return 1e10, np.zeros(len(p))  # not positive definite: a search turns back here
        return found

    bounds = [*zip(_LOW, _HIGH, strict=True), *[(np.log(0.1), np.log(10.0))] * extra]
    starts = np.pad(_STARTS, ((0, 0), (0, extra)))
    order = np.argsort([cost(p)[0] for p in starts], kind="stable")
    best: tuple[float, np.ndarray] = np.inf, starts[order[0]]
    for p in starts[order[:_FROM]]:
        found: Any = scipy_minimize(
            cost, p, jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": 60, "ftol": 1e-7},
        )  # fmt: skip
        if found.fun < best[0]:
            best = float(found.fun), np.asarray(found.x)
    return _hyper(best[1], data, wide)


def _hyper(p: np.ndarray, data: Data, wide: Wide) -> Hyper:
    gamma = np.exp(p[:2])
    scales = np.exp(p[4:]) if len(p) > 4 else np.ones(data.x.shape[1])
    arrays = (jnp.asarray(v) for v in (gamma, scales, data.x, data.mask))
    mean = float(_mean_variance(*arrays, wide))
    return Hyper(
        gamma=(float(gamma[0]), float(gamma[1])),
        scale=float(np.exp(p[2]) / np.sqrt(mean)),
        noise=float(np.exp(p[3])),
        scales=tuple(scales.tolist()),
    )


# The paper's way --------------------------------------------------------------------------------

GRID = np.arange(0.5, 5.01, 0.5)
"""γ in the "Be Greedy" paper: [0.5, 5]."""


@partial(jax.jit, static_argnames="wide")
def _left_out(gamma: Array, x: Array, y: Array, mask: Array, wide: Wide) -> Float[Array, ""]:
    """Summed squared errors of predicting each observation from the others."""
    both = jnp.full(2, gamma)
    ones = jnp.ones(x.shape[1])
    kernel = wide.between(x, x, both, ones) * mask * mask[:, None]
    ridge = 1e-6 * jnp.max(wide.variance(x, both, ones))
    inverse = jnp.linalg.inv(kernel + jnp.diag(jnp.where(mask > 0, ridge, 1.0)))
    return jnp.sum((inverse @ y / jnp.diag(inverse)) ** 2 * mask)


def by_leaving_out(data: Data, wide: Wide) -> float:
    """The γ = σ_w = σ_b of the paper's range whose wide limit predicts left-out values best."""
    arrays = [jnp.asarray(v) for v in (data.x, data.y, data.mask)]
    errors = [float(_left_out(jnp.asarray(g), *arrays, wide)) for g in GRID]
    return float(GRID[int(np.argmin(np.nan_to_num(errors, nan=np.inf)))])


# When -------------------------------------------------------------------------------------------


def update_size(n: int) -> int:
    """How many of n observations the hyper-parameters are fitted to: all while they are few, then
    as many as there were when their number had last grown by a tenth."""
    size = 1
    while (following := max(size + 1, int(size * 1.1))) <= n:
        size = following
    return size


def scheduled(data: Data, wide: Wide, *, ard: bool = False) -> Hyper:
    """Hyper-parameters from the first observations only, so that most suggestions find them in
    the cache. What they are depends on the history alone, not on what was computed before."""
    if not data.n:
        return Hyper((1.5, 1.0), 1.0, 0.0, (1.0,) * data.x.shape[1])
    m = update_size(data.n)
    y = data.y[:m]
    mean, sd = float(np.mean(y)), float(np.std(y)) or 1.0
    found = _cached(
        data.x[:m].tobytes(), np.round((y - mean) / sd, 8).tobytes(), m, data.x.shape[1], wide, ard
    )
    return Hyper(found.gamma, found.scale * sd, found.noise * sd**2, found.scales)


@lru_cache(maxsize=64)
def _cached(x: bytes, y: bytes, m: int, columns: int, wide: Wide, ard: bool) -> Hyper:
    points = np.frombuffer(x).reshape(m, columns)
    return fit(Data.pad(points, np.frombuffer(y), size=bucket(m)), wide, ard=ard)
