"""Kernels of infinitely wide MLPs in NTK parameterisation, and what they say about information.

For pre-activations that are jointly normal with covariance K, each layer gives

    K' = σ_w² E[φ(u) φ(v)] + σ_b²,      Θ' = K' + Θ · σ_w² E[φ'(u) φ'(v)],

where K (NNGP) is the covariance of the random network and Θ (NTK) that of its tangent features.
The expectations have closed forms for erf, ReLU and sine. For tanh they have one too, because tanh
is to 1e-5 a mixture of four error functions; any other activation is integrated numerically.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.errors import InvalidInput, check_count
from neurobo.networks.architectures import ACTIVATIONS, MLP, Gamma, lift

Moments = tuple[Array, Array]  # E[φ(u) φ(v)], E[φ'(u) φ'(v)]


class Kernels(NamedTuple):
    nngp: Float[Array, "*shape"]
    ntk: Float[Array, "*shape"]


# Expectations: a and b are the variances of u and v, `cross` is their covariance -----------------

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


def _moments(activation: str) -> Callable[[Array, Array, Array], Moments]:
    if activation not in ACTIVATIONS:
        raise InvalidInput(f"activation must be one of {sorted(ACTIVATIONS)}, got {activation!r}")
    return _CLOSED.get(activation) or partial(moments_by_quadrature, activation)


# Kernels ----------------------------------------------------------------------------------------


def kernels(
    x: Float[Array, "n d"],
    other: Float[Array, "m d"],
    gamma: Gamma,
    *,
    scales: Float[Array, " d"] | None = None,
    depth: int = 1,
    activation: str = "erf",
    sphere: bool = False,
) -> Kernels:
    """NNGP and NTK between two sets of points for `depth` hidden layers.

    `scales` multiply the columns of the inputs (ARD): 0 ignores a column. With `sphere` one more
    column gives all points the same length.
    """
    s = jnp.ones(x.shape[1]) if scales is None else scales
    w, b, dim = gamma[0] ** 2, gamma[1] ** 2, x.shape[1] + sphere
    inner = (x * s) @ (other * s).T
    if sphere:  # without the column itself: fewer steps, and far fewer in the gradient
        inner += lift(x, s)[:, None] * lift(other, s)
    return _layers(
        _input_variance(x, gamma, s, sphere)[:, None],
        w / dim * inner + b,
        _input_variance(other, gamma, s, sphere)[None, :],
        gamma,
        depth,
        _moments(activation),
    )


def diagonals(
    x: Float[Array, "n d"],
    gamma: Gamma,
    *,
    scales: Float[Array, " d"] | None = None,
    depth: int = 1,
    activation: str = "erf",
    sphere: bool = False,
) -> Kernels:
    """The variances: the diagonals of `kernels(x, x)`."""
    s = jnp.ones(x.shape[1]) if scales is None else scales
    a = jnp.broadcast_to(_input_variance(x, gamma, s, sphere), len(x))
    return _layers(a, a, a, gamma, depth, _moments(activation))


def _input_variance(
    x: Float[Array, "n d"], gamma: Gamma, scales: Float[Array, " d"], sphere: bool
) -> Float[Array, " n"] | Float[Array, " 1"]:
    """Of the first layer; on a sphere it is the same for all points."""
    square = jnp.sum(scales**2)[None] if sphere else jnp.sum((x * scales) ** 2, axis=1)
    return gamma[0] ** 2 / (x.shape[1] + sphere) * square + gamma[1] ** 2


def _layers(
    a: Array,
    nngp: Array,
    b: Array,
    gamma: Gamma,
    depth: int,
    moments: Callable[[Array, Array, Array], Moments],
) -> Kernels:
    """The recursion over hidden layers, from variances and covariance of the first one."""
    w, bias = gamma[0] ** 2, gamma[1] ** 2
    ntk = nngp
    for layer in range(depth):
        value, slope = moments(a, nngp, b)
        if layer < depth - 1:
            a, b = (w * moments(v, v, v)[0] + bias for v in (a, b))
        nngp = w * value + bias
        ntk = nngp + ntk * w * slope
    return Kernels(nngp, ntk)


@dataclass(frozen=True)
class Wide:
    """An infinitely wide MLP as a prior for functions: its architecture and which kernel."""

    depth: int = 1
    activation: str = "tanh"
    kind: str = "ntk"
    """"ntk" or "nngp"."""
    sphere: bool = False
    """Whether inputs are put on a sphere."""

    def __post_init__(self) -> None:
        check_count("depth", self.depth)
        _moments(self.activation)
        if self.kind not in Kernels._fields:
            raise InvalidInput(f"kernel must be one of {Kernels._fields}, got {self.kind!r}")

    @staticmethod
    def of(network: MLP) -> Wide:
        """The wide limit of a network."""
        return Wide(network.depth, network.activation, sphere=network.sphere)

    def between(
        self,
        x: Float[Array, "n d"],
        other: Float[Array, "m d"],
        gamma: Gamma,
        scales: Float[Array, " d"],
    ) -> Float[Array, "n m"]:
        both = kernels(
            x, other, gamma,
            scales=scales, depth=self.depth, activation=self.activation, sphere=self.sphere,
        )  # fmt: skip
        return both.ntk if self.kind == "ntk" else both.nngp

    def variance(
        self, x: Float[Array, "n d"], gamma: Gamma, scales: Float[Array, " d"]
    ) -> Float[Array, " n"]:
        both = diagonals(
            x, gamma,
            scales=scales, depth=self.depth, activation=self.activation, sphere=self.sphere,
        )  # fmt: skip
        return both.ntk if self.kind == "ntk" else both.nngp


# Information ------------------------------------------------------------------------------------


def information_gain(kernel: Float[Array, "n n"], noise: float | Array) -> Float[Array, ""]:
    """½ log det(I + K/λ): what n observations with noise variance λ tell about the function."""
    return jnp.linalg.slogdet(jnp.eye(len(kernel)) + kernel / noise)[1] / 2


def interaction_information(
    values: Float[Array, "n n"],
    cross: Float[Array, "n m"],
    laws: Float[Array, "m m"],
    noise: float | Array,
    law_noise: float | Array,
) -> Float[Array, ""]:
    """What observations and rows of a differential equation tell both (PINN-BO, section 5.3).

    ½ log [det(ΦᵀΦ/λ1 + I) det(ΩᵀΩ/λ2 + I) / det(ΦᵀΦ/λ1 + ΩᵀΩ/λ2 + I)], where the arguments are the
    Grams ΦΦᵀ, ΦΩᵀ and ΩΩᵀ: by Sylvester's identity no matrix is larger than the number of rows.
    """
    mixed = cross / jnp.sqrt(jnp.asarray(noise) * law_noise)
    both = jnp.block([[values / noise, mixed], [mixed.T, laws / law_noise]])
    together = information_gain(both, 1.0)
    return information_gain(values, noise) + information_gain(laws, law_noise) - together
