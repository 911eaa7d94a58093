"""Expectations over jointly normal pre-activations: E[φ(u) φ(v)] and E[φ'(u) φ'(v)].

They have closed forms for erf, ReLU and sine. For tanh they have one too, because tanh is to 1e-5 a
mixture of four error functions; any other activation is integrated numerically.

`a` and `b` are the variances of u and v, `cross` is their covariance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from neurobo.errors import InvalidInput
from neurobo.networks.architectures import ACTIVATIONS

Moments = tuple[Array, Array]  # E[φ(u) φ(v)], E[φ'(u) φ'(v)]

# tanh(x) = Σ w erf(s x) up to 9.5e-6 everywhere, its slope up to 7.4e-5. Quadrature would do worse:
# with a large γ, tanh is steep on the scale of its argument.
_TANH = (
    (0.06109698, 0.45417718),
    (0.37460165, 0.67218846),
    (0.45806966, 0.98860935),
    (0.10623171, 1.44738313),
)


def _erf_moments(
    a: Array, cross: Array, b: Array, mixture: tuple[tuple[float, float], ...] = ((1.0, 1.0),)
) -> Moments:
    """Arcsine kernel, for φ(x) = Σ w erf(s x)."""
    value = slope = jnp.zeros_like(cross)
    for weight, s in mixture:
        for other_weight, r in mixture:
            share = weight * other_weight
            one = _erf_pair(2 * s**2 * a, 2 * s * r * cross, 2 * r**2 * b)
            value, slope = value + share * one[0], slope + share * 2 * s * r * one[1]
    return value, slope


@jax.custom_jvp
def _erf_pair(a: Array, cross: Array, b: Array) -> Moments:
    """2/π arcsin(c / √((1 + a)(1 + b))), and its derivative by c."""
    product = (1 + a) * (1 + b)
    return 2 / np.pi * _arcsin(cross / jnp.sqrt(product)), 2 / np.pi / jnp.sqrt(product - cross**2)


@_erf_pair.defjvp
def _erf_pair_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> Any:
    # By hand, as the two parts share all that is dear.
    (a, cross, b), (da, dc, db) = primals, tangents
    value, slope = _erf_pair(a, cross, b)
    da, db = da / (1 + a), db / (1 + b)
    product = (1 + a) * (1 + b)
    rest = slope / (product - cross**2)
    return (value, slope), (slope * (dc - cross * (da + db) / 2),
                            rest * (cross * dc - product * (da + db) / 2))  # fmt: skip


def _arcsin(x: Array) -> Array:
    """To rounding error, five times as fast as XLA's."""
    size = jnp.abs(x)
    near = size < 0.5
    square = jnp.where(near, x**2, (1 - size) / 2)  # by the half-angle rule never above 1/4
    series = jnp.full_like(square, _ARCSIN[-1])
    for coefficient in _ARCSIN[-2::-1]:
        series = series * square + coefficient
    half = jnp.sqrt(square) * series
    return jnp.sign(x) * jnp.where(near, half, np.pi / 2 - 2 * half)


def _arcsin_series() -> list[float]:
    """arcsin(x)/x as a polynomial in x² up to 1/4."""
    at = np.polynomial.chebyshev.chebpts1(40) / 8 + 1 / 8
    fitted = np.polynomial.Chebyshev.fit(at, np.arcsin(np.sqrt(at)) / np.sqrt(at), 13, (0, 0.25))
    return list(fitted.convert(kind=np.polynomial.Polynomial).coef.tolist())


_ARCSIN = _arcsin_series()


def _relu_moments(a: Array, cross: Array, b: Array) -> Moments:
    """Arc-cosine kernel."""
    size = jnp.sqrt(a * b)
    cosine = jnp.clip(cross / size, -1.0, 1.0)
    return size * _relu_value(cosine), _relu_slope(cosine)


@jax.custom_jvp
def _relu_value(cosine: Array) -> Array:
    angle = jnp.arccos(cosine)
    return (jnp.sqrt(1 - cosine**2) + (jnp.pi - angle) * cosine) / (2 * jnp.pi)


@jax.custom_jvp
def _relu_slope(cosine: Array) -> Array:
    return (jnp.pi - jnp.arccos(cosine)) / (2 * jnp.pi)


@_relu_value.defjvp
def _relu_value_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    # The parts have infinite derivatives where points coincide, their sum has not.
    return _relu_value(primals[0]), _relu_slope(primals[0]) * tangents[0]


@_relu_slope.defjvp
def _relu_slope_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    # Where points coincide the kernel has a symmetric cusp: zero is the middle of its slopes.
    rest = 1 - primals[0] ** 2
    steep = 1 / jnp.sqrt(jnp.where(rest > 1e-14, rest, 1.0)) / (2 * jnp.pi)
    return _relu_slope(primals[0]), jnp.where(rest > 1e-14, steep, 0.0) * tangents[0]


def _sin_moments(a: Array, cross: Array, b: Array) -> Moments:
    near, far = (jnp.exp(sign * cross - (a + b) / 2) / 2 for sign in (1, -1))
    return near - far, near + far


def moments_by_quadrature(
    activation: str, a: Array, cross: Array, b: Array, nodes: int = 48
) -> Moments:
    """Gauss-Hermite quadrature for any activation; one evaluation for each pair of nodes."""
    act = ACTIVATIONS[activation]
    z, weight = np.polynomial.hermite_e.hermegauss(nodes)
    weight = weight / weight.sum()
    sd_u = jnp.sqrt(a)
    # v = (cross/a) u + what u does not explain of it.
    rest = jnp.sqrt(jnp.maximum(b - cross**2 / jnp.maximum(a, 1e-300), 0.0))
    slope = jax.vmap(jax.grad(act))

    def one(carry: Moments, node: tuple[Array, Array]) -> tuple[Moments, None]:
        at, w = node
        u = sd_u * at + jnp.zeros_like(cross)
        v = (cross / jnp.maximum(sd_u, 1e-150) * at)[..., None] + rest[..., None] * z
        value = act(u) * (act(v) @ weight)
        steep = slope(u.ravel()).reshape(u.shape) * (slope(v.ravel()).reshape(v.shape) @ weight)
        return (carry[0] + w * value, carry[1] + w * steep), None

    zero = jnp.zeros_like(cross)
    return jax.lax.scan(one, (zero, zero), (jnp.asarray(z), jnp.asarray(weight)))[0]


_CLOSED: dict[str, Callable[[Array, Array, Array], Moments]] = {
    "erf": _erf_moments,
    "relu": _relu_moments,
    "sin": _sin_moments,
    "tanh": partial(_erf_moments, mixture=_TANH),
}


def moments_of(activation: str) -> Callable[[Array, Array, Array], Moments]:
    if activation not in ACTIVATIONS:
        raise InvalidInput(f"activation must be one of {sorted(ACTIVATIONS)}, got {activation!r}")
    return _CLOSED.get(activation) or partial(moments_by_quadrature, activation)
