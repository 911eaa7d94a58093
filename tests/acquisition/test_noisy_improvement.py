"""Truths that noise leaves open, and what a point is worth over them."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

import neurobo
from neurobo.acquisition.noisy_improvement import (
    NoiselessSamples,
    noiseless_samples,
    noisy_improvement,
)
from neurobo.data.observations import Data
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.surrogates import gaussian_process as gp
from neurobo.surrogates.hyperparameters import Hyper

HYPER = Hyper(gamma=(1.5, 0.7), scale=1.7, noise=0.1, scales=(1.0, 0.6))
WIDE = InfiniteWidthMLP(1, "erf")
RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1, 1, (6, 2)), RNG.normal(size=6)
AT = RNG.uniform(-1, 1, (5, 2))


def _samples(count: int, bowl: float = 0.0, rows: int | None = None) -> NoiselessSamples:
    data = Data.pad(X, Y, size=rows)
    found = gp.condition(data, WIDE, HYPER)
    return noiseless_samples(jax.random.key(3), data, found, HYPER, count, bowl=bowl)


def _bowl(height: float) -> np.ndarray:
    return height * (3 * np.mean(X**2, axis=1) - 1)


@pytest.mark.parametrize("bowl", [0.0, 1.5])
def test_they_are_draws_from_the_posterior(x64: None, bowl: float) -> None:
    """1000 of them: the bounds are four standard errors."""
    found = gp.condition(Data.pad(X, Y), WIDE, HYPER)
    mean = _bowl(bowl * float(np.mean(found.prior_sd(jnp.asarray(X)))))
    kernel = np.asarray(found.cross(jnp.asarray(X)))[:, :6]
    gain = np.linalg.solve(kernel + HYPER.noise * np.eye(6), kernel).T
    expected, covariance = mean + gain @ (Y - mean), kernel - gain @ kernel
    values = np.asarray(_samples(1000, bowl).values)[:, :6]
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_array_less(np.abs(np.mean(values, axis=0) - expected), 4 * sd / np.sqrt(1000))
    np.testing.assert_array_less(
        np.abs(np.cov(values.T) - covariance), 4 * np.outer(sd, sd) * np.sqrt(2 / 1000)
    )


def test_each_is_known_exactly_where_values_were_observed(x64: None) -> None:
    found = _samples(3, bowl=1.0)
    means, sd = found.means_and_sd(jnp.asarray(X))
    np.testing.assert_allclose(means.T, np.asarray(found.values)[:, :6], atol=1e-3)
    np.testing.assert_array_less(sd, 1e-2)
    # Elsewhere it is surer than with noise, but not sure.
    _, without = found.means_and_sd(jnp.asarray(AT))
    _, noisy = gp.condition(Data.pad(X, Y), WIDE, HYPER).mean_and_sd(jnp.asarray(AT))
    assert np.all((np.asarray(without) < np.asarray(noisy)) & (np.asarray(without) > 1e-3))


def test_improvements_are_averaged(x64: None) -> None:
    found = _samples(4, bowl=1.0)
    score = noisy_improvement(found, Data.pad(X, Y))(jnp.asarray(AT))
    means, sd = (np.asarray(v) for v in found.means_and_sd(jnp.asarray(AT)))
    z = (np.min(np.asarray(found.values)[:, :6], axis=1) - means) / sd[:, None]
    improvement = sd[:, None] * (z * norm.cdf(z) + norm.pdf(z))
    np.testing.assert_allclose(score, -np.log(np.mean(improvement, axis=1)), rtol=1e-6)


def test_padding_changes_nothing(x64: None) -> None:
    few, many = (_samples(4, bowl=1.0, rows=rows) for rows in (64, 128))
    for a, b in zip(few.means_and_sd(jnp.asarray(AT)), many.means_and_sd(jnp.asarray(AT)),
                    strict=True):  # fmt: skip
        np.testing.assert_allclose(a, b, rtol=1e-8)


def test_only_a_bowl_tells_the_middle_from_the_corners_if_all_is_noise(x64: None) -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (30, 6))
    data = Data.pad(x, rng.normal(size=30))
    hyper = Hyper((1.5, 1.0), 0.3, 0.9, (1.0,) * 6)
    found = gp.condition(data, WIDE, hyper)
    corners, middle = rng.choice([-1.0, 1.0], (64, 6)), rng.uniform(-0.5, 0.5, (64, 6))

    def mean_scores(bowl: float) -> tuple[float, float]:
        drawn = noiseless_samples(jax.random.key(0), data, found, hyper, 32, bowl=bowl)
        score = noisy_improvement(drawn, data)
        a, b = (float(jnp.mean(score(jnp.asarray(x)))) for x in (corners, middle))
        return a, b

    corner, inside = mean_scores(0.0)
    assert corner < inside  # lower is better: the search would go to corners
    corner, inside = mean_scores(1.0)
    assert inside < corner


def test_every_suggestion_has_samples_of_its_own(x64: None) -> None:
    data, key = Data.pad(X, Y), jax.random.key(0)

    def scores(noise: float, number: int) -> np.ndarray:
        return np.asarray(
            neurobo.NTKGP(noise=noise).decide(key, data, number).score(jnp.asarray(AT))
        )

    assert np.all(scores(0.2, 1) == scores(0.2, 1))
    assert np.max(np.abs(scores(0.2, 1) - scores(0.2, 2))) > 0.01
    np.testing.assert_array_equal(scores(0.0, 1), scores(0.0, 2))


def test_what_is_known_to_be_noisy_is_averaged_over_more_samples(x64: None) -> None:
    """So that scores of one suggestion and the next differ less."""
    plain = Data.pad(X, Y)

    def change(data: Data) -> float:
        decide = neurobo.NTKGP(noise=0.2).decide
        a, b = (decide(jax.random.key(0), data, i).score(jnp.asarray(AT)) for i in (1, 2))
        return float(jnp.max(jnp.abs(a - b)))

    assert change(replace(plain, noisy=True)) < change(plain) / 2
