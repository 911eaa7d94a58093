"""Hyper-parameters by evidence: the marginal likelihood of the data under a wide network.

In the limit of infinite width a network drawn and trained is a Gaussian process whose kernel is
known, so that γ, the scale of the function, the noise and the scales of the inputs have a
likelihood:

    y ~ N(0, ν² Θ_γ(s ∘ x, s ∘ x) + σ² I)

It is maximised together with priors (MAP) that matter only while observations are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import solve_triangular
from jaxtyping import Float
from scipy.linalg.lapack import dpotrf, dtrtrs
from scipy.optimize import minimize as scipy_minimize

from neurobo.compilation import compiled
from neurobo.data.content_cache import cached
from neurobo.data.observations import Data
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.information import information_gain
from neurobo.networks.input_maps import warped
from neurobo.surrogates.hyperparameters import Hyper

# The parameters are logarithms: σ_w, σ_b, the function's standard deviation, the noise variance,
# then one scale for each column, then (no logarithm) how far each is warped. Priors are normal,
# bounds keep the kernels in a sane range.
PRIOR_MEAN = np.array([np.log(1.5), np.log(1.0), 0.0, np.log(1e-6)])
PRIOR_SD = np.array([0.8, 0.8, 0.8, 4.0])
_NOISE = np.log(1e-2), 1.5
"""Mean and standard deviation of the noise's if values are known to be noisy."""
_LOW = np.log([0.1, 0.05, 0.05, 1e-9])
_HIGH = np.log([8.0, 8.0, 20.0, 4.0])
_COLUMN_SD = 0.7
"""Of the logarithm of a column's scale: two columns may well differ by a factor 3."""
_STRENGTH_SD = 3.0
"""Of t: a range of 20 to 1 that matters by its logarithm is nothing special."""
_STARTS = np.log(
    [[w, 1.0, 1.0, noise] for w in (0.7, 1.5, 3.0, 6.0) for noise in (1e-6, 1e-2, 0.2)]
)
"""The search begins at the likeliest of these. It cannot find noise from nearly none: the
likelihood is flat there."""
_COLUMN = np.log(0.1), np.log(10.0)
MANY = 50
"""Columns above which `auto` searches no scale for each: it would take long, and few observations
say little about many numbers."""
JITTER = 1e-9
"""Relative to the function's variance: what keeps duplicates from breaking the factorisation."""


class UnitKernel(NamedTuple):
    """The kernel, scaled to a mean variance of 1 over the observations, and that mean."""

    values: Float[Array, "N N"]
    mean_variance: Float[Array, ""]


def _kernel_at(p: Array, x: Array, mask: Array, wide: InfiniteWidthMLP) -> UnitKernel:
    columns = x.shape[1]
    gamma, scales = jnp.exp(p[:2]), jnp.exp(p[4 : 4 + columns])
    x = warped(x, p[4 + columns :])
    # The angle between a point and itself is lost to rounding, at which ReLU's kernel is steep.
    variance = wide.variance(x, gamma, scales)
    kernel = jnp.fill_diagonal(wide.between(x, x, gamma, scales), variance, inplace=False)
    mean = jnp.sum(variance * mask) / jnp.sum(mask)
    return UnitKernel(kernel / mean, mean)


@compiled(static="wide")
def _unit_kernel(p: Array, x: Array, mask: Array, wide: InfiniteWidthMLP) -> UnitKernel:
    return _kernel_at(p, x, mask, wide)


@compiled(static="wide", often=True)
def _cost_and_gradient(
    p: Array, x: Array, y: Array, mask: Array, wide: InfiniteWidthMLP
) -> tuple[Float[Array, ""], Float[Array, " k"]]:
    """Minus the logarithm of the likelihood; NaN where the covariance has no Cholesky factor."""
    kernel, pull = jax.vjp(lambda q: _kernel_at(q, x, mask, wide).values * mask * mask[:, None], p)
    variance, noise = jnp.exp(2 * p[2]), jnp.exp(p[3])
    ridge = jnp.where(mask > 0, noise + JITTER * variance, 1.0)
    factor = jnp.linalg.cholesky(variance * kernel + jnp.diag(ridge), symmetrize_input=False)
    whiten = solve_triangular(factor, jnp.eye(len(y)), lower=True)
    white = whiten @ (y * mask)
    value = jnp.sum(white**2) / 2 + jnp.sum(jnp.log(jnp.diag(factor)))
    # d/dC of ½ yᵀC⁻¹y + ½ log det C
    alpha = white @ whiten
    weight = (whiten.T @ whiten - jnp.outer(alpha, alpha)) / 2
    (gradient,) = pull(variance * weight)
    trace = jnp.sum(jnp.diag(weight) * mask)
    by_variance = 2 * variance * (jnp.sum(weight * kernel) + JITTER * trace)
    return value, gradient.at[2:4].set(jnp.stack([by_variance, noise * trace]))


@dataclass(frozen=True)
class Likelihood:
    """Minus the logarithm of the marginal likelihood, as a function of the parameters."""

    data: Data
    wide: InfiniteWidthMLP

    def __call__(self, p: np.ndarray) -> float:
        return self.with_gradient(p)[0]

    def with_gradient(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        """Infinite, with a gradient of 0, where the covariance is not positive definite."""
        data = self.data
        value, gradient = _cost_and_gradient(
            _whole(p, data.x), data.x, data.y, data.mask, self.wide
        )
        cost, slopes = float(value), np.asarray(gradient)[: len(p)]
        if not np.isfinite(cost) or not np.all(np.isfinite(slopes)):
            return np.inf, np.zeros(len(p))
        return cost, slopes


def _whole(p: np.ndarray, x: Float[np.ndarray, "n d"]) -> np.ndarray:
    """With a scale and a t for each column, given or not: one shape, one compilation."""
    return np.pad(p, (0, len(PRIOR_MEAN) + 2 * x.shape[1] - len(p)))


@cached
def _start_factors(
    x: Float[np.ndarray, "n d"], wide: InfiniteWidthMLP, noises: tuple[float, ...]
) -> Float[np.ndarray, "starts n n"]:
    """Of the covariances at `_STARTS`: whatever the values are, they begin at the same points. NaN
    where there is none."""
    data, n = Data.pad(x, np.zeros(len(x))), len(x)
    factors = np.full((len(_STARTS), n, n), np.nan)
    kernels: dict[float, np.ndarray] = {}
    for i, (start, noise) in enumerate(zip(_STARTS, noises, strict=True)):
        if start[0] not in kernels:  # it depends on σ_w alone
            found = _unit_kernel(_whole(start, x), data.x, data.mask, wide)
            kernels[start[0]] = np.asarray(found.values)[:n, :n]
        covariance = kernels[start[0]] + (np.exp(noise) + JITTER) * np.eye(n)
        factor, failed = dpotrf(covariance.T, lower=1)  # transposed: LAPACK's order of memory
        if not failed:
            factors[i] = factor
    return factors


def likeliest_start(
    data: Data, wide: InfiniteWidthMLP, *, count: int = 4, noises: np.ndarray = _STARTS[:, 3]
) -> Float[np.ndarray, " count"]:
    """Of `_STARTS` with these logarithms of the noise, and with zeros for columns."""
    mean, sd = _prior(count, data)
    starts = np.pad(_STARTS, ((0, 0), (0, count - _STARTS.shape[1])))
    starts[:, 3] = noises
    factors = _start_factors(data.x[: data.n], wide, tuple(noises.tolist()))
    costs = []
    for start, factor in zip(starts, factors, strict=True):
        white, _ = dtrtrs(factor, data.y[: data.n], lower=1)
        cost = np.sum(white**2) / 2 + np.sum(np.log(np.diag(factor)))
        costs.append(cost + _surprise(start, mean, sd) if np.isfinite(cost) else np.inf)
    return np.asarray(starts[int(np.argmin(costs))])


def fit(data: Data, wide: InfiniteWidthMLP, *, ard: bool = False) -> Hyper:
    """The hyper-parameters of highest posterior density for these observations."""
    return hyper_at(search(data, wide, ard=ard), data, wide)


def search(
    data: Data,
    wide: InfiniteWidthMLP,
    *,
    ard: bool = False,
    strengths: Float[np.ndarray, " d"] | None = None,
    noise: float | None = None,
    start: Float[np.ndarray, " k"] | None = None,
) -> Float[np.ndarray, " k"]:
    """Their logarithms, from a given start or the likeliest of a few. `noise` is σ² if known.
    `strengths` are the largest |t| of the columns, if these may be warped; `ard` must be, too."""
    extra = data.x.shape[1] if ard else 0
    bounds = [*zip(_LOW, _HIGH, strict=True), *[_COLUMN] * extra]
    if strengths is not None:
        bounds += [(-most, most) for most in strengths.tolist()]
    mean, sd = _prior(len(bounds), data)
    if noise is not None:
        bounds[3] = (known := float(np.clip(np.log(max(noise, 1e-300)), _LOW[3], _HIGH[3]))), known
    likelihood = Likelihood(data, wide)

    def cost(p: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = likelihood.with_gradient(p)
        if not np.isfinite(value):
            return 1e10, np.zeros(len(p))  # not positive definite: the search turns back here
        return value + _surprise(p, mean, sd), gradient + (p - mean) / sd**2

    if start is None:
        noises = np.clip(_STARTS[:, 3], *bounds[3])
        start = likeliest_start(data, wide, count=len(bounds), noises=noises)
    # A hundredth of a nat is nothing to the data.
    found: Any = scipy_minimize(
        cost, start, jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": 50, "ftol": 1e-2 / (data.n + 10)},
    )  # fmt: skip
    return np.asarray(found.x)


def cost(data: Data, wide: InfiniteWidthMLP, p: Float[np.ndarray, " k"]) -> float:
    """Minus the logarithm of the likelihood and of the prior density, up to a constant."""
    return Likelihood(data, wide)(p) + _surprise(p, *_prior(len(p), data))


def _surprise(p: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> float:
    return float(np.sum(((p - mean) / sd) ** 2) / 2)


def _prior(count: int, data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations of the first so many parameters."""
    columns = data.x.shape[1]
    mean = np.pad(PRIOR_MEAN, (0, 2 * columns))
    sd = np.concatenate([PRIOR_SD, np.full(columns, _COLUMN_SD), np.full(columns, _STRENGTH_SD)])
    if data.noisy:
        mean[3], sd[3] = _NOISE
    return mean[:count], sd[:count]


def hyper_at(p: Float[np.ndarray, " k"], data: Data, wide: InfiniteWidthMLP) -> Hyper:
    gamma = np.exp(p[:2])
    scales = np.exp(p[4:]) if len(p) > 4 else np.ones(data.x.shape[1])
    bare = _whole(p[: 4 + data.x.shape[1]], data.x)  # not warped
    mean = float(_unit_kernel(bare, data.x, data.mask, wide).mean_variance)
    return Hyper(
        gamma=(float(gamma[0]), float(gamma[1])),
        scale=float(np.exp(p[2]) / np.sqrt(mean)),
        noise=float(np.exp(p[3])),
        scales=tuple(scales.tolist()),
    )


def information(data: Data, wide: InfiniteWidthMLP, hyper: Hyper) -> float:
    """½ log det(I + ν² Θ/σ²): what the observations tell about the function."""
    gamma, scales = np.array(hyper.gamma), np.array(hyper.scales)
    with np.errstate(divide="ignore"):  # σ_b may be 0
        p = np.pad(np.log([*gamma, 1.0, 1.0, *scales]), (0, data.x.shape[1]))
    kernel, mean = _unit_kernel(p, data.x, data.mask, wide)
    variance = hyper.scale**2 * float(mean)
    return float(information_gain(kernel[: data.n, : data.n], max(hyper.noise / variance, JITTER)))
