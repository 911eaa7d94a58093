"""Draws of wide networks against the closed forms of the "Be Greedy" paper.

N draws estimate a standard deviation with relative error 1/sqrt(2 N) and a mean with error
sd/sqrt(N). With N = 800 the sd bound of 10 % is four standard errors, which by chance fails once in
16,000 for one point; the bound for means and correlations is four standard errors as well.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurobo.data.observations import Data
from neurobo.networks.infinite_width import kernels
from neurobo.networks.mlp import MLP
from neurobo.surrogates import draws
from neurobo.surrogates.draws import Recipe, draw
from neurobo.training.gradient_descent import adam
from neurobo.training.problem import Fit, TrainingProblem

N = 800
NOISE = 0.05  # σ²
SCALE = 1.7  # ν
GAMMA = (1.5, 0.7)
NETWORK = MLP(width=4096, depth=1, activation="erf")


@pytest.mark.slow
@pytest.mark.parametrize(
    "surrogate",
    ["simple", "posterior", "linear"],
)
def test_draws_have_the_proposition_s_mean_and_covariance(x64: None, surrogate: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (6, 2)), rng.normal(size=6)
    at = np.concatenate([rng.uniform(-1, 1, (5, 2)), x[:1]])
    mean, covariance = _closed_form(x, y, at, surrogate)

    data = Data.pad(x, y)
    draws = []
    for key in jax.random.split(jax.random.key(1), N):
        drawn, fit = draw(
            key, data, Recipe(NETWORK, GAMMA, noise=NOISE, scale=SCALE, surrogate=surrogate)
        )
        assert fit.converged
        draws.append(np.asarray(drawn(jnp.asarray(at))))
    sample = np.array(draws)

    sd = np.sqrt(np.diag(covariance))
    ratio = sample.std(axis=0, ddof=1) / sd
    print("sd ratios", ratio.round(3))  # noqa: T201  # shown with pytest -s
    np.testing.assert_allclose(ratio, 1.0, atol=0.10)
    np.testing.assert_allclose((sample.mean(axis=0) - mean) / sd, 0.0, atol=4 / np.sqrt(N))
    correlation = covariance / np.outer(sd, sd)
    np.testing.assert_allclose(np.corrcoef(sample.T), correlation, atol=4 / np.sqrt(N))


def _closed_form(
    x: np.ndarray, y: np.ndarray, at: np.ndarray, surrogate: str
) -> tuple[np.ndarray, np.ndarray]:
    """Propositions 1 and 2."""
    gamma = jnp.array(GAMMA)

    def between(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = kernels(jnp.asarray(a), jnp.asarray(b), gamma, activation="erf")
        return np.asarray(found.nngp), np.asarray(found.ntk)

    (k_xx, t_xx), (k_ax, t_ax), (k_aa, t_aa) = between(x, x), between(at, x), between(at, at)
    noise = NOISE * np.eye(len(x))
    weights = np.linalg.solve(t_xx + noise, t_ax.T).T  # Θ_aX (Θ_XX + σ² I)⁻¹
    mean = weights @ y
    if surrogate != "simple":
        return mean, SCALE**2 * (t_aa - weights @ t_ax.T)
    cross = weights @ k_ax.T
    return mean, SCALE**2 * (k_aa - cross - cross.T + weights @ (k_xx + noise) @ weights.T)


@pytest.mark.parametrize("n", [1, 16, 17, 40])
def test_adam_s_rows_have_little_padding_and_the_same_result(
    x64: None, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    """A step costs as much as it has rows, and padding counts for nothing."""
    rng = np.random.default_rng(0)
    data = Data.pad(rng.uniform(-1, 1, (n, 3)), rng.normal(size=n))
    rows, at = [], jnp.asarray(rng.uniform(-1, 1, (5, 3)))

    def counted(problem: TrainingProblem, **settings: int) -> Fit:
        rows.append(len(problem.targets))
        return adam(problem, **settings)

    monkeypatch.setattr(draws, "adam", counted)
    for surrogate in ("simple", "posterior"):
        recipe = Recipe(
            MLP(32, 2, "relu"), (1.5, 0.05), 0.01, surrogate=surrogate, solver="adam", adam_steps=50
        )
        short, _ = draws.draw(jax.random.key(0), data, recipe)
        with monkeypatch.context() as changed:
            changed.setattr(draws, "ADAM_ROWS", 64)
            long, _ = draws.draw(jax.random.key(0), data, recipe)
        np.testing.assert_allclose(short(at), long(at), atol=1e-6)  # Adam has single precision
    assert rows == [16 * math.ceil(n / 16), 64] * 2
