"""The posterior around a trained network, against dense p × p formulas."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from neurobo.data.observations import Data
from neurobo.networks.architectures import Architecture
from neurobo.networks.cnn import CNN
from neurobo.networks.mlp import MLP
from neurobo.surrogates import linearised as tangents
from neurobo.surrogates.draws import Network, Recipe, draw
from neurobo.surrogates.linearised import Diagonal, Exact

GAMMA = (1.2, 0.7)
RIDGE, NU = 0.05, 0.6
MLP_6 = MLP(width=6, depth=2, activation="tanh")
NETWORKS = [
    pytest.param(MLP_6, id="mlp"),
    pytest.param(CNN((2, 2, 1), 3, 4), id="cnn", marks=pytest.mark.slow),
]
N = 400


def _fitted(network: Architecture, *, diagonal: bool) -> tuple[Exact | Diagonal, Any, Any]:
    """The posterior, the Jacobian at the observations and pending points, and as a function."""
    rng = np.random.default_rng(0)
    data = Data.pad(rng.uniform(-1, 1, (7, 4)), rng.normal(size=7))
    data = Data(**{**vars(data), "pending": rng.uniform(-1, 1, (2, 4))})
    recipe = Recipe(network, GAMMA, noise=RIDGE, surrogate="centred", perturbed=False)
    mean, fit = draw(jax.random.key(0), data, recipe)
    assert fit.converged
    found = tangents.around(mean, data, nu=NU, ridge=RIDGE, diagonal=diagonal)

    def jacobian(x: Any) -> np.ndarray:
        at = lambda theta: network.apply(theta, jnp.asarray(GAMMA), jnp.asarray(x))  # noqa: E731
        rows = jax.jacobian(at)(found.theta)
        return np.array(
            [ravel_pytree(jax.tree.map(lambda r, i=i: r[i], rows))[0] for i in range(len(x))]
        )

    return found, jacobian(np.concatenate([data.x[:7], data.pending])), jacobian


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(
    "diagonal",
    [pytest.param(False, id="exact"), pytest.param(True, id="diagonal", marks=pytest.mark.slow)],
)
def test_the_sd_is_that_of_the_dense_formula(
    x64: None, network: Architecture, diagonal: bool
) -> None:
    found, seen, jacobian = _fitted(network, diagonal=diagonal)
    at = np.random.default_rng(1).uniform(-1, 1, (6, 4))
    u = RIDGE * np.eye(seen.shape[1]) + seen.T @ seen
    u = np.diag(np.diag(u)) if diagonal else u
    g = jacobian(at)
    expected = NU * np.sqrt(RIDGE * np.sum(g * np.linalg.solve(u, g.T).T, axis=1))
    mean, sd = found.mean_and_sd(jnp.asarray(at))
    np.testing.assert_allclose(sd, expected, rtol=1e-6)
    np.testing.assert_allclose(mean, found.mean(jnp.asarray(at)))


@pytest.mark.slow
@pytest.mark.parametrize("diagonal", [False, True], ids=["exact", "diagonal"])
def test_draws_have_the_posterior_s_mean_and_covariance(x64: None, diagonal: bool) -> None:
    """400 draws; four standard errors of each entry."""
    found, seen, jacobian = _fitted(MLP_6, diagonal=diagonal)
    at = np.random.default_rng(1).uniform(-1, 1, (4, 4))
    u = RIDGE * np.eye(seen.shape[1]) + seen.T @ seen
    u = np.diag(np.diag(u)) if diagonal else u
    g = jacobian(at)
    covariance = NU**2 * RIDGE * g @ np.linalg.solve(u, g.T)
    sample = np.array(
        [
            tangents.draw(key, found)(jnp.asarray(at))
            for key in jax.random.split(jax.random.key(2), N)
        ]
    )
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(sample.std(axis=0) / sd, 1, atol=4 / np.sqrt(2 * N))
    gap = (sample.mean(axis=0) - np.asarray(found.mean(jnp.asarray(at)))) / sd
    np.testing.assert_allclose(gap, 0, atol=4 / np.sqrt(N))
    correlation = covariance / np.outer(sd, sd)
    np.testing.assert_allclose(np.corrcoef(sample.T), correlation, atol=4 / np.sqrt(N))


def test_a_centred_network_begins_at_zero_and_fits_the_data(x64: None) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (7, 4)), rng.normal(size=7)
    recipe = Recipe(MLP(64, 2, "relu"), (1.0, 1.0), surrogate="centred", perturbed=False)
    nothing, _ = draw(jax.random.key(0), Data.pad(x[:0], y[:0]), recipe)
    np.testing.assert_allclose(nothing(jnp.asarray(x)), 0, atol=1e-12)
    found, _ = draw(jax.random.key(0), Data.pad(x, y), recipe)
    np.testing.assert_allclose(found(jnp.asarray(x)), y, atol=1e-3)
    assert isinstance(found.parts[0], Network)


@pytest.mark.slow
@pytest.mark.parametrize("diagonal", [False, True], ids=["exact", "diagonal"])
def test_a_large_compiled_batch_has_the_same_sd(x64: None, diagonal: bool) -> None:
    """XLA once compiled sums of squares of gradients to NaN for 300 rows and more."""
    rng = np.random.default_rng(0)
    data = Data.pad(rng.uniform(-1, 1, (7, 64)), rng.normal(size=7))
    recipe = Recipe(CNN((8, 8, 1), activation="erf"), GAMMA, noise=RIDGE, surrogate="centred")
    mean, _ = draw(jax.random.key(0), data, recipe)
    found = tangents.around(mean, data, nu=NU, ridge=RIDGE, diagonal=diagonal)
    at = jnp.asarray(rng.uniform(-1, 1, (1024, 64)))
    _, few = found.mean_and_sd(at[:20])
    _, many = jax.jit(lambda posterior, x: posterior.mean_and_sd(x))(found, at)
    np.testing.assert_allclose(many[:20], few, rtol=1e-9)
