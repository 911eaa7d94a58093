"""Which kernel the evidence chooses for the wide limit, and what additive networks are."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import qmc

import neurobo
from neurobo.data.observations import Data
from neurobo.data.scaling import standardise
from neurobo.errors import InvalidInput
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.surrogates import gaussian_process as gp
from neurobo.surrogates.draws import values_of
from neurobo.surrogates.hyperparameters import Hyper
from neurobo.surrogates.kernel_choice import ADDITIVE, LEAST, KernelChoice, kernel_for

X = 2 * qmc.Sobol(3, rng=0).random(64) - 1
WAVES = np.sum(np.sin(6 * X + 1) + X**2, axis=1)
"""No parameter interacts with another."""
ROTATED = np.prod(np.cos(2 * X), axis=1) + (X[:, 0] - X[:, 1]) ** 2


def _choice(values: np.ndarray, n: int = 40) -> KernelChoice | None:
    data = replace(Data.pad(X[:n], standardise(values[:n])), values=values[:n])
    with jax.enable_x64(True):
        return kernel_for(data, 0.0, None)


def test_a_sum_of_functions_of_one_parameter_gets_an_additive_kernel() -> None:
    found = _choice(WAVES)
    assert found is not None
    assert found.wide == ADDITIVE
    assert found.gain > 10


def test_parameters_that_interact_get_none() -> None:
    found = _choice(ROTATED)
    assert found is None or not found.wide.additive


def test_units_do_not_matter() -> None:
    found, other = _choice(WAVES), _choice(1e6 * WAVES - 3e6)
    assert found is not None
    assert other is not None
    assert other.gain == pytest.approx(found.gain, abs=1e-3)


def test_few_observations_decide_nothing() -> None:
    assert _choice(WAVES, LEAST - 1) is None


def test_the_additive_kernel_is_the_mean_of_the_columns_kernels() -> None:
    x, scales = jnp.asarray(X[:5]), jnp.array([1.0, 0.5, 2.0])
    gamma = jnp.array([1.5, 0.7])
    one = InfiniteWidthMLP(1, "sin")
    columns = [(x[:, i : i + 1], scales[i : i + 1]) for i in range(3)]
    each = [one.between(column, column, gamma, scale) for column, scale in columns]
    found = ADDITIVE.between(x, x, gamma, scales)
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=1e-5)
    variances = ADDITIVE.variance(x, gamma, scales)
    np.testing.assert_allclose(variances, np.diag(found), rtol=1e-5)


def test_samples_of_additive_networks_have_the_posterior_mean_and_variance() -> None:
    """600 samples: the mean is right to 5 standard errors at each of 8 points, the variance to a
    fifth (its standard error is 6 %)."""
    hyper = Hyper((2.0, 1.0), 1.0, 1e-4, (1.0, 1.0, 1.0))
    data = Data.pad(X[:10], standardise(WAVES[:10]))
    with jax.enable_x64(True):
        posterior = gp.condition(data, ADDITIVE, hyper)
        at = jnp.asarray(X[20:28])
        keys = jax.random.split(jax.random.key(0), 600)
        values = np.array([values_of(gp.draw(key, posterior, data), at) for key in keys])
        mean, sd = map(np.asarray, posterior.mean_and_sd(at))
    assert np.all(np.abs(values.mean(axis=0) - mean) < 5 * sd / np.sqrt(600))
    np.testing.assert_allclose(values.var(axis=0), sd**2, rtol=0.2)


def test_additive_networks_see_the_box() -> None:
    for wrong in ({"sphere": True}, {"depth": 2}):
        with pytest.raises(InvalidInput, match="one hidden layer and see the box"):
            InfiniteWidthMLP(activation="sin", additive=True, **wrong)
    assert not neurobo.NTKGP(additive=True).wide.sphere


def test_what_auto_believes_has_the_kernel_that_it_uses() -> None:
    data = replace(Data.pad(X[:40], standardise(WAVES[:40])), values=WAVES[:40])
    with jax.enable_x64(True):
        for kernel in (True, False):
            auto = neurobo.Auto(kernel=kernel, input_warping=False)
            posterior = auto.posterior(jax.random.key(0), data)
            assert isinstance(posterior, gp.GP)
            assert posterior.wide.additive is kernel


@pytest.mark.slow
def test_auto_solves_schwefel_in_three_dimensions() -> None:
    """Regret below 10 in all of 3 runs of 100 evaluations; a joint kernel stays above 100."""

    def schwefel(x: np.ndarray) -> float:
        return float(418.9828872724339 * 3 - np.sum(x * np.sin(np.sqrt(np.abs(x)))))

    for seed in range(3):
        study = neurobo.minimize(schwefel, [(-500, 500)] * 3, 100, seed=seed, progress=False)
        assert study.best_value < 10
