from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy import integrate, stats

from neurobo.acquisition.confidence_bound import LowerConfidenceBound
from neurobo.acquisition.expected_improvement import LogExpectedImprovement
from neurobo.acquisition.normal_tails import log_improvement
from neurobo.data.observations import Data
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.surrogates import gaussian_process as gp
from neurobo.surrogates.hyperparameters import Hyper


def _posterior() -> gp.GP:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (8, 2)), rng.normal(size=8)
    return gp.condition(
        Data.pad(x, y), InfiniteWidthMLP(1, "erf"), Hyper((1.5, 0.7), 1.0, 0.01, (1.0, 1.0))
    )


@pytest.mark.parametrize("z", [-6.0, -2.0, -0.3, 0.0, 1e-9, 0.7, 4.0])
def test_log_improvement_is_the_integral(x64: None, z: float) -> None:
    exact, _ = integrate.quad(lambda t: (z - t) * stats.norm.pdf(t), -40, z, epsabs=0, epsrel=1e-12)
    assert float(log_improvement(jnp.array([z]))[0]) == pytest.approx(np.log(exact), rel=1e-9)


def test_log_improvement_far_below_follows_its_asymptote(x64: None) -> None:
    z = -np.array([15.0, 19.999, 20.001, 40.0, 1e3, 1e6])
    asymptote = stats.norm.logpdf(z) - 2 * np.log(-z)
    found = np.asarray(log_improvement(jnp.asarray(z)))
    np.testing.assert_allclose(found - asymptote, -3 / z**2, atol=20 / 15.0**4)
    assert np.all(np.diff(found) < 0)


@pytest.mark.slow
def test_log_improvement_is_smooth(x64: None) -> None:
    z = jnp.concatenate([jnp.linspace(-30, 5, 2001), jnp.array([-1e8, 1e8, -20.0, 0.0])])
    slope = jax.vmap(jax.grad(lambda t: log_improvement(t[None])[0]))(z)
    assert np.all(np.isfinite(slope))
    assert np.all(np.asarray(slope) >= 0)
    check_grads(
        lambda t: log_improvement(jnp.asarray(t)), (jnp.array([-25.0, -19.0, -1.0, 0.5, 3.0]),), 1
    )


def test_scores_are_what_they_say(x64: None) -> None:
    """Against 200,000 draws of the normal; five standard errors."""
    found = _posterior()
    at = jnp.asarray(np.random.default_rng(1).uniform(-1, 1, (5, 2)))
    mean, sd = (np.asarray(v) for v in found.mean_and_sd(at))
    best = float(np.min(mean))
    draws = mean + sd * np.random.default_rng(2).normal(size=(200_000, 5))
    gain = np.maximum(best - draws, 0)
    score = LogExpectedImprovement(found, jnp.asarray(best))
    error = gain.std(axis=0) / np.sqrt(len(gain))
    assert np.all(np.abs(np.exp(-np.asarray(score(at))) - gain.mean(axis=0)) <= 5 * error + 1e-12)
    np.testing.assert_allclose(
        LowerConfidenceBound(found, jnp.asarray(4.0))(at), mean - 2 * sd, rtol=1e-10
    )


@pytest.mark.slow
def test_gradients_are_right_and_finite_at_observations(x64: None) -> None:
    found = _posterior()
    for score in (
        LogExpectedImprovement(found, jnp.asarray(-1.0)),
        LowerConfidenceBound(found, jnp.asarray(4.0)),
    ):
        total = jax.jit(lambda x, score=score: jnp.sum(score(jnp.asarray(x))))
        check_grads(total, (jnp.array([[0.1, -0.3], [0.7, 0.2]]),), 1, atol=1e-4, rtol=1e-4)
        assert np.all(np.isfinite(jax.grad(total)(found.x)))
