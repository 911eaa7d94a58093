"""Beyond so many rows landmarks take over: the beliefs before and after must agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import neurobo
from neurobo.data.observations import Data
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.mlp import MLP
from neurobo.surrogates import gaussian_process as gp
from neurobo.surrogates.draws import Recipe, draw
from neurobo.surrogates.hyperparameters import Hyper
from neurobo.training import landmarks
from neurobo.training.gauss_newton import gauss_newton_batch, steps_for

N, D = 300, 3
NOISE = 0.01
KEY = jax.random.key(0)


def _data(n: int = N) -> tuple[Data, Any, Any]:
    """Observations with noise, and points with the values that they should have."""
    rng = np.random.default_rng(0)
    x, at = rng.uniform(-1, 1, (n, D)), rng.uniform(-1, 1, (200, D))
    values, truth = (np.sin(2 * p[:, 0]) + p[:, 1] * p[:, 2] for p in (x, at))
    mean, sd = values.mean(), values.std()
    y = (values - mean) / sd + np.sqrt(NOISE) * rng.normal(size=n)
    return Data.pad(x, y), jnp.asarray(at), (truth - mean) / sd


def _gp(data: Data) -> Any:
    return gp.condition(data, InfiniteWidthMLP(1, "erf"), Hyper((1.5, 0.5), 1.0, NOISE, (1.0,) * D))


def _neural_bo(data: Data) -> Any:
    return neurobo.NeuralBO(width=128, gamma=1.2, noise=NOISE).posterior(KEY, data)


@pytest.mark.slow
@pytest.mark.parametrize(
    "posterior", [_gp, pytest.param(_neural_bo, marks=pytest.mark.slow)], ids=["gp", "neural-bo"]
)
def test_mean_and_sd_at_the_crossover(
    x64: None, posterior: Callable[[Data], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, at, truth = _data()
    mean, sd = (np.asarray(v) for v in posterior(data).mean_and_sd(at))
    monkeypatch.setattr(landmarks, "DENSE", 64)
    monkeypatch.setattr(landmarks, "RANK", 100)
    found = posterior(data)
    mean_many, sd_many = (np.asarray(v) for v in found.mean_and_sd(at))
    assert found.x.shape[0] == 100
    assert float(found.missing) < 0.01
    assert np.sqrt(np.mean((mean_many - mean) ** 2)) < np.sqrt(NOISE) / 2
    error, error_many = (np.sqrt(np.mean((m - truth) ** 2)) for m in (mean, mean_many))
    assert error < 0.1
    assert error_many < 1.3 * error
    assert np.all(sd_many > 0.8 * sd)  # not more certain than it should be
    assert np.median(sd_many / sd) < 2


@pytest.mark.slow
@pytest.mark.parametrize("surrogate", ["simple", pytest.param("linear", marks=pytest.mark.slow)])
def test_draws_at_the_crossover(x64: None, surrogate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same key draws nearly the same function."""
    data, at, truth = _data()
    recipe = Recipe(MLP(256, 1, "erf"), (1.5, 0.5), noise=NOISE, surrogate=surrogate)
    exact, fit = draw(KEY, data, recipe)
    monkeypatch.setattr(landmarks, "DENSE", 64)
    monkeypatch.setattr(landmarks, "RANK", 150)
    many, fit_many = draw(KEY, data, recipe)
    assert np.sqrt(np.mean((many(at) - exact(at)) ** 2)) < np.sqrt(NOISE)
    assert fit_many.residual < 1.5 * fit.residual
    assert np.sqrt(np.mean((np.asarray(many(at)) - truth) ** 2)) < 0.2


@pytest.mark.slow
def test_draws_of_a_process_at_the_crossover(x64: None, monkeypatch: pytest.MonkeyPatch) -> None:
    data, at, _ = _data()
    exact = gp.draw(KEY, _gp(data), data)(at)
    monkeypatch.setattr(landmarks, "DENSE", 64)
    monkeypatch.setattr(landmarks, "RANK", 150)
    many = gp.draw(KEY, _gp(data), data)(at)
    assert np.sqrt(np.mean((many - exact) ** 2)) < np.sqrt(NOISE) / 2


def test_many_rows_take_few_steps_and_are_solved_one_by_one(
    x64: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [steps_for(n) for n in (16, 128, 256, 512, 10_240)] == [20, 20, 10, 6, 6]
    data, _, _ = _data(80)
    recipe = Recipe(MLP(64, 1, "erf"), (1.5, 0.5), noise=NOISE)
    monkeypatch.setattr(landmarks, "DENSE", 64)
    monkeypatch.setattr(landmarks, "RANK", 40)
    alone = draw(KEY, data, recipe)[1]
    (same,) = gauss_newton_batch([_problem(data, recipe)])
    assert same.objective == pytest.approx(alone.objective, rel=1e-9)


def _problem(data: Data, recipe: Recipe) -> Any:
    """The problem that `draw` solves."""
    from neurobo.surrogates import draws as posterior

    kept: list[Any] = []

    def keep(problems: Any, solver: str, **_: Any) -> Any:
        kept.extend(problems)
        return [gauss_newton_batch(problems)[0]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posterior, "solve", keep)
        draw(KEY, data, recipe)
    return kept[0]


def test_a_suggestion_from_a_thousand_observations() -> None:
    rng = np.random.default_rng(1)
    history = [(x, float(np.sum((x - 0.3) ** 2))) for x in rng.uniform(-1, 1, (1000, 2))]
    fast = neurobo.NeuralGreedy(width=64)
    (point,) = neurobo.suggest([(-1, 1)] * 2, history, algorithm=fast, seed=0)
    assert np.all(np.abs(point - 0.3) < 0.15)


def test_a_sum_of_smooth_functions_of_one_input_has_a_finite_posterior(x64: None) -> None:
    """Of 778 points in six dimensions `auto` once got no number: the kernel has a low rank, and
    rounding ate up what the landmarks know."""
    x = np.random.default_rng(0).uniform(-1, 1, (900, 6))[:778]
    y = np.sum((x - 0.3) ** 2, axis=1)
    wide = InfiniteWidthMLP(depth=1, activation="sin", kind="ntk", additive=True)
    hyper = Hyper(
        gamma=(2.3989, 0.94967), scale=0.47997, noise=9.77e-10,
        scales=(0.46919, 0.47215, 0.46925, 0.4701, 0.47146, 0.46875),
    )  # fmt: skip
    found = gp.condition(Data.pad(x, (y - y.mean()) / y.std()), wide, hyper)
    mean, sd = found.mean_and_sd(jnp.asarray(x[:50]))
    assert np.isfinite(mean).all()
    assert np.isfinite(sd).all()
