"""Hyper-parameters by evidence: the marginal likelihood of the data under a wide network.

In the limit of infinite width a network drawn and trained is a Gaussian process whose kernel is
known, so that γ, the scale of the function, the noise and the scales of the inputs have a
likelihood:

    y ~ N(0, ν² Θ_γ(s ∘ x, s ∘ x) + σ² I)

It is maximised together with priors (MAP) that matter only while observations are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from scipy.linalg.lapack import dpotrf, dpotri, dtrtrs
from scipy.optimize import minimize as scipy_minimize

from neurobo.compilation import compiled
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


@compiled(static="wide")
def _unit_kernel(p: Array, x: Array, mask: Array, wide: InfiniteWidthMLP) -> Float[Array, "N N"]:
    """The kernel, scaled to a mean variance of 1 over the observations."""
    columns = x.shape[1]
    gamma, scales = jnp.exp(p[:2]), jnp.exp(p[4 : 4 + columns])
    x = warped(x, p[4 + columns :])
    # The angle between a point and itself is lost to rounding, at which ReLU's kernel is steep.
    variance = wide.variance(x, gamma, scales)
    kernel = jnp.fill_diagonal(wide.between(x, x, gamma, scales), variance, inplace=False)
    return kernel * jnp.sum(mask) / jnp.sum(variance * mask)


@compiled(static="wide")
def _pull(
    p: Array, x: Array, mask: Array, weight: Array, wide: InfiniteWidthMLP
) -> Float[Array, " k"]:
    """The gradient of Σ weight · kernel."""
    return jax.grad(lambda q: jnp.sum(weight * _unit_kernel(q, x, mask, wide)))(p)


@compiled(static="wide")
def _mean_variance(
    gamma: Array, scales: Array, x: Array, mask: Array, wide: InfiniteWidthMLP
) -> Float[Array, ""]:
    return jnp.sum(wide.variance(x, gamma, scales) * mask) / jnp.sum(mask)


@dataclass(frozen=True)
class Likelihood:
    """Minus the logarithm of the marginal likelihood, as a function of the parameters."""

    data: Data
    wide: InfiniteWidthMLP

    def factor(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The unit kernel and the Cholesky factor of the covariance, if it has one."""
        n, whole = self.data.n, self._whole(p)
        kernel = np.asarray(_unit_kernel(whole, self.data.x, self.data.mask, self.wide))[:n, :n]
        variance, noise = np.exp(2 * p[2]), np.exp(p[3])
        covariance = variance * kernel + (noise + JITTER * variance) * np.eye(n)
        factor, failed = dpotrf(covariance.T, lower=1)  # transposed: LAPACK's order of memory
        return None if failed or not np.all(np.isfinite(factor)) else (kernel, factor)

    def __call__(self, p: np.ndarray) -> float:
        return self._value(found[1]) if (found := self.factor(p)) else np.inf

    def _value(self, factor: np.ndarray) -> float:
        white, _ = dtrtrs(factor, self.data.y[: self.data.n], lower=1)
        return float(np.sum(white**2) / 2 + np.sum(np.log(np.diag(factor))))

    def with_gradient(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        found = self.factor(p)
        if not found:
            return np.inf, np.zeros(len(p))
        kernel, factor = found
        n, padding = self.data.n, len(self.data.y) - self.data.n
        inverse, _ = dpotri(factor, lower=1)  # the lower half
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        alpha = inverse @ self.data.y[:n]
        # d/dC of ½ yᵀC⁻¹y + ½ log det C
        weight = (inverse - np.outer(alpha, alpha)) / 2
        variance, noise = np.exp(2 * p[2]), np.exp(p[3])
        gradient = np.array(
            _pull(
                self._whole(p), self.data.x, self.data.mask,
                np.pad(variance * weight, (0, padding)), self.wide,
            )
        )[: len(p)]  # fmt: skip
        trace = np.trace(weight)
        gradient[2] = 2 * variance * (np.sum(weight * kernel) + JITTER * trace)
        gradient[3] = noise * trace
        return self._value(factor), gradient

    def _whole(self, p: np.ndarray) -> np.ndarray:
        """With a scale and a t for each column, given or not: one shape, one compilation."""
        return np.pad(p, (0, len(PRIOR_MEAN) + 2 * self.data.x.shape[1] - len(p)))


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
        if not np.isfinite(value) or not np.all(np.isfinite(gradient)):
            return 1e10, np.zeros(len(p))  # not positive definite: the search turns back here
        return value + _surprise(p, mean, sd), gradient + (p - mean) / sd**2

    if start is None:
        starts = np.pad(_STARTS, ((0, 0), (0, extra)))
        starts[:, 3] = np.clip(starts[:, 3], *bounds[3])
        start = min(starts, key=lambda p: likelihood(p) + _surprise(p, mean, sd))
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
    mean = float(_mean_variance(gamma, scales, data.x, data.mask, wide))
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
    kernel = _unit_kernel(p, data.x, data.mask, wide)[: data.n, : data.n]
    variance = hyper.scale**2 * float(_mean_variance(gamma, scales, data.x, data.mask, wide))
    return float(information_gain(kernel, max(hyper.noise / variance, JITTER)))
