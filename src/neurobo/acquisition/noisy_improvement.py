"""Noisy expected improvement: what a point is worth if noise hides which observation is best.

Posterior samples give values without noise at the observations (Letham et al., "Constrained
Bayesian Optimization with Noisy Experiments"); the improvement on the lowest of them is averaged
over the samples.

An uncertain posterior has the largest variance at the edges of the box, where a search for
improvement goes again and again, while few optima lie there. So the mean of the prior may be a
bowl,

    m(x) = b s (3 |x|²/d - 1)

with the prior's standard deviation s: lowest in the middle, 2 b s in the corners and 0 on average.
Observations soon say more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import logsumexp
from jaxtyping import Float

from neurobo.acquisition.expected_improvement import expected_improvement
from neurobo.acquisition.normal_tails import log_improvement
from neurobo.acquisition.score import Score
from neurobo.compilation import compiled
from neurobo.data.observations import Data
from neurobo.networks.keys import fold_in
from neurobo.surrogates import gaussian_process as gp
from neurobo.surrogates.draws import normal
from neurobo.surrogates.fantasies import with_fantasies
from neurobo.surrogates.gaussian_process import GP, GPSurrogate
from neurobo.surrogates.hyperparameters import NOISY, Hyper
from neurobo.surrogates.posterior import Posterior, Surrogate

SAMPLES = 32
"""Posterior samples that the improvement is averaged over if values are known to be noisy. What
only looks noisy may be rugged: one sample for each suggestion explores more."""
BOWL = 1.0
"""b if values are known to be noisy; else 0."""
EXACT = 1e-6
"""Variance of the noise that stands for none, relative to ν²."""


def _bowl(x: Float[Array, "n d"], height: Float[Array, ""]) -> Float[Array, " n"]:
    return height * (3 * jnp.mean(x**2, axis=1) - 1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NoiselessSamples:
    """The posterior given each of k posterior samples as the values at the observations."""

    exact: GP
    """The posterior without noise: all have its standard deviation."""
    weights: Float[Array, "k N"]
    values: Float[Array, "k N"]
    """At the observations; 0 for padding."""
    height: Float[Array, ""]
    """b s."""

    def means_and_sd(
        self, x: Float[Array, "n d"]
    ) -> tuple[Float[Array, "n k"], Float[Array, " n"]]:
        _, sd = self.exact.mean_and_sd(x)
        return self.exact.cross(x) @ self.weights.T + _bowl(x, self.height)[:, None], sd


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NoisyImprovement:
    """x -> -log of E[max(best - f(x), 0)], averaged over posterior samples."""

    samples: NoiselessSamples
    best: Float[Array, " k"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        means, sd = self.samples.means_and_sd(x)
        improvement = log_improvement((self.best - means) / sd[:, None])
        return np.log(len(self.best)) - jnp.log(sd) - logsumexp(improvement, axis=1)


def improvement(surrogate: Surrogate[Posterior], key: Array, data: Data, number: int) -> Score:
    """The expected improvement of suggestion `number`.

    If a Gaussian process has found noise, it is the noisy one: the plain one would return to the
    best point again and again.
    """
    fantasies, posterior = with_fantasies(surrogate, key, data)
    if not isinstance(surrogate, GPSurrogate) or surrogate.hyper.noise < NOISY:
        return expected_improvement(posterior, data)
    assert isinstance(posterior, GP)
    if posterior.gain is not None:  # many observations: noise averages out
        return expected_improvement(posterior, data)
    count, bowl = (SAMPLES, BOWL) if data.noisy else (1, 0.0)
    key = fold_in(key, number)
    sampled = noiseless_samples(key, fantasies, posterior, surrogate.hyper, count, bowl=bowl)
    return noisy_improvement(sampled, data)


def noisy_improvement(samples: NoiselessSamples, data: Data) -> NoisyImprovement:
    """On the lowest value at a feasible observation; where some parameters are fixed, on the lowest
    mean at the observations moved there."""
    values = np.asarray(samples.values)[:, data.eligible]
    if data.incumbents is not None:
        n = len(data.incumbents)
        moved = Data.pad(data.incumbents, np.zeros(n)).x
        means = np.asarray(_means(samples, moved))[:n]
        values = means[data.eligible[data.eligible < n]].T
    return NoisyImprovement(samples, jnp.asarray(np.min(values, axis=1)))


@compiled
def _means(samples: NoiselessSamples, x: Float[Array, "n d"]) -> Float[Array, "n k"]:
    return samples.means_and_sd(x)[0]


def noiseless_samples(
    key: Array, data: Data, found: GP, hyper: Hyper, count: int, *, bowl: float
) -> NoiselessSamples:
    """So many functions drawn from the posterior; b is `bowl`."""
    exact = gp.condition(data, found.wide, replace(hyper, noise=EXACT * hyper.scale**2))
    rows = len(data.y)
    chance = normal(key, rows * 2 * count).reshape(rows, 2, count).transpose(1, 2, 0)
    arrays = (jnp.asarray(v) for v in (data.x, data.y, data.mask, chance, float(bowl)))
    return _drawn(found, exact, *arrays)


@compiled
def _drawn(
    found: GP, exact: GP, x: Array, y: Array, mask: Array, chance: Array, bowl: Array
) -> NoiselessSamples:
    height = bowl * jnp.sum(found.prior_sd(x) * mask) / jnp.sum(mask)
    mean = _bowl(x, height) * mask
    # Matheron's rule: a draw f₀ from the prior, corrected by what the observations miss of it,
    # f₀ + K (K + σ² I)⁻¹ (y - m - f₀ - σ ε).
    prior = solve_triangular(exact.whiten, chance[0].T, lower=True).T * mask
    missed = (y - mean - prior - jnp.sqrt(found.noise) * chance[1]) * mask
    values = prior + (missed @ found.whiten.T @ found.whiten) @ found.cross(x).T * mask
    weights = values @ exact.whiten.T @ exact.whiten
    return NoiselessSamples(exact, weights, values + mean, height)
