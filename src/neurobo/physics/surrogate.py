"""Values and laws together as one Gaussian model: the tangent of a network, conditioned on both
(PINN-BO, Lemma 5.3.4, at finite width).

| symbol | here      | meaning                                                      | shape |
|--------|-----------|--------------------------------------------------------------|-------|
| φ(x)   |           | ∇f(x; θ0), the gradient of a value                           | p     |
| ω(z)   | omega     | ∇N[f](z; θ0), that of a law, divided by the row's size       | m × p |
| K_uu   |           | Φ Φᵀ                                                         | n × n |
| K_ur   | cross     | Φ Ωᵀ                                                         | n × m |
| K_rr   | among     | Ω Ωᵀ                                                         | m × m |
| κ      | typical   | the mean of ‖φ‖²: what noise is measured by                  |       |
| λ1, λ2 | ridge, law_ridge | variance of the noise of values and of laws           |       |

The function is u = location + spread · ν ⟨φ, θ⟩ with θ ~ N(0, I), in the user's units. A law that
is not linear is replaced by its derivative at the mean, again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import solve_triangular
from jaxtyping import Float

from neurobo.data.observations import Data
from neurobo.data.scaling import units
from neurobo.networks.architectures import Architecture, Gamma, Theta
from neurobo.physics.features import Around, Features, blocks, features, law_rows, phi_of
from neurobo.physics.laws import Law, Laws
from neurobo.physics.residuals import LinearRows, ValuesAndLaws, linearised
from neurobo.surrogates.draws import Draw, Network, Tangent, normal, random_network, values_of
from neurobo.training.residuals import TangentRows
from neurobo.training.solver import Fit, Problem, gauss_newton, linear

LEAST_NOISE = 1e-8
"""λ1 and λ2 are at least this times κ: what keeps the factorisation from breaking."""


@partial(jax.jit, static_argnames="law")
def _offset(law: Law, x: Array, inputs: Array, location: Array, around: Any) -> Float[Array, " m"]:
    """The residual of a constant."""
    constant = lambda row: location + 0.0 * row[0]  # noqa: E731

    def one(at: tuple[Array, Array]) -> Array:
        if around is None:
            return law.of(constant, at)
        return linearised(law, around, constant, at)

    return jax.vmap(one)((x, inputs)).reshape(-1)


# What is known ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Units:
    """What a standardised 0 and 1 mean in the objective's units, and the values in these."""

    location: float
    spread: float
    """Negative if the objective is maximised."""
    y: Float[np.ndarray, " n"]

    @staticmethod
    def of(data: Data, sign: float, count: int | None = None) -> Units:
        """Laws are about values as they are: unlike elsewhere the worst are not compressed."""
        values = data.values[:count]
        location, spread = units(values) if len(values) else (0.0, 0.0)
        if not spread > 0:
            spread = max(abs(location), 1.0)
        return Units(sign * location, sign * spread, (values - location) / spread)


@dataclass(frozen=True)
class Hyper:
    """What the evidence says; variances in units of standardised values, but `trust` in units of
    κ ν²."""

    network: Architecture
    gamma: tuple[float, float]
    scale: float
    """ν."""
    noise: float
    """σ² of the values."""
    trust: tuple[float, ...]
    """For each law the variance of its noise: small for a law that counts, infinite for none."""
    doubt: tuple[float, ...] = ()
    """For each law by how much the observations are likelier without it, as a logarithm."""


@dataclass(frozen=True)
class Known:
    """Everything that a draw needs."""

    found: Features
    hyper: Hyper
    units: Units
    data: Data
    """With `units.y` as its values."""
    targets: Float[np.ndarray, " m"]
    """Of the laws' rows, in units of standardised values."""
    around: Around | None = None

    @property
    def ridge(self) -> float:
        """λ1."""
        return max(self.hyper.noise / self.hyper.scale**2, LEAST_NOISE * self.found.typical)

    @property
    def law_ridge(self) -> Float[np.ndarray, " m"]:
        """λ2 of each row; infinite for one that does not count."""
        trust = np.maximum(np.array(self.hyper.trust)[self.found.law], LEAST_NOISE)
        return np.where(self.found.good > 0, trust * self.found.typical, np.inf)

    @property
    def rows(self) -> LinearRows:
        x = self.data.x
        cross = np.zeros((len(x), len(self.targets)))
        cross[: self.data.n] = self.found.cross(x[: self.data.n])
        seen = TangentRows(
            self.found.network, jnp.asarray(self.found.gamma), jnp.asarray(x), self.found.theta0
        )
        among = jnp.asarray(self.found.among)
        return LinearRows(seen, self.found.omega, jnp.asarray(cross), among)

    def problem(
        self, rows: Any, start: Theta, scale: float, noise: Float[np.ndarray, " N"] | None = None
    ) -> Problem:
        """(*) with values and laws, for u = location + spread · scale · f."""
        targets = np.concatenate([self.data.y, self.targets]) / scale
        ridges = np.concatenate([np.full(len(self.data.y), self.ridge), self.law_ridge])
        if noise is not None:
            targets = targets + np.sqrt(np.where(np.isfinite(ridges), ridges, 0.0)) * noise
        weights = np.concatenate([self.data.mask, self.ridge / self.law_ridge])
        ridge = jnp.asarray(np.asarray(self.ridge))
        return Problem(rows, jnp.asarray(targets), jnp.asarray(weights), ridge, start)


def known(
    found: Features, hyper: Hyper, data: Data, laws: Laws, around: Around | None = None
) -> Known:
    spoken = Units.of(data, laws.sign)
    padded = replace(data, y=np.pad(spoken.y, (0, len(data.mask) - data.n)))
    targets = law_targets(found, laws, spoken, around)
    return Known(found, hyper, spoken, padded, targets, around)


def law_targets(
    found: Features, laws: Laws, spoken: Units, around: Around | None = None
) -> Float[np.ndarray, " m"]:
    """What the rows of laws shall be, for u = location + spread · f: minus the residual of the
    constant."""
    location, offsets = jnp.asarray(spoken.location), []
    for i, law in enumerate(laws.laws):
        for kept, x, inputs in blocks(law, *laws.points(i)):
            found_here = _offset(law, jnp.asarray(x), jnp.asarray(inputs), location, around)
            offsets.append(np.asarray(found_here)[: kept.stop * law.equations])
    offset = np.concatenate(offsets)
    targets = -offset / (spoken.spread * found.sizes)
    return np.where((found.good > 0) & np.isfinite(targets), targets, 0.0)


def condition(key: Array, data: Data, laws: Laws, hyper: Hyper) -> Known:
    """All that is known after these observations. A law that is not linear is replaced by its
    derivative at the mean so far, beginning with the mean without laws."""
    first = features(laws, hyper.network, hyper.gamma, key)
    if laws.affine:
        return known(first, hyper, data, laws)
    blind = replace(hyper, trust=(np.inf,) * len(laws.laws))
    state = known(first, blind, data, laws)
    for _ in range(ROUNDS):
        around = mean_of(state)
        found = features(laws, hyper.network, hyper.gamma, key, around)
        state = known(found, hyper, data, laws, around)
    return state


ROUNDS = 4


def mean_of(state: Known) -> Around:
    """The mean in the user's units."""
    location, spread = (jnp.asarray(v) for v in (state.units.location, state.units.spread))
    return Around(location, spread, mean(state))


# Draws ------------------------------------------------------------------------------------------


def draws(keys: Sequence[Array], state: Known, nu: float = 1.0) -> list[Draw]:
    """Functions drawn from the posterior, exactly; one factorisation serves all."""
    rows, dim = state.rows, state.data.x.shape[1]
    scale = nu * state.hyper.scale
    problems = []
    for key in keys:
        start_key, noise_key = jax.random.split(key)
        start = random_network(state.found.network, start_key, dim)
        noise = normal(noise_key, len(state.data.y) + len(state.targets))
        problems.append(state.problem(rows, start, scale, noise))
    return [_function(state, fit, scale) for fit in linear(problems)]


def trained(
    keys: Sequence[Array], state: Known, laws: Laws, surrogate: str, nu: float = 1.0
) -> list[Draw]:
    """Functions of trained networks instead of their tangents: PosteriorSMB or SimpleSMB with rows
    for laws, which need not be linear. The paper trains "simple" ones."""
    laws, state = _finite(laws, state)
    data, scale = state.data, nu * state.hyper.scale
    network, gamma, dim = state.found.network, jnp.asarray(state.found.gamma), data.x.shape[1]
    functions = []
    for key in keys:
        start_key, other_key, noise_key = jax.random.split(key, 3)
        start = random_network(network, start_key, dim)
        parts: tuple[Tangent, ...] = ()
        if surrogate == "posterior":
            direction = network.without_last_layer(random_network(network, other_key, dim))
            parts = (Tangent(network, gamma, start, direction),)
        noise = normal(noise_key, len(data.y) + len(state.targets))
        problem = state.problem(trained_rows(state, laws, scale, parts), start, scale, noise)
        # Here the residual itself is fitted, that of the constant and of the parts included.
        known_parts = sum((np.asarray(values_of(part, jnp.asarray(data.x))) for part in parts), 0.0)
        minus = np.concatenate([known_parts + 0 * data.y, state.targets / scale])
        fit = gauss_newton(problem._replace(targets=problem.targets - jnp.asarray(minus)))
        both: tuple[Network | Tangent, ...] = (Network(network, gamma, fit.theta), *parts)
        ones = jnp.ones(dim)
        functions.append(Draw(jnp.asarray(np.asarray(scale, dtype=float)), ones, both))
    return functions


def trained_rows(
    state: Known, laws: Laws, scale: float, parts: tuple[Tangent, ...] = ()
) -> ValuesAndLaws:
    """For u = location + spread · scale · (f + parts), in the units of f."""
    found, spread = state.found, state.units.spread * scale
    rows = [
        law_rows(
            law, found.network, found.gamma, *laws.points(i), location=state.units.location,
            spread=spread, size=spread * found.sizes[found.law == i], parts=parts,
        )
        for i, law in enumerate(laws.laws)
    ]  # fmt: skip
    x = jnp.asarray(state.data.x)
    return ValuesAndLaws(found.network, jnp.asarray(found.gamma), x, tuple(rows))


def _finite(laws: Laws, state: Known) -> tuple[Laws, Known]:
    """Without the points where a law is not finite, or does not count."""
    found, inputs, kept = state.found, [], []
    for i, law in enumerate(laws.laws):
        mine = np.isfinite(state.law_ridge[found.law == i]).reshape(-1, law.equations).all(axis=1)
        inputs.append(laws.inputs[i][mine])
        kept.append(np.repeat(mine, law.equations))
    rows = np.concatenate(kept)
    smaller = replace(
        found, omega=found.omega[rows], among=found.among[np.ix_(rows, rows)],
        sizes=found.sizes[rows], good=found.good[rows], law=found.law[rows],
    )  # fmt: skip
    state = replace(state, found=smaller, targets=state.targets[rows])
    return replace(laws, inputs=tuple(inputs)), state


def mean(state: Known) -> Draw:
    zero = jax.tree.map(jnp.zeros_like, state.found.theta0)
    (fit,) = linear([state.problem(state.rows, zero, state.hyper.scale)])
    return _function(state, fit, state.hyper.scale)


def _function(state: Known, fit: Fit, scale: float) -> Draw:
    found = state.found
    tangent = Tangent(found.network, jnp.asarray(found.gamma), found.theta0, fit.theta)
    ones = jnp.ones(state.data.x.shape[1])
    return Draw(jnp.asarray(np.asarray(scale, dtype=float)), ones, (tangent,))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LawPosterior:
    """Lemma 5.3.4: mean and standard deviation given values and laws."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    theta0: Theta
    function: Draw
    nu: Float[Array, ""]
    whitened: Float[Array, "N p"]
    """L⁻¹ ξ, where ξ = [Φ; Ω] and L Lᵀ = ξ ξᵀ + Λ."""

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.function(x)

    def mean_and_sd(self, x: Float[Array, "n d"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        phi = phi_of(self.network, self.gamma, self.theta0, x)
        prior = jnp.sum(phi**2, axis=1)
        explained = jnp.sum((phi @ self.whitened.T) ** 2, axis=1)
        return self.mean(x), self.nu * jnp.sqrt(jnp.maximum(prior - explained, 1e-12 * prior))


def posterior(state: Known, nu: float = 1.0) -> LawPosterior:
    found, gamma = state.found, jnp.asarray(state.found.gamma)
    weights = np.concatenate([state.data.mask, np.isfinite(state.law_ridge).astype(float)])
    ridges = np.concatenate([np.full(len(state.data.y), state.ridge), state.law_ridge])
    ridges = np.where(weights > 0, ridges, 1.0)
    arrays = (jnp.asarray(v) for v in (state.data.x, weights, ridges))
    whitened = _whitened(found.network, gamma, found.theta0, found.omega, *arrays)
    scale = jnp.asarray(np.asarray(nu * state.hyper.scale, dtype=float))
    return LawPosterior(found.network, gamma, found.theta0, mean(state), scale, whitened)


@partial(jax.jit, static_argnames="network")
def _whitened(
    network: Architecture, gamma: Gamma, theta0: Theta, omega: Array, x: Array, weights: Array,
    ridges: Array,
) -> Float[Array, "N p"]:  # fmt: skip
    rows = jnp.concatenate([phi_of(network, gamma, theta0, x), omega]) * weights[:, None]
    factor = jnp.linalg.cholesky(rows @ rows.T + jnp.diag(ridges))
    return solve_triangular(factor, rows, lower=True)
