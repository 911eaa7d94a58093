"""Kernels of infinitely wide MLPs in NTK parameterisation.

For pre-activations that are jointly normal with covariance K, each layer gives

    K' = σ_w² E[φ(u) φ(v)] + σ_b²,      Θ' = K' + Θ · σ_w² E[φ'(u) φ'(v)],

where K (NNGP) is the covariance of the random network and Θ (NTK) that of its tangent features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from neurobo.errors import InvalidInput
from neurobo.networks import Gamma

Moments = tuple[Array, Array]  # E[φ(u) φ(v)], E[φ'(u) φ'(v)]


class Kernels(NamedTuple):
    nngp: Float[Array, "n m"]
    ntk: Float[Array, "n m"]


def _erf_moments(a: Array, cross: Array, b: Array) -> Moments:
    """Arcsine kernel; a and b are the variances, `cross` the covariance."""
    product = (1 + 2 * a) * (1 + 2 * b)
    value = 2 / jnp.pi * jnp.arcsin(2 * cross / jnp.sqrt(product))
    return value, 4 / jnp.pi / jnp.sqrt(product - 4 * cross**2)


def _relu_moments(a: Array, cross: Array, b: Array) -> Moments:
    """Arc-cosine kernel."""
    size = jnp.sqrt(a * b)
    cosine = jnp.clip(cross / size, -1.0, 1.0)
    angle = jnp.arccos(cosine)
    value = size * (jnp.sqrt(1 - cosine**2) + (jnp.pi - angle) * cosine) / (2 * jnp.pi)
    return value, (jnp.pi - angle) / (2 * jnp.pi)


_MOMENTS: dict[str, Callable[[Array, Array, Array], Moments]] = {
    "erf": _erf_moments,
    "relu": _relu_moments,
}


def kernels(
    x: Float[Array, "n d"],
    other: Float[Array, "m d"],
    gamma: Gamma,
    *,
    depth: int = 1,
    activation: str = "erf",
) -> Kernels:
    """NNGP and NTK between two sets of points for `depth` hidden layers."""
    if activation not in _MOMENTS:
        raise InvalidInput(f"activation must be one of {sorted(_MOMENTS)}, got {activation!r}")
    moments = _MOMENTS[activation]
    w, b, dim = gamma[0] ** 2, gamma[1] ** 2, x.shape[1]
    variance_x = (w / dim * jnp.sum(x**2, axis=1) + b)[:, None]
    variance_other = (w / dim * jnp.sum(other**2, axis=1) + b)[None, :]
    nngp = w / dim * x @ other.T + b
    ntk = nngp
    for _ in range(depth):
        value, slope = moments(variance_x, nngp, variance_other)
        variance_x, variance_other = (
            w * moments(v, v, v)[0] + b for v in (variance_x, variance_other)
        )
        nngp = w * value + b
        ntk = nngp + ntk * w * slope
    return Kernels(nngp, ntk)
