"""Logarithms of the normal distribution's tails: of its probability and of expected improvement."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from scipy.special import erfcx


def log_improvement(z: Float[Array, "*n"]) -> Float[Array, "*n"]:
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


def log_probability(z: Float[Array, "*n"]) -> Float[Array, "*n"]:
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
