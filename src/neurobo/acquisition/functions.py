"""From a posterior to a score: what it is worth to evaluate a point. Lower is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from scipy.special import erfcx

from neurobo.data.observations import Data
from neurobo.surrogates.gaussian_process import GP


@runtime_checkable
class Posterior(Protocol):
    """What a surrogate believes; a pytree."""

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, " n"]: ...

    def mean_and_sd(
        self, x: Float[Array, "n d"]
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]: ...


@jax.jit
def _mean(posterior: Posterior, x: Float[Array, "n d"]) -> Float[Array, " n"]:
    return posterior.mean(x)


def expected(posterior: Posterior, data: Data) -> Float[np.ndarray, " k"]:
    """The means at the pending points."""
    k = len(data.pending)
    padded = Data.pad(data.pending, np.zeros(k)).x
    return np.asarray(_mean(posterior, jnp.asarray(padded)))[:k]


def expected_best(posterior: Posterior, data: Data) -> Float[np.ndarray, ""]:
    """The lowest mean at a feasible observation: with noise the lowest value is luck."""
    return np.asarray(np.min(means(posterior, data)[data.eligible]))


def means(posterior: Posterior, data: Data) -> Float[np.ndarray, " n"]:
    """The means at the observations."""
    return np.asarray(_mean(posterior, jnp.asarray(data.x)))[: data.n]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LogExpectedImprovement:
    """x -> -log E[max(best - f(x), 0)]."""

    posterior: Posterior
    best: Float[Array, ""]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        mean, sd = self.posterior.mean_and_sd(x)
        return -jnp.log(sd) - log_improvement((self.best - mean) / sd)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LowerBound:
    """x -> mean - √β sd."""

    posterior: Posterior
    beta: Float[Array, ""]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        mean, sd = self.posterior.mean_and_sd(x)
        return mean - jnp.sqrt(self.beta) * sd


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Pointwise:
    """x -> mean + sd z(x), where z is an independent normal number for every point.

    Its lowest value depends on how many points are looked at: no function that has one. The number
    comes from the bits of x, so that the same point gets the same number.
    """

    posterior: Posterior
    key: Array

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        mean, sd = self.posterior.mean_and_sd(x)
        bits = jax.lax.bitcast_convert_type(jax.lax.stop_gradient(x), jnp.uint32)
        words = bits.reshape(len(x), -1)
        names = jax.vmap(partial(_fold, self.key))(words)
        return mean + sd * jax.vmap(jax.random.normal)(names)


def _fold(key: Array, words: Array) -> Array:
    """A key for a row of words."""
    return jax.lax.fori_loop(0, len(words), lambda i, k: jax.random.fold_in(k, words[i]), key)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Uncertainty:
    """x -> -sd, relative to the sd before any observation.

    The theory assumes inputs of one length, for which the prior sd is the same everywhere. Without
    the ratio only corners of the box would be chosen, because there networks vary most.
    """

    posterior: GP

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return -self.posterior.mean_and_sd(x)[1] / self.posterior.prior_sd(x)


def log_improvement(z: Float[Array, " n"]) -> Float[Array, " n"]:
    """log(φ(z) + z Φ(z)), also where φ(z) underflows or the two terms cancel.

    Below zero it is log φ(z) + g(-z), with a smooth g that a polynomial gives to 1e-13; above, the
    improvement is that of -z plus z. XLA's own Φ takes seconds to compile.
    """
    size = jnp.where(z > 0, z, -z)
    t = 1 / (1 + size / _BEND)
    tail = 2 * jnp.log(t) + _series(2 * t - 1, _improvement_coefficients())
    below = -(size**2) / 2 - np.log(2 * np.pi) / 2 + tail
    return jnp.where(z > 0, jnp.log(size + jnp.exp(below)), below)


_BEND = 4.0
"""Where the variable of the polynomial, t in (0, 1], is ½."""


def _series(k: Array, coefficients: list[float]) -> Array:
    """Clenshaw's rule for a sum of Chebyshev polynomials."""
    after = last = jnp.zeros_like(k)
    *higher, constant = coefficients[::-1]
    for c in higher:
        after, last = 2 * k * after - last + c, after
    return k * after - last + constant


def log_probability(z: Float[Array, " n"]) -> Float[Array, " n"]:
    """log Φ(z), also where Φ(z) underflows: in the same way."""
    size = jnp.where(z > 0, z, -z)
    t = 1 / (1 + size / _BEND)
    below = -(size**2) / 2 + jnp.log(t) + _series(2 * t - 1, _probability_coefficients())
    return jnp.where(z > 0, jnp.log1p(-jnp.exp(below)), below)


@cache
def _improvement_coefficients() -> list[float]:
    return _interpolated(_log_tail, 2)


@cache
def _probability_coefficients() -> list[float]:
    return _interpolated(lambda s: np.log(erfcx(s / np.sqrt(2)) / 2), 1)


def _interpolated(g: Callable[[np.ndarray], np.ndarray], power: int) -> list[float]:
    """Chebyshev coefficients of g - power · log t as a function of 2t - 1."""

    def smooth(k: Any) -> Any:
        t = np.maximum((k + 1) / 2, 1e-12)
        return g(_BEND * (1 / t - 1)) - power * np.log(t)

    return list(np.polynomial.chebyshev.chebinterpolate(smooth, 24).tolist())


def _log_tail(s: np.ndarray) -> np.ndarray:
    """log(1 - s Φ(-s)/φ(s)) for s >= 0: by the scaled error function, or its series beyond 25."""
    near, far = np.minimum(s, 25.0), np.maximum(s, 25.0)
    term = total = far**-2.0
    for j in range(3, 25, 2):
        term = -j * term * far**-2.0
        total = total + term
    ratio = np.sqrt(np.pi / 2) * erfcx(near / np.sqrt(2))
    return np.where(s < 25, np.log1p(-near * ratio), np.log(total))
