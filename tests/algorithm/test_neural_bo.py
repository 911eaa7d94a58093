"""Neural-BO: what its parts are, and what its draws are drawn from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import neurobo
from neurobo.algorithm import neural_bo
from neurobo.data.observations import Data
from neurobo.search import trust_region as trust
from neurobo.surrogates.draws import draw

SMALL = neurobo.NeuralBO(width=12, gamma=1.1, noise=0.05, nu=0.7)
KEY = jax.random.key(3)


def _data(n: int = 9, d: int = 3) -> Data:
    rng = np.random.default_rng(0)
    return Data.pad(rng.uniform(-1, 1, (n, d)), rng.normal(size=n))


def _gradients(found: Any, x: Any) -> Any:
    """At θ0, one row for each point."""
    at = lambda theta, point: found.network.apply(theta, found.gamma, point[None])[0]  # noqa: E731
    rows = [ravel_pytree(jax.grad(at)(found.theta, jnp.asarray(p)))[0] for p in x]
    return np.array(rows)


def test_the_network_begins_at_zero_and_gradients_are_taken_there(x64: None) -> None:
    found = SMALL.posterior(KEY, _data())
    trained, minus = found.function.parts
    x = jnp.asarray(np.random.default_rng(1).uniform(-1, 1, (5, 3)))
    at_start = found.network.apply(found.theta, found.gamma, x)
    np.testing.assert_allclose(minus(x), -at_start, rtol=1e-12)
    assert np.abs(np.asarray(trained(x)) - np.asarray(at_start)).max() > 1e-3


def test_in_many_columns_every_other_suggestion_stays_near_as_the_history_says(x64: None) -> None:
    data, few = _data(12, 8), _data(12, 6)
    region = SMALL.region(data, 1)
    assert region is not None
    assert region.radius == trust.radius(data)
    assert SMALL.region(data, 2) is None
    assert SMALL.region(few, 1) is None
    assert replace(SMALL, trust_region=None).region(data, 1) is None
    fixed = replace(SMALL, trust_region=0.25).region(data, 1)
    assert fixed is not None
    assert fixed.radius == 0.25


def test_the_sd_is_that_of_the_dense_formula(x64: None) -> None:
    data = _data()
    found = SMALL.posterior(KEY, data)
    at = np.random.default_rng(1).uniform(-1, 1, (6, 3))
    seen, g = _gradients(found, data.x[: data.n]), _gradients(found, at)
    ridge, (_, _, unit) = 0.05, data.alone(np.arange(data.n))
    u = ridge * np.eye(seen.shape[1]) + seen.T @ seen  # the paper's U; its 1/m is in our gradients
    variance = ridge * np.sum(g @ np.linalg.inv(u) * g, axis=1)
    _, sd = found.mean_and_sd(jnp.asarray(at))
    np.testing.assert_allclose(sd, 0.7 * unit * np.sqrt(variance), rtol=1e-6)


@pytest.mark.slow
def test_function_draws_have_the_mean_and_covariance_they_claim(x64: None) -> None:
    """400 draws; every standardised deviation below 4.5, the worst of about 30 with p < 0.001."""
    data, count = _data(), 400
    found = SMALL.posterior(KEY, data)
    at = jnp.asarray(np.random.default_rng(1).uniform(-1, 1, (5, 3)))
    drawn = np.array([SMALL.sample(KEY, data, i)(at) for i in range(count)])
    mean, sd = (np.asarray(v) for v in found.mean_and_sd(at))
    seen, g = _gradients(found, data.x[: data.n]), _gradients(found, np.asarray(at))
    u = 0.05 * np.eye(seen.shape[1]) + seen.T @ seen
    scale = float(found.nu) ** 2 * 0.05
    covariance = scale * g @ np.linalg.inv(u) @ g.T
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), sd, rtol=1e-6)
    assert np.all(np.abs(drawn.mean(0) - mean) < 4.5 * sd / np.sqrt(count))
    error = np.sqrt((covariance**2 + np.outer(sd**2, sd**2)) / count)
    assert np.all(np.abs(np.cov(drawn.T) - covariance) < 4.5 * error)


def test_the_mean_waits_for_its_turn_but_the_uncertainty_does_not(
    x64: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (17, 3)), rng.normal(size=17)
    lazy = neurobo.NeuralBO(width=12, gamma=1.1, noise=0.05, update_every=5)
    at = jnp.asarray(rng.uniform(-1, 1, (4, 3)))
    neurobo.clear_caches()
    trained: list[int] = []

    def counted(key: Any, data: Data, recipe: Any) -> Any:
        trained.append(data.n)
        return draw(key, data, recipe)

    monkeypatch.setattr(neural_bo, "draw", counted)

    def belief(n: int) -> tuple[Any, Any]:
        values, (location, unit) = y[:n], (y[:n].mean(), y[:n].std())
        data = Data.pad(x[:n], (values - location) / unit)
        object.__setattr__(data, "values", values)
        mean, sd = lazy.posterior(KEY, data).mean_and_sd(at)
        return location + unit * np.asarray(mean), unit * np.asarray(sd)

    (mean_15, sd_15), (mean_17, sd_17) = belief(15), belief(17)
    np.testing.assert_allclose(mean_15, mean_17, rtol=1e-9)
    assert np.all(sd_17 < sd_15)
    assert trained == [15]


@pytest.mark.slow
def test_a_resumed_run_suggests_the_same_as_one_that_went_on() -> None:
    algorithm = neurobo.NeuralBO(width=16)
    history: list[tuple[Any, float]] = []
    for _ in range(12):
        (point,) = neurobo.suggest([(-1, 1)] * 2, history, algorithm=algorithm, seed=0)
        history.append((point, float(np.sum(point**2))))
    neurobo.clear_caches()
    (again,) = neurobo.suggest([(-1, 1)] * 2, history[:-1], algorithm=algorithm, seed=0)
    assert np.array_equal(again, history[-1][0])


def test_pointwise_numbers_are_normal_and_belong_to_their_points(x64: None) -> None:
    data = _data()
    pointwise = neurobo.NeuralBO(width=12, gamma=1.1, noise=0.05, sampling="pointwise")
    score, found = pointwise.decide(KEY, data, 4).score, pointwise.posterior(KEY, data)
    x = jnp.asarray(np.random.default_rng(1).uniform(-1, 1, (2000, 3)))
    mean, sd = found.mean_and_sd(x)
    z = np.asarray((score(x) - mean) / sd)
    assert abs(z.mean()) < 4 / np.sqrt(2000)
    assert abs(z.std() - 1) < 4 / np.sqrt(4000)
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 4 / np.sqrt(2000)
    np.testing.assert_allclose(score(x[::-1])[::-1], score(x), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampling": "both"}, "sampling must be one of ['function', 'pointwise'], got 'both'"),
        ({"nu": 0}, "nu must be"),
        ({"update_every": 0}, "update_every must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(neurobo.NeuroboError) as error:
        neurobo.NeuralBO(**options)
    assert message in str(error.value)
