"""Functions drawn from a surrogate. All are pytrees, so that jitted code takes them as arguments.

A draw is a sum of two kinds of parts: a trained network f(x; θ), and a tangent function
⟨∇f(x; θ0), v⟩ that is linear in v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import jax
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.compilation import compiled
from neurobo.data.observations import Data
from neurobo.networks.architectures import Architecture, Gamma, Theta
from neurobo.networks.keys import split
from neurobo.training.gauss_newton import gauss_newton, gauss_newton_batch, linear
from neurobo.training.gradient_descent import ADAM_STEPS, adam, sgd
from neurobo.training.problem import Fit, TrainingProblem
from neurobo.training.residuals import Rows, TangentRows, ValueRows


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Network:
    """x -> f(x; θ)."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    theta: Theta

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.network.apply(self.theta, self.gamma, x)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tangent:
    """x -> ⟨∇f(x; θ0), v⟩."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    theta0: Theta
    direction: Theta

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        at = lambda theta: self.network.apply(theta, self.gamma, x)  # noqa: E731
        return jax.jvp(at, (self.theta0,), (self.direction,))[1]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Draw:
    """x -> μ + ν Σ parts(s ∘ x), in standardised units."""

    scale: Float[Array, ""]
    scales: Float[Array, " d"]
    parts: tuple[Network | Tangent, ...]
    offset: Float[Array, ""] | None = None
    """μ, if it is not 0."""

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        values = self.scale * sum(part(x * self.scales) for part in self.parts)
        return values if self.offset is None else self.offset + values


@compiled(static="network dim")
def random_network(network: Architecture, key: Array, dim: int) -> Theta:
    return network.init(key, dim)


def normal(key: Array, n: int) -> Float[np.ndarray, " n"]:
    """n normal numbers, made in one length whatever the bucket: one compilation."""
    return np.asarray(_normal(key, -(-n // 1024) * 1024))[:n]


@compiled(static="length")
def _normal(key: Array, length: int) -> Float[Array, " n"]:
    return jax.random.normal(key, (length,))


@compiled
def values_of(function: Callable[[Array], Array], x: Float[Array, "n d"]) -> Float[Array, " n"]:
    """Of any function that is a pytree, compiled."""
    return function(x)


ADAM_ROWS = 16
"""Adam's rows are padded to a multiple of this."""


@dataclass(frozen=True)
class Recipe:
    """How a function is drawn: a fresh random network is trained on the data.

    "simple" is SimpleSMB (Greedy, Algorithm 2). "posterior" is PosteriorSMB (Algorithm 3) and
    STO-BNTS: a draw from the posterior of the NTK Gaussian process when the network is wide.
    "linear" is STO-BNTS-Linear: only the tangent is trained, so the draw is exact for the kernel
    of the finite network. "centred" is f(x; θ) - f(x; θ0), which begins at zero: a mean, no draw.
    The draw is ν f with f trained by (*).
    """

    network: Architecture
    gamma: tuple[float, float]
    noise: float = 0.0
    """σ², in units of f."""
    scale: float = 1.0
    """ν, in units of the standardised targets."""
    scales: tuple[float, ...] | None = None
    """Factors of the input columns."""
    surrogate: str = "simple"
    solver: str = "gauss-newton"
    adam_steps: int = ADAM_STEPS
    perturbed: bool = True
    """Whether the targets get fresh noise of variance σ², as a draw needs."""


def draw(key: Array, data: Data, recipe: Recipe) -> tuple[Draw, Fit]:
    """One function."""
    return draws([key], data, recipe)[0]


def draws(keys: Sequence[Array], data: Data, recipe: Recipe) -> list[tuple[Draw, Fit]]:
    """Several independent functions, solved together where they share a network's rows; each of
    "linear" has a network of its own whose tangent is trained (STO-BNTS, Algorithm 2, line 4)."""
    linear_only = recipe.surrogate == "linear"
    if recipe.solver == "adam" and not linear_only:
        data = data.repadded(ADAM_ROWS)  # in thousands of steps padding costs more than compiling
    s = np.ones(data.x.shape[1]) if recipe.scales is None else np.asarray(recipe.scales)
    # `jnp.asarray` would compile a program for each of the shapes.
    arrays = data.x * s, np.array(recipe.gamma), np.asarray(recipe.noise, dtype=float), data.mask
    x, g, noise, mask = jax.device_put(arrays)
    dim = data.x.shape[1]
    network = recipe.network
    rows: Rows = ValueRows(network, g, x)
    problems: list[TrainingProblem] = []
    extra: list[tuple[Network | Tangent, ...]] = []
    for key in keys:
        start_key, other_key, noise_key = split(key, 3)
        start = random_network(network, start_key, dim)
        if linear_only:  # θ'0
            tangent_key = split(key, 4)[3]
            rows = TangentRows(network, g, x, random_network(network, tangent_key, dim))
        # Lines 3 and 5: Σ (y' - ν f - ν δ)² + σ²ν² ‖θ-θ0‖² is ν² times (*) with targets y'/ν - δ.
        targets = data.y / recipe.scale
        if recipe.perturbed:  # line 1: y' = y + ν ε
            targets = targets + np.sqrt(recipe.noise) * normal(noise_key, len(data.y))
        parts: tuple[Network | Tangent, ...] = ()
        if recipe.surrogate == "posterior":  # lines 2 to 4 of Algorithm 3
            direction = network.without_last_layer(random_network(network, other_key, dim))
            parts = (Tangent(network, g, start, direction),)
        elif recipe.surrogate == "centred":
            parts = (Network(network, g, network.negated(start)),)
        for part in parts:
            targets = targets - np.asarray(values_of(part, x))
        problems.append(TrainingProblem(rows, jax.device_put(targets), mask, noise, start))
        extra.append(parts)
    if linear_only:
        fits = [linear([problem])[0] for problem in problems]
    else:
        fits = solve(problems, recipe.solver, adam_steps=recipe.adam_steps)
    scale, factors = jax.device_put((np.asarray(recipe.scale, dtype=float), s))
    found = []
    for problem, fit, parts in zip(problems, fits, extra, strict=True):
        trained: Network | Tangent = (
            Tangent(network, g, problem.rows.theta0, fit.theta)
            if isinstance(problem.rows, TangentRows)
            else Network(network, g, fit.theta)
        )
        found.append((Draw(scale, factors, (trained, *parts)), fit))
    return found


def solve(
    problems: Sequence[TrainingProblem],
    solver: str = "gauss-newton",
    *,
    max_steps: int | None = None,
    adam_steps: int = ADAM_STEPS,
) -> list[Fit]:
    """`max_steps` is for Gauss-Newton: the others know their own."""
    if solver == "adam":
        return [adam(problem, steps=adam_steps) for problem in problems]
    if solver != "gauss-newton":
        return [SOLVERS[solver](problem) for problem in problems]
    if len(problems) > 1:
        return gauss_newton_batch(problems, max_steps=max_steps)
    return [gauss_newton(problem, max_steps=max_steps) for problem in problems]


SURROGATES = ("simple", "posterior", "linear")
SOLVERS: dict[str, Callable[[TrainingProblem], Fit]] = {
    "gauss-newton": gauss_newton,
    "adam": adam,
    "sgd": sgd,
    "minibatch-sgd": partial(sgd, epochs=50, batch=50, penalised=True),
}
"""By name. "sgd" is one pass over the data (Neural-CBO, equation 4.2), "minibatch-sgd" 50 passes in
batches of 50 (Neural-BO, section 7)."""
