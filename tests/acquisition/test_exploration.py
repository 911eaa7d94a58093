from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import neurobo
from neurobo.acquisition.exploration import (
    cbo_beta,
    greedy_nu,
    neural_bo_nu,
    pinn_nu,
    sto_beta,
)
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput
from neurobo.networks.infinite_width import kernels
from neurobo.training.residuals import TangentRows


def test_schedules_are_the_papers_formulas() -> None:
    assert greedy_nu(3.0, 0.5, bound=2.0, delta=0.1) == pytest.approx(
        2 + 0.5 * np.sqrt(2 * (3 + 1 + np.log(20)))
    )
    assert greedy_nu(3.0, 0.0) == 1.0  # without noise the bound needs no more than B
    assert sto_beta(5, np.log(1000), delta=0.1) == pytest.approx(
        2 * np.log(np.pi**2 * 25 * 1000 / 0.3)
    )
    assert neural_bo_nu(0.3, bound=2.0, ridge=1.5, alpha=0.05) == pytest.approx(
        np.sqrt(2) * 2 + 0.3 / np.sqrt(1.5) * np.sqrt(2 * np.log(20))
    )
    assert cbo_beta(3.0, 0.5, bound=2.0, delta=0.1) == pytest.approx(
        2 + 0.5 * np.sqrt(3 + 2 + 2 * np.log(10))
    )


def test_noise_counts_relative_to_the_ridge() -> None:
    """R/√λ: a posterior that assumes the noise it has makes it 1, whatever the noise is."""
    for noise in (1e-4, 0.02, 0.5):
        sd, right = np.sqrt(noise), {"ridge": noise}
        assert neural_bo_nu(sd, **right) == pytest.approx(3.56, abs=0.001)
        assert greedy_nu(3.0, sd, **right) == pytest.approx(greedy_nu(3.0, 1.0))
        assert cbo_beta(3.0, sd, **right) == pytest.approx(cbo_beta(3.0, 1.0))
        assert pinn_nu(3.0, 1.0, sd, sd, ridge=noise, law_ridge=noise) == pytest.approx(
            pinn_nu(3.0, 1.0, 1.0, 1.0)
        )
    assert greedy_nu(3.0, 0.0, ridge=0.0) == 1.0


def _noisy_data(n: int = 20) -> Data:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (n, 2))
    y = np.sum(x**2, axis=1) + 0.3 * rng.normal(size=n)
    return Data.pad(x, (y - y.mean()) / y.std())


def test_neural_bo_by_theory_uses_the_ridge_of_its_posterior(x64: None) -> None:
    data, key = _noisy_data(), jax.random.key(0)
    choices: Any = ({"noise": 0.05, "gamma": 1.5}, {})
    for options in choices:
        theory = neurobo.NeuralBO(nu="theory", width=32, **options).posterior(key, data)
        one = neurobo.NeuralBO(nu=1.0, width=32, **options).posterior(key, data)
        assert float(theory.nu / one.nu) == pytest.approx(3.56, abs=0.001)


def test_greedy_by_theory_widens_the_posterior_and_leaves_its_ridge(x64: None) -> None:
    """Draws with ν_t and with 1 from the same keys: the difference is in their deviations from the
    mean, ν_t times as large, where I has the λ of the posterior (Proposition 2, Theorem 3)."""
    data, key, noise = _noisy_data(), jax.random.key(0), 0.05
    at = jnp.asarray(np.random.default_rng(1).uniform(-1, 1, (5, 2)))
    options: Any = {
        "width": 64, "surrogate": "linear", "gamma": 1.5, "noise": noise, "restless": False,
        "sphere": False,
    }  # fmt: skip
    one, theory = (
        neurobo.NeuralGreedy(scale=scale, **options).decide(key, data, 0).score
        for scale in (1.0, "theory")
    )
    exact = kernels(
        jnp.asarray(data.x[: data.n]), jnp.asarray(data.x[: data.n]), jnp.asarray([1.5, 1.5])
    ).ntk
    gain = np.linalg.slogdet(np.eye(data.n) + np.asarray(exact) / noise)[1] / 2
    nu = 1 + np.sqrt(2 * (gain + 1 + np.log(20)))
    tangent = one.parts[0]  # type: ignore[attr-defined]
    rows = TangentRows(
        tangent.network, tangent.gamma, jnp.asarray(data.x[: data.n]), tangent.theta0
    )
    gram = np.asarray(rows.gram(None)) + noise * np.eye(data.n)
    cross = np.asarray(tangent.network.tangent_kernel(tangent.theta0, tangent.gamma, at, rows.x))
    mean = cross @ np.linalg.solve(gram, data.y[: data.n])
    ratio = (np.asarray(theory(at)) - mean) / (np.asarray(one(at)) - mean)
    np.testing.assert_allclose(ratio, nu, rtol=1e-6)


@pytest.mark.parametrize(
    ("theory", "constant"),
    [
        (
            neurobo.NeuralGreedy(width=32, scale="theory", noise=0.1, gamma=2.0),
            neurobo.NeuralGreedy(width=32, scale=0.1, noise=0.1, gamma=2.0),
        ),
        (
            neurobo.NTKGP(acquisition="ucb", beta="theory"),
            neurobo.NTKGP(acquisition="ucb", beta=0.0),
        ),
    ],
    ids=["nu", "beta"],
)
def test_a_schedule_changes_the_suggestion(theory: Any, constant: Any) -> None:
    history = [({"x": x}, x**2) for x in (-1.2, -1.0, -0.2, 0.1, 1.4, 1.6, 2.0)]
    points = [
        neurobo.suggest({"x": (-1.5, 2.2)}, history, algorithm=a, seed=0)[0]["x"]
        for a in (theory, theory, constant)
    ]
    assert points[0] == points[1] != points[2]


def test_schedules_have_one_name() -> None:
    with pytest.raises(InvalidInput, match="scale must be"):
        neurobo.NeuralGreedy(scale="thoery")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="beta must be"):
        neurobo.NeuralCBO(beta="thoery")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="beta must be"):
        neurobo.NTKGP(beta="thoery")  # type: ignore[arg-type]
