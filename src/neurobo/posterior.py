"""Functions drawn from a surrogate. All are pytrees, so that jitted code takes them as arguments.

A draw is a sum of two kinds of parts: a trained network f(x; θ), and a tangent function
⟨∇f(x; θ0), v⟩ that is linear in v.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.data import Data
from neurobo.networks import MLP, Gamma, Theta
from neurobo.rows import ValueRows
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
    """x -> ν Σ parts(x), in standardised units."""

    scale: Float[Array, ""]
    parts: tuple[Network | Tangent, ...]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.scale * sum(part(x) for part in self.parts)  # type: ignore[return-value]


@partial(jax.jit, static_argnames=("network", "corrected"))
def _pose(
    network: MLP,
    key: Array,
    x: Float[Array, "n d"],
    y: Float[Array, " n"],
    mask: Float[Array, " n"],
    gamma: Gamma,
    noise: Float[Array, ""],
    scale: Float[Array, ""],
    corrected: bool,
) -> tuple[Problem, Tangent | None]:
    """Lines 1 and 2 of Greedy, Algorithm 2 (lines 1 to 4 of Algorithm 3 when `corrected`)."""
    start_key, tangent_key, noise_key = jax.random.split(key, 3)
    theta0 = network.init(start_key, x.shape[1])
    # Σ (y' - ν f)² + σ²ν² ‖θ-θ0‖² is ν² times (*) with targets y'/ν = y/ν + ε.
    targets = y / scale + jnp.sqrt(noise) * jax.random.normal(noise_key, y.shape)
    tangent = None
    if corrected:
        direction = network.without_last_layer(network.init(tangent_key, x.shape[1]))
        tangent = Tangent(network, gamma, theta0, direction)
        targets = targets - tangent(x)
    return Problem(ValueRows(network, gamma, x), targets, mask, noise, theta0), tangent


def draw(
    key: Array,
    data: Data,
    *,
    network: MLP,
    gamma: tuple[float, float],
    noise: float = 0.0,
    scale: float = 1.0,
    corrected: bool = False,
    solver: str = "gauss-newton",
) -> tuple[Draw, Fit]:
    """A function drawn by training a fresh random network on the data.

    `corrected=False` is SimpleSMB (Greedy, Algorithm 2); `corrected=True` is PosteriorSMB
    (Algorithm 3), a draw from the posterior of the NTK Gaussian process when the network is wide.
    `noise` is σ² and `scale` is ν, both in units of the standardised targets.
    """
    arrays = (jnp.asarray(a) for a in (data.x, data.y, data.mask, np.array(gamma), noise, scale))
    problem, tangent = _pose(network, key, *arrays, corrected=corrected)
    fit = SOLVERS[solver](problem)
    parts = (Network(network, problem.rows.gamma, fit.theta),)  # type: ignore[attr-defined]
    return Draw(jnp.asarray(scale), (*parts, *([tangent] if tangent else []))), fit


SOLVERS = {"gauss-newton": gauss_newton, "adam": adam}
