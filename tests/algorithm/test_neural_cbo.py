"""Which surrogate and which improvement Neural-CBO uses."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.stats import qmc

import neurobo
from neurobo.acquisition.expected_improvement import LogExpectedImprovement
from neurobo.acquisition.noisy_improvement import NoisyImprovement
from neurobo.data.observations import Data
from neurobo.data.scaling import standardise
from neurobo.surrogates.gaussian_process import GPSurrogate
from neurobo.surrogates.one_output import OneOutputNetwork

X = 2 * qmc.Sobol(2, rng=0).random(64) - 1
KEY = jax.random.key(0)


def _data(n: int, noise: float = 0.0) -> Data:
    """The second column matters little. With noise every point is there twice."""
    x = np.repeat(X[: n // 2], 2, axis=0) if noise else X[:n]
    values = np.sin(3 * x[:, 0]) + 0.1 * x[:, 1]
    return Data.pad(x, standardise(values + noise * np.random.default_rng(0).normal(size=n)))


@pytest.mark.parametrize("ard", [True, False])
def test_under_noise_the_improvement_is_noisy(x64: None, ard: bool) -> None:
    algorithm = neurobo.NeuralCBO(ard=ard, width=32)
    exact = algorithm.decide(KEY, _data(32), 0).score
    noisy = algorithm.decide(KEY, _data(32, noise=0.5), 0).score
    assert isinstance(exact, LogExpectedImprovement)
    assert isinstance(noisy, NoisyImprovement)


def test_columns_have_scales_as_soon_as_observations_suffice(x64: None) -> None:
    algorithm = neurobo.NeuralCBO(width=32)
    assert isinstance(algorithm.surrogate(_data(8)), OneOutputNetwork)
    found = algorithm.surrogate(_data(9))
    assert isinstance(found, GPSurrogate)
    found = algorithm.surrogate(_data(32))
    assert isinstance(found, GPSurrogate)
    assert found.hyper.scales[0] > 2 * found.hyper.scales[1]


@pytest.mark.parametrize(
    "algorithm",
    [
        neurobo.NeuralCBO.paper(width=32),
        neurobo.NeuralCBO(width=32, ard=False),
        neurobo.NeuralCBO(width=32, gamma=1.5),
        neurobo.NeuralCBO(width=32, solver="adam"),
    ],
)
def test_networks_are_kept_where_they_are_asked_for(
    x64: None, algorithm: neurobo.NeuralCBO
) -> None:
    assert isinstance(algorithm.surrogate(_data(32)), OneOutputNetwork)


def test_the_paper_s_networks_do_not_change_under_noise(x64: None) -> None:
    score = neurobo.NeuralCBO.paper(width=32).decide(KEY, _data(32, noise=0.5), 0).score
    assert isinstance(score, LogExpectedImprovement)
