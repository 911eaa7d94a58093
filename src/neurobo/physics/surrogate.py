"""The surrogate of values and laws: posterior samples, mean and standard deviation.

Symbols are those of `conditioning`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import solve_triangular
from jaxtyping import Float

from neurobo.compilation import compiled
from neurobo.data.observations import Data
from neurobo.networks.architectures import Architecture, Gamma, Theta
from neurobo.networks.keys import fold_in, split
from neurobo.networks.mlp import MLP
from neurobo.physics.conditioning import Known, condition, function_of, mean
from neurobo.physics.features import law_rows, phi_of
from neurobo.physics.hyperparameters import Settings, scheduled
from neurobo.physics.laws import Laws
from neurobo.physics.networks import candidates
from neurobo.physics.residuals import ValuesAndLaws
from neurobo.physics.warnings import warn_of_misfits
from neurobo.surrogates.draws import Draw, Network, Tangent, normal, random_network, values_of
from neurobo.surrogates.gaussian_conditioning import remaining_sd
from neurobo.surrogates.posterior import Function
from neurobo.training.gauss_newton import gauss_newton, linear


@dataclass(frozen=True, kw_only=True)
class PhysicsSurrogate:
    """Values and laws as one Gaussian model."""

    laws: Laws
    number: int
    """Of the suggestion: a law may have other points in each."""
    network: MLP
    nu: Callable[[Known], float]
    """ν, the factor of the standard deviation."""
    surrogate: Literal["linear", "posterior", "simple"] = "linear"
    """How samples are made: of the tangent, or of trained networks."""
    additive: bool | Literal["auto"] = "auto"
    gamma: tuple[float, float] | None = None
    noise: float | None = None
    weight: float | None = None
    """This and the two above: None if chosen by marginal likelihood."""

    def fit(self, key: Array, data: Data) -> LawPosterior:
        """Mean and standard deviation of Lemma 5.3.4."""
        state = self.condition(key, data)
        return posterior(state, self.nu(state))

    def sample(self, key: Array, data: Data, number: int) -> Function:
        return self.samples(key, data, [number])[0]

    def samples(self, key: Array, data: Data, numbers: Sequence[int]) -> list[Function]:
        state = self.condition(key, data)
        keys, nu = [fold_in(key, number) for number in numbers], self.nu(state)
        if self.surrogate == "linear":
            return list(draws(keys, state, nu))
        return list(trained(keys, state, self.laws_at(data), self.surrogate, nu))

    def laws_at(self, data: Data) -> Laws:
        """With the points of this suggestion."""
        best = data.x[data.order[0]] if data.n else None
        return self.laws.at(self.number, best)

    def condition(self, key: Array, data: Data) -> Known:
        """All that is known after these observations."""
        laws = self.laws_at(data)
        # One network throughout a run, as in Algorithm 4: what laws say is computed once.
        name = fold_in(key, 2**31)
        networks = candidates(self.network, data.x.shape[1], self.additive)
        hyper = scheduled(name, data, laws, Settings(networks, self.gamma, self.noise, self.weight))
        warn_of_misfits(laws, hyper, data)
        return condition(name, data, laws, hyper)


def draws(keys: Sequence[Array], state: Known, nu: float = 1.0) -> list[Draw]:
    """Functions drawn from the posterior, exactly; one factorisation serves all."""
    rows, dim = state.rows, state.data.x.shape[1]
    scale = nu * state.hyper.scale
    problems = []
    for key in keys:
        start_key, noise_key = split(key)
        start = random_network(state.found.network, start_key, dim)
        noise = normal(noise_key, len(state.data.y) + len(state.targets))
        problems.append(state.problem(rows, start, scale, noise))
    return [function_of(state, fit, scale) for fit in linear(problems)]


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
        start_key, other_key, noise_key = split(key, 3)
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
        return self.mean(x), self.nu * remaining_sd(prior, explained)


def posterior(state: Known, nu: float = 1.0) -> LawPosterior:
    found, gamma = state.found, jnp.asarray(state.found.gamma)
    weights = np.concatenate([state.data.mask, np.isfinite(state.law_ridge).astype(float)])
    ridges = np.concatenate([np.full(len(state.data.y), state.ridge), state.law_ridge])
    ridges = np.where(weights > 0, ridges, 1.0)
    arrays = (jnp.asarray(v) for v in (state.data.x, weights, ridges))
    whitened = _whitened(found.network, gamma, found.theta0, found.omega, *arrays)
    scale = jnp.asarray(np.asarray(nu * state.hyper.scale, dtype=float))
    return LawPosterior(found.network, gamma, found.theta0, mean(state), scale, whitened)


@compiled(static="network")
def _whitened(
    network: Architecture, gamma: Gamma, theta0: Theta, omega: Array, x: Array, weights: Array,
    ridges: Array,
) -> Float[Array, "N p"]:  # fmt: skip
    rows = jnp.concatenate([phi_of(network, gamma, theta0, x), omega]) * weights[:, None]
    factor = jnp.linalg.cholesky(rows @ rows.T + jnp.diag(ridges))
    return solve_triangular(factor, rows, lower=True)
