"""Input warping: what it does to a column, and when the evidence chooses it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import qmc

import neurobo
from neurobo.data.observations import Data
from neurobo.data.scaling import standardise
from neurobo.errors import InvalidInput
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.input_maps import warped
from neurobo.surrogates.input_warping import InputWarping, input_warping_for
from neurobo.surrogates.marginal_likelihood import Likelihood
from neurobo.surrogates.refit_schedule import scheduled

WIDE = InfiniteWidthMLP(1, "erf", sphere=True)
X = 2 * qmc.Sobol(3, rng=0).random(32) - 1


def _warped(x: np.ndarray, t: float) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(warped(jnp.asarray(x)[:, None], jnp.array([t])))[:, 0]


def _data(x: np.ndarray, values: np.ndarray) -> Data:
    return replace(Data.pad(x, standardise(values)), values=values)


def _found(x: np.ndarray, values: np.ndarray) -> InputWarping | None:
    with jax.enable_x64(True):
        return input_warping_for(_data(x, values), WIDE)


def _decades(column: Any, decades: float) -> Any:
    """log10 of a range of so many decades up to 1, in which [-1, 1] is linear."""
    return np.log10((1 + column) / 2 * (1 - 10**-decades) + 10**-decades)


GRID = np.linspace(-1, 1, 201)


def test_a_range_gets_its_logarithm() -> None:
    expected = _decades(GRID, 4) / 2 + 1
    np.testing.assert_allclose(_warped(GRID, 4 * math.log(10)), expected, atol=1e-12)


@pytest.mark.parametrize("t", [-14.0, -3.0, -1e-3, 0.0, 1e-5, 2.0, 14.0])
def test_the_order_and_the_ends_stay_and_the_other_end_is_its_mirror(t: float) -> None:
    w = _warped(GRID, t)
    assert np.all(np.diff(w) > 0)
    np.testing.assert_allclose(w[[0, -1]], [-1, 1], atol=1e-12)
    np.testing.assert_allclose(w, -_warped(-GRID, -t), atol=1e-9)


def test_zero_is_exact_and_the_way_there_smooth() -> None:
    np.testing.assert_array_equal(_warped(GRID, 0.0), GRID)
    np.testing.assert_allclose(_warped(GRID, 0.99e-4), _warped(GRID, 1.01e-4), atol=1e-6)
    with jax.enable_x64(True):
        slope = jax.jacfwd(lambda t: warped(jnp.asarray(GRID)[:, None], t[None]))(jnp.array(0.0))
    by_hand = (_warped(GRID, 1e-2) - _warped(GRID, -1e-2)) / 2e-2
    np.testing.assert_allclose(np.asarray(slope)[:, 0], by_hand, atol=1e-4)


def test_the_slope_of_the_evidence_is_that_of_finite_differences() -> None:
    values = np.sum((X - 0.3) ** 2, axis=1) + np.sin(3 * X[:, 0])
    p = np.array([0.4, 0.1, 0.2, np.log(1e-2), 0.3, -0.2, 0.1, 0.0, 1.5, -0.7])
    with jax.enable_x64(True):
        likelihood = Likelihood(_data(X, values), WIDE)
        _, gradient = likelihood.with_gradient(p)
        expected = approx_fprime(p, likelihood, 1e-6)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4)


def test_what_matters_by_its_logarithm_is_found_at_either_end() -> None:
    low, high = _decades(X[:, 0], 4), _decades(-X[:, 1], 4)
    found = _found(X, (low + 2) ** 2 + (high + 1) ** 2 + 0.3 * X[:, 2] ** 2)
    assert found is not None
    assert found.strengths[0] > 3
    assert found.strengths[1] < -3
    assert abs(found.strengths[2]) < 1


def test_noise_is_no_reason_to_overlook_it() -> None:
    """Points that are even in the logarithm: to networks of the plain column all but noise."""
    rng = np.random.default_rng(0)
    x = np.stack([10 ** rng.uniform(-4, 0.3, 30) - 1, rng.uniform(-1, 1, 30)], axis=1)
    values = (np.log10(1 + x[:, 0]) + 2) ** 2 + 0.1 * x[:, 1] ** 2
    found = _found(x, values)
    assert found is not None
    assert found.strengths[0] > 6


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2, 3))])
def test_columns_of_plain_functions_stay_as_they_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bowl = np.sum((X - rng.uniform(-0.5, 0.5, 3)) ** 2, axis=1)
    assert _found(X, bowl) is None
    assert _found(X, bowl + rng.normal(0, 0.3, 32)) is None
    assert _found(X, rng.normal(size=32)) is None


def test_few_observations_and_categories_are_left_alone() -> None:
    values = (_decades(X[:, 0], 4) + 2) ** 2
    assert _found(X[:10], values[:10]) is None
    one_hot = np.where(X[:, 1:2] > 0, 1.0, 0.0)
    found = _found(np.concatenate([X[:, :1], one_hot, 1 - one_hot], axis=1), values)
    assert found is not None
    assert found.strengths[1:] == (0.0, 0.0)


def test_searches_for_hyper_parameters_go_on_where_the_stretch_was_found() -> None:
    data = _data(X, (_decades(X[:, 0], 4) + 2) ** 2)
    with jax.enable_x64(True):
        found = input_warping_for(data, WIDE)
        assert found is not None
        seen = found(data)
        hyper = scheduled(seen, WIDE, ard=True, start=found.start)
        scheduled(seen, WIDE, start=found.start)  # also without scales of columns
    np.testing.assert_allclose(hyper.gamma, np.exp(found.start[:2]), rtol=0.2)
    np.testing.assert_allclose(hyper.scales, np.exp(found.start[4:]), rtol=0.2)


BOX = [(-1.0, 1.0)] * 3
PLAIN = [(x.tolist(), float(np.sum((x - 0.3) ** 2))) for x in X]
LOGARITHMIC = [(x.tolist(), float((_decades(x[0], 4) + 2) ** 2)) for x in X]


@pytest.mark.parametrize(("history", "same"), [(PLAIN, True), (LOGARITHMIC, False)])
def test_auto_leaves_points_alone_if_nothing_is_stretched(history: list[Any], same: bool) -> None:
    with_it, without = (
        neurobo.suggest(
            BOX, history, seed=0, algorithm=neurobo.Auto(input_warping=on, middle=False)
        )
        for on in (True, False)
    )
    assert np.array_equal(with_it, without) == same


def test_what_auto_believes_is_about_points_as_they_are() -> None:
    """Exact values are met, by the mean and by draws; without a stretch they look like noise."""
    rng = np.random.default_rng(0)
    x = np.stack([10 ** rng.uniform(-4, 0.3, 30) - 1, rng.uniform(-1, 1, 30)], axis=1)
    data = _data(x, (np.log10(1 + x[:, 0]) + 2) ** 2 + 0.1 * x[:, 1] ** 2)
    missed = []
    with jax.enable_x64(True):
        for on in (True, False):
            auto = neurobo.Auto(input_warping=on)
            mean = auto.posterior(jax.random.key(0), data).mean(jnp.asarray(x))
            draw = auto.sample(jax.random.key(1), data, 0)(jnp.asarray(x))
            missed.append([np.max(np.abs(np.asarray(v) - data.y[:30])) for v in (mean, draw)])
    assert max(missed[0]) < 0.01 < 0.3 < min(missed[1])


def test_it_is_a_switch() -> None:
    with pytest.raises(InvalidInput, match="input_warping must be True or False"):
        neurobo.Auto(input_warping=1)  # type: ignore[arg-type]


def test_points_of_a_batch_keep_apart_under_a_stretch() -> None:
    auto = neurobo.Auto(middle=False)
    points = np.array(neurobo.suggest(BOX, LOGARITHMIC, n=3, seed=0, algorithm=auto))
    apart = np.max(np.abs(points[:, None] - points), axis=2)[np.triu_indices(3, 1)]
    assert apart.min() > 1e-3


def test_a_forgotten_logarithm_is_made_up_for() -> None:
    def loss(p: dict[str, float]) -> float:
        lr, decay = math.log10(p["lr"]) + 3, math.log10(p["decay"]) + 3
        return lr**2 + 0.5 * decay**2 + 0.1 * p["x"] ** 2

    space = {
        "lr": neurobo.Float(1e-5, 0.1),
        "decay": neurobo.Float(1e-6, 1.0),
        "x": neurobo.Float(-5, 5),
    }
    with_it, without = (
        neurobo.minimize(
            loss, space, 25, seed=1, algorithm=neurobo.Auto(input_warping=on)
        ).best_value
        for on in (True, False)
    )
    assert with_it < 0.01 * without
