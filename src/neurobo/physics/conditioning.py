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

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.compilation import compiled
from neurobo.data.observations import Data
from neurobo.data.scaling import units
from neurobo.networks.architectures import Architecture, Theta
from neurobo.physics.features import ExpansionPoint, Features, blocks, features
from neurobo.physics.law import Law
from neurobo.physics.laws import Laws
from neurobo.physics.residuals import LinearRows, linearised
from neurobo.surrogates.draws import Draw, Tangent
from neurobo.training.gauss_newton import linear
from neurobo.training.problem import Fit, TrainingProblem
from neurobo.training.residuals import TangentRows

LEAST_NOISE = 1e-8
"""λ1 and λ2 are at least this times κ: what keeps the factorisation from breaking."""
ROUNDS = 4
"""Of linearising a law that is not linear."""


@compiled(static="law")
def _offset(law: Law, x: Array, inputs: Array, location: Array, around: Any) -> Float[Array, " m"]:
    """The residual of a constant."""
    constant = lambda row: location + 0.0 * row[0]  # noqa: E731

    def one(at: tuple[Array, Array]) -> Array:
        if around is None:
            return law.of(constant, at)
        return linearised(law, around, constant, at)

    return jax.vmap(one)((x, inputs)).reshape(-1)


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
class PhysicsHyper:
    """What the marginal likelihood chooses; variances in units of standardised values, but `trust`
    in units of κ ν²."""

    network: Architecture
    gamma: tuple[float, float]
    scale: float
    """ν."""
    noise: float
    """σ² of the values."""
    trust: tuple[float, ...]
    """For each law the variance of its noise: small for a law that counts, infinite for none."""
    misfit: tuple[float, ...] = ()
    """For each law by how much the observations are likelier without it, as a logarithm."""


@dataclass(frozen=True)
class Known:
    """Everything that a draw needs."""

    found: Features
    hyper: PhysicsHyper
    units: Units
    data: Data
    """With `units.y` as its values."""
    targets: Float[np.ndarray, " m"]
    """Of the laws' rows, in units of standardised values."""
    around: ExpansionPoint | None = None

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
    ) -> TrainingProblem:
        """(*) with values and laws, for u = location + spread · scale · f."""
        targets = np.concatenate([self.data.y, self.targets]) / scale
        ridges = np.concatenate([np.full(len(self.data.y), self.ridge), self.law_ridge])
        if noise is not None:
            targets = targets + np.sqrt(np.where(np.isfinite(ridges), ridges, 0.0)) * noise
        weights = np.concatenate([self.data.mask, self.ridge / self.law_ridge])
        ridge = jnp.asarray(np.asarray(self.ridge))
        return TrainingProblem(rows, jnp.asarray(targets), jnp.asarray(weights), ridge, start)


def known(
    found: Features,
    hyper: PhysicsHyper,
    data: Data,
    laws: Laws,
    around: ExpansionPoint | None = None,
) -> Known:
    spoken = Units.of(data, laws.sign)
    padded = replace(data, y=np.pad(spoken.y, (0, len(data.mask) - data.n)))
    targets = law_targets(found, laws, spoken, around)
    return Known(found, hyper, spoken, padded, targets, around)


def law_targets(
    found: Features, laws: Laws, spoken: Units, around: ExpansionPoint | None = None
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


def condition(key: Array, data: Data, laws: Laws, hyper: PhysicsHyper) -> Known:
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


def mean_of(state: Known) -> ExpansionPoint:
    """The mean in the user's units."""
    location, spread = (jnp.asarray(v) for v in (state.units.location, state.units.spread))
    return ExpansionPoint(location, spread, mean(state))


def mean(state: Known) -> Draw:
    zero = jax.tree.map(jnp.zeros_like, state.found.theta0)
    (fit,) = linear([state.problem(state.rows, zero, state.hyper.scale)])
    return function_of(state, fit, state.hyper.scale)


def function_of(state: Known, fit: Fit, scale: float) -> Draw:
    found = state.found
    tangent = Tangent(found.network, jnp.asarray(found.gamma), found.theta0, fit.theta)
    ones = jnp.ones(state.data.x.shape[1])
    return Draw(jnp.asarray(np.asarray(scale, dtype=float)), ones, (tangent,))
