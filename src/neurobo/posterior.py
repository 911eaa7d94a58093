"""Functions drawn from a surrogate. All are pytrees, so that jitted code takes them as arguments.

A draw is a sum of two kinds of parts: a trained network f(x; θ), and a tangent function
⟨∇f(x; θ0), v⟩ that is linear in v.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.data import Data
from neurobo.networks import MLP, Gamma, Theta
from neurobo.rows import Rows, TangentRows, ValueRows
from neurobo.solve import Fit, Problem, adam, gauss_newton


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Network:
    """x -> f(x; θ)."""

    network: MLP = field(metadata={"static": True})
    gamma: Gamma
    theta: Theta

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.network.apply(self.theta, self.gamma, x)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tangent:
    """x -> ⟨∇f(x; θ0), v⟩."""

    network: MLP = field(metadata={"static": True})
    gamma: Gamma
    theta0: Theta
    direction: Theta

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        at = lambda theta: self.network.apply(theta, self.gamma, x)  # noqa: E731
        return jax.jvp(at, (self.theta0,), (self.direction,))[1]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Draw:
    """x -> ν Σ parts(s ∘ x), in standardised units."""

    scale: Float[Array, ""]
    scales: Float[Array, " d"]
    parts: tuple[Network | Tangent, ...]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.scale * sum(part(x * self.scales) for part in self.parts)


@partial(jax.jit, static_argnames=("network", "dim"))
def random_network(network: MLP, key: Array, dim: int) -> Theta:
    return network.init(key, dim)


def normal(key: Array, n: int) -> Float[np.ndarray, " n"]:
    """n normal numbers, made in one length whatever the bucket: one compilation."""
    return np.asarray(_normal(key, -(-n // 1024) * 1024))[:n]


@partial(jax.jit, static_argnames="length")
def _normal(key: Array, length: int) -> Float[Array, " n"]:
    return jax.random.normal(key, (length,))


@jax.jit
def _tangent_values(function: Tangent, x: Float[Array, "n d"]) -> Float[Array, " n"]:
    return function(x)


def draw(
    key: Array,
    data: Data,
    *,
    network: MLP,
    gamma: tuple[float, float],
    noise: float = 0.0,
    scale: float = 1.0,
    scales: tuple[float, ...] | None = None,
    surrogate: str = "simple",
    solver: str = "gauss-newton",
) -> tuple[Draw, Fit]:
    """A function drawn by training a fresh random network on the data.

    "simple" is SimpleSMB (Greedy, Algorithm 2). "posterior" is PosteriorSMB (Algorithm 3) and
    STO-BNTS: a draw from the posterior of the NTK Gaussian process when the network is wide.
    "linear" is STO-BNTS-Linear: only the tangent is trained, so the draw is exact for the kernel
    of the finite network.
    The draw is ν f with f trained by (*): `scale` is ν, in units of the standardised targets, and
    `noise` is σ², in units of f. `scales` are factors of the input columns.
    """
    s = np.ones(data.x.shape[1]) if scales is None else np.asarray(scales)
    x, g = jnp.asarray(data.x * s), jnp.asarray(gamma)
    start_key, tangent_key, noise_key = jax.random.split(key, 3)
    theta0 = random_network(network, start_key, x.shape[1])
    epsilon = normal(noise_key, len(data.y))  # line 1: y' = y + ν ε
    # Lines 3 and 5: Σ (y' - ν f - ν δ)² + σ²ν² ‖θ-θ0‖² is ν² times (*) with targets y'/ν - δ.
    targets = data.y / scale + np.sqrt(noise) * epsilon
    rows: Rows = ValueRows(network, g, x)
    start = theta0
    parts: tuple[Network | Tangent, ...] = ()
    if surrogate == "posterior":  # lines 2 to 4 of Algorithm 3
        direction = network.without_last_layer(random_network(network, tangent_key, x.shape[1]))
        parts = (Tangent(network, g, theta0, direction),)
        targets = targets - np.asarray(_tangent_values(parts[0], x))
    elif surrogate == "linear":
        rows = TangentRows(network, g, x, theta0)
        start = random_network(network, tangent_key, x.shape[1])
    problem = Problem(rows, jnp.asarray(targets), jnp.asarray(data.mask), jnp.asarray(noise), start)
    fit = SOLVERS[solver](problem)
    trained: Network | Tangent = (
        Tangent(network, g, theta0, fit.theta)
        if surrogate == "linear"
        else Network(network, g, fit.theta)
    )
    return Draw(jnp.asarray(scale), jnp.asarray(s), (trained, *parts)), fit


SURROGATES = ("simple", "posterior", "linear")
SOLVERS: dict[str, Callable[[Problem], Fit]] = {"gauss-newton": gauss_newton, "adam": adam}
