"""Surrogates of several quantities that were observed at the same points.

The quantities share a network's random start θ0 and γ, and with them one kernel and one
eigendecomposition; each has a network of its own that is trained from there, a scale ν and a noise
variance σ². The mean is ν (f(x; θ) - f(x; θ0)), zero before any observation. The uncertainty comes
from the gradients at θ0 as in `linearised`: with K = G Gᵀ = Q Λ Qᵀ and λ = σ²/ν² the variance is

    ν² (‖g‖² - Σ_j (Qᵀ k(x))_j² / (Λ_j + λ))

so that another quantity costs another sum, not another factorisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import solve_triangular
from jaxtyping import Float, Int

from neurobo.compilation import compiled
from neurobo.data.content_cache import cached
from neurobo.data.observations import Data
from neurobo.networks.architectures import Architecture, FixedGamma, Gamma, Theta, gamma_pair
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.mlp import MLP
from neurobo.surrogates import hyperparameters, kernel_spectrum, refit_schedule
from neurobo.surrogates.draws import random_network, solve
from neurobo.surrogates.gaussian_conditioning import remaining_sd
from neurobo.training import landmarks
from neurobo.training.gauss_newton import stacked
from neurobo.training.problem import JITTER, TrainingProblem
from neurobo.training.residuals import ValueRows, gram_of


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MultiOutput:
    """k quantities."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    start: Theta
    """θ0."""
    trained: Theta
    """θ, with a leading axis that counts quantities."""
    nu: Float[Array, " k"]
    x: Float[Array, "M d"]
    """What was seen, or landmarks among it."""
    mask: Float[Array, " M"]
    turn: Float[Array, "M M"]
    """Qᵀ; with landmarks it includes their own factor."""
    shares: Float[Array, "k M"]
    """1/(Λ + λ); with landmarks Λ/(Λ + λ)."""
    information: Float[Array, " k"]
    """What the observations have told: ½ log det(1 + K/λ)."""
    noise: Float[Array, " k"]
    """σ²."""

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, "k n"]:
        values = jax.vmap(lambda theta: self.network.apply(theta, self.gamma, x))(self.trained)
        return self.nu[:, None] * (values - self.network.apply(self.start, self.gamma, x))

    def mean_and_sd(
        self, x: Float[Array, "n d"]
    ) -> tuple[Float[Array, "k n"], Float[Array, "k n"]]:
        cross = self.network.tangent_kernel(self.start, self.gamma, x, self.x) * self.mask
        prior = self.network.tangent_size(self.start, self.gamma, x)
        explained = self.shares @ ((cross @ self.turn.T) ** 2).T
        return self.mean(x), self.nu[:, None] * remaining_sd(prior, explained)


NOTHING = 1e-30
"""A ridge that keeps 0 / 0 away before there are observations."""
STEPS = 3
"""Of training. The first gives the linear model to which the uncertainty belongs; a dozen
quantities would take a second to train to the end, which bounds of whole standard deviations do not
show."""


class MultiOutputHyper(NamedTuple):
    """Hyper-parameters of several quantities."""

    gamma: tuple[float, float]
    scales: Float[np.ndarray, " k"]
    """ν."""
    noises: Float[np.ndarray, " k"]
    """σ²."""


class FixedHyper(NamedTuple):
    """Hyper-parameters that are given, for ν = 1."""

    gamma: tuple[float, float]
    noise: float

    @classmethod
    def given(cls, gamma: FixedGamma | str, noise: float | None) -> FixedHyper | None:
        """None if γ is not given: a word says how it is chosen."""
        return None if isinstance(gamma, str) else cls(gamma_pair(gamma), noise or 0.0)

    def of(self, count: int) -> MultiOutputHyper:
        return MultiOutputHyper(self.gamma, np.ones(count), np.full(count, self.noise))


def learn(
    key: Array,
    known: Sequence[Data],
    network: Architecture,
    *,
    solver: str = "gauss-newton",
    hyper: MultiOutputHyper | None = None,
) -> MultiOutput:
    """From data with the same points and other values, and perhaps pending points; with these
    hyper-parameters, or by evidence."""
    data = known[0]
    hyper = shared_hyper(known, network) if hyper is None else hyper
    ridges = hyper.noises / hyper.scales**2
    gamma, x = jnp.asarray(hyper.gamma), jnp.asarray(data.x)
    start = random_network(network, key, data.x.shape[1])
    rows = ValueRows(network, gamma, x)
    begun = np.asarray(_values(rows, start))
    problems = [
        TrainingProblem(
            rows,
            jnp.asarray(d.y / nu + begun),
            jnp.asarray(data.mask),
            jnp.asarray(ridge),
            start,
        )
        for d, nu, ridge in zip(known, hyper.scales, ridges, strict=True)
    ]
    trained = stacked([fit.theta for fit in solve(problems, solver, max_steps=STEPS)])
    # Pending points reduce the uncertainty at once: it does not depend on values.
    seen = data.with_fantasies(np.zeros(len(data.pending)))
    chosen = landmarks.choose(seen.y, seen.mask)
    arrays = (jnp.asarray(v) for v in (seen.x, seen.mask, ridges))
    of = None if chosen is None else jnp.asarray(chosen)
    x, mask, turn, shares, information = _uncertainty(network, gamma, start, *arrays, of)
    nu, noise = jnp.asarray(hyper.scales), jnp.asarray(hyper.noises)
    return MultiOutput(
        network, gamma, start, trained, nu, x, mask, turn, shares, information, noise
    )


@compiled
def _values(rows: ValueRows, theta: Theta) -> Float[Array, " n"]:
    return rows.values(theta)


@compiled(static="network")
def _uncertainty(
    network: Architecture,
    gamma: Gamma,
    start: Theta,
    x: Float[Array, "N d"],
    mask: Float[Array, " N"],
    ridges: Float[Array, " k"],
    chosen: Int[Array, " m"] | None,
) -> tuple[Array, Array, Array, Array, Array]:
    """x, mask, turn, shares and information of `MultiOutput`."""
    sizes = network.tangent_size(start, gamma, x) * mask
    raised = jnp.maximum(ridges, JITTER * jnp.sum(sizes) / jnp.maximum(jnp.sum(mask), 1))
    raised = jnp.maximum(raised, NOTHING)
    if chosen is None:
        gram = network.tangent_kernel(start, gamma, x, x) * mask * mask[:, None]
        values, vectors = jnp.linalg.eigh(gram)
        values = jnp.maximum(values, 0.0)
        return x, mask, vectors.T, 1 / (values + raised[:, None]), _information(values, raised)
    columns = network.tangent_kernel(start, gamma, x, x[chosen]) * mask[:, None]
    half, factor, inner = landmarks.sketch(columns, chosen)
    missing = jnp.sum(jnp.maximum(sizes - jnp.sum(half**2, axis=1), 0.0)) / jnp.sum(mask)
    values, vectors = jnp.linalg.eigh(inner)
    values = jnp.maximum(values, 0.0)
    turn = solve_triangular(factor, vectors, lower=True, trans=1).T  # (L⁻ᵀ Q)ᵀ
    raised = raised + missing
    shares = values / (values + raised[:, None])
    return x[chosen], mask[chosen], turn, shares, _information(values, raised)


def _information(values: Float[Array, " M"], ridges: Float[Array, " k"]) -> Float[Array, " k"]:
    return jnp.sum(jnp.log1p(values / ridges[:, None]), axis=1) / 2


# Hyper-parameters -------------------------------------------------------------------------------

GAMMAS = tuple((w, b) for w in (0.7, 1.5, 3.0, 6.0) for b in (0.3, 1.0, 3.0))
"""σ_w and σ_b that the evidence chooses from, for all quantities together."""


def shared_hyper(known: Sequence[Data], network: Architecture) -> MultiOutputHyper:
    """γ of the highest evidence over all quantities; each one's ν and σ² of the highest for that.

    As in `refit_schedule` the first observations decide until there are a tenth more.
    """
    columns = known[0].x.shape[1]
    if not known[0].n:
        start = hyperparameters.unknown(columns)
        return MultiOutputHyper(start.gamma, np.ones(len(known)), np.zeros(len(known)))
    rows = refit_schedule.scheduled_rows(known[0].n)
    x = known[0].x[rows]
    y = np.stack([data.y[rows] for data in known])
    best: tuple[float, MultiOutputHyper] | None = None
    for gamma in GAMMAS:
        values, vectors, size = spectrum(network, gamma, x)
        found = [kernel_spectrum.profile(values, (vectors.T @ row) ** 2) for row in y]
        cost = sum(f[0] for f in found) + kernel_spectrum.gamma_prior(gamma)
        if best is None or cost < best[0]:
            variances, noises = np.array([f[1:] for f in found]).T
            best = cost, MultiOutputHyper(gamma, np.sqrt(variances / size), noises)
    assert best is not None
    return best[1]


@cached
def spectrum(
    network: Architecture, gamma: tuple[float, float], x: Float[np.ndarray, "n d"]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Eigenvalues and vectors of the kernel, scaled to a mean variance of 1, and the scale."""
    points = Data.pad(x, np.zeros(len(x))).x
    if isinstance(network, MLP):
        wide = InfiniteWidthMLP.of(network)
        kernel = _wide_kernel(wide, jnp.asarray(gamma), jnp.asarray(points))
    else:  # of networks whose NTK GP is not known, any one shows how large kernels are
        start = random_network(network, jax.random.key(0), x.shape[1])
        rows = ValueRows(network, jnp.asarray(gamma), jnp.asarray(points))
        kernel = gram_of(rows, start)
    kernel = np.asarray(kernel)[: len(x), : len(x)]
    size = float(np.trace(kernel)) / len(x)
    values, vectors = np.linalg.eigh(kernel / size)
    return np.maximum(values, 0.0), vectors, size


@compiled(static="wide")
def _wide_kernel(
    wide: InfiniteWidthMLP, gamma: Array, x: Float[Array, "n d"]
) -> Float[Array, "n n"]:
    return wide.between(x, x, gamma, jnp.ones(x.shape[1]))
