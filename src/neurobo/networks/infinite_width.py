"""Kernels of infinitely wide MLPs in NTK parameterisation.

For pre-activations that are jointly normal with covariance K, each layer gives

    K' = σ_w² E[φ(u) φ(v)] + σ_b²,      Θ' = K' + Θ · σ_w² E[φ'(u) φ'(v)],

where K (NNGP) is the covariance of the random network and Θ (NTK) that of its tangent features.
The expectations are in `moments`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from neurobo.errors import InvalidInput, check_count
from neurobo.networks.architectures import Gamma
from neurobo.networks.input_maps import lift
from neurobo.networks.mlp import MLP
from neurobo.networks.moments import Moments, moments_of


class Kernels(NamedTuple):
    nngp: Float[Array, "*shape"]
    ntk: Float[Array, "*shape"]


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
        moments_of(activation),
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
    return _layers(a, a, a, gamma, depth, moments_of(activation))


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
class InfiniteWidthMLP:
    """An infinitely wide MLP as a prior for functions: its architecture and which kernel."""

    depth: int = 1
    activation: str = "tanh"
    kind: str = "ntk"
    """"ntk" or "nngp"."""
    sphere: bool = False
    """Whether inputs are put on a sphere."""
    additive: bool = False
    """Whether each unit sees one column, as in `additive`: a sum of functions of one column."""

    def __post_init__(self) -> None:
        if self.additive and (self.sphere or self.depth > 1):
            raise InvalidInput(
                "additive networks must have one hidden layer and see the box, got "
                f"depth={self.depth}, sphere={self.sphere}"
            )
        check_count("depth", self.depth)
        moments_of(self.activation)
        if self.kind not in Kernels._fields:
            raise InvalidInput(f"kernel must be one of {Kernels._fields}, got {self.kind!r}")

    @staticmethod
    def of(network: MLP) -> InfiniteWidthMLP:
        """The infinite-width limit of a network."""
        return InfiniteWidthMLP(network.depth, network.activation, sphere=network.sphere)

    def between(
        self,
        x: Float[Array, "n d"],
        other: Float[Array, "m d"],
        gamma: Gamma,
        scales: Float[Array, " d"],
    ) -> Float[Array, "n m"]:
        if self.additive:
            one = replace(self, additive=False)

            def between(u: Array, v: Array, s: Array) -> Array:
                return one.between(u[:, None], v[:, None], gamma, s[None])

            return jnp.mean(jax.vmap(between)(x.T, other.T, scales), axis=0)
        both = kernels(
            x, other, gamma,
            scales=scales, depth=self.depth, activation=self.activation, sphere=self.sphere,
        )  # fmt: skip
        return both.ntk if self.kind == "ntk" else both.nngp

    def variance(
        self, x: Float[Array, "n d"], gamma: Gamma, scales: Float[Array, " d"]
    ) -> Float[Array, " n"]:
        if self.additive:
            one = replace(self, additive=False)

            def variance(u: Array, s: Array) -> Array:
                return one.variance(u[:, None], gamma, s[None])

            return jnp.mean(jax.vmap(variance)(x.T, scales), axis=0)
        both = diagonals(
            x, gamma,
            scales=scales, depth=self.depth, activation=self.activation, sphere=self.sphere,
        )  # fmt: skip
        return both.ntk if self.kind == "ntk" else both.nngp
