"""Noisy expected improvement: what a point is worth if noise hides which observation is best.

Functions drawn from the posterior are taken for truths that are known without noise at the
observations (Letham et al., "Constrained Bayesian Optimization with Noisy Experiments"); the
improvement on the lowest value there is averaged over them.

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

from neurobo.acquisition.normal_tails import log_improvement
from neurobo.compilation import compiled
from neurobo.data.observations import Data
from neurobo.surrogates import gaussian_process as gp
from neurobo.surrogates.draws import normal
from neurobo.surrogates.gaussian_process import GP
from neurobo.surrogates.hyperparameters import Hyper

EXACT = 1e-6
"""Variance of the noise that stands for none, relative to ν²."""


def _bowl(x: Float[Array, "n d"], height: Float[Array, ""]) -> Float[Array, " n"]:
    return height * (3 * jnp.mean(x**2, axis=1) - 1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Truths:
    """The posterior if each of k functions were the truth."""

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
    """x -> -log of E[max(best - f(x), 0)], averaged over truths."""

    truths: Truths
    best: Float[Array, " k"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        means, sd = self.truths.means_and_sd(x)
        improvement = log_improvement((self.best - means) / sd[:, None])
        return np.log(len(self.best)) - jnp.log(sd) - logsumexp(improvement, axis=1)


def noisy_improvement(truths: Truths, data: Data) -> NoisyImprovement:
    """On the lowest value at a feasible observation; where some parameters are fixed, on the lowest
    mean at the observations moved there."""
    values = np.asarray(truths.values)[:, data.eligible]
    if data.incumbents is not None:
        n = len(data.incumbents)
        moved = Data.pad(data.incumbents, np.zeros(n)).x
        means = np.asarray(_means(truths, moved))[:n]
        values = means[data.eligible[data.eligible < n]].T
    return NoisyImprovement(truths, jnp.asarray(np.min(values, axis=1)))


@compiled
def _means(truths: Truths, x: Float[Array, "n d"]) -> Float[Array, "n k"]:
    return truths.means_and_sd(x)[0]


def truths(key: Array, data: Data, found: GP, hyper: Hyper, count: int, *, bowl: float) -> Truths:
    """So many functions drawn from the posterior; b is `bowl`."""
    exact = gp.condition(data, found.wide, replace(hyper, noise=EXACT * hyper.scale**2))
    rows = len(data.y)
    chance = normal(key, rows * 2 * count).reshape(rows, 2, count).transpose(1, 2, 0)
    arrays = (jnp.asarray(v) for v in (data.x, data.y, data.mask, chance, float(bowl)))
    return _drawn(found, exact, *arrays)


@compiled
def _drawn(
    found: GP, exact: GP, x: Array, y: Array, mask: Array, chance: Array, bowl: Array
) -> Truths:
    height = bowl * jnp.sum(found.prior_sd(x) * mask) / jnp.sum(mask)
    mean = _bowl(x, height) * mask
    # Matheron's rule: a draw f₀ from the prior, corrected by what the observations miss of it,
    # f₀ + K (K + σ² I)⁻¹ (y - m - f₀ - σ ε).
    prior = solve_triangular(exact.whiten, chance[0].T, lower=True).T * mask
    missed = (y - mean - prior - jnp.sqrt(found.noise) * chance[1]) * mask
    values = prior + (missed @ found.whiten.T @ found.whiten) @ found.cross(x).T * mask
    weights = values @ exact.whiten.T @ exact.whiten
    return Truths(exact, weights, values + mean, height)
