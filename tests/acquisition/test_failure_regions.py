"""Failures that the point explains are learned; failures at random change nothing."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest
from scipy.stats import qmc

import neurobo
from neurobo.acquisition import failure_regions
from neurobo.acquisition.constraints import Feasibility
from neurobo.acquisition.failure_regions import ENOUGH, explained
from neurobo.data.observations import CRASH, Data
from neurobo.data.trials import Trials
from neurobo.errors import InvalidInput, NeuroboWarning
from neurobo.space.search_space import Space
from neurobo.surrogates.multi_output import spectrum

BOX: Any = [(-5.0, 5.0), (-5.0, 5.0)]


def _explained(x: np.ndarray, failed: np.ndarray) -> float:
    space = Space.of([(-5.0, 5.0)] * x.shape[1])
    values = np.where(failed, math.nan, np.sum(x**2, axis=1))
    trials = Trials([space.params(p) for p in x], values.tolist(), crashed=failed.tolist())
    data = Data.of(space, trials)
    (limit,) = data.constraints
    with jax.enable_x64(True):
        return explained(limit, Feasibility().network(data, CRASH))


def _design(n: int, d: int, seed: int) -> np.ndarray:
    """Half of the points everywhere, half of them in a cluster, as searches make them."""
    rng = np.random.default_rng(seed)
    wide = 10 * qmc.Sobol(d, rng=rng).random(32)[: n // 2] - 5
    near = rng.normal(0, 0.2, (n - n // 2, d)) + 1.0
    return np.concatenate([wide, near])


@pytest.mark.parametrize("d", [2, 6])
def test_failures_at_random_are_not_explained(d: int) -> None:
    """At most 2 of 20 histories look explained: a rate of 30 % would pass in 4 % of the cases."""
    found = []
    for seed in range(20):
        x = _design(30, d, seed)
        failed = np.random.default_rng([seed, 1]).random(30) < 0.2
        if failed.any():
            found.append(_explained(x, failed) >= ENOUGH)
    assert sum(found) <= 2


@pytest.mark.parametrize("d", [2, 6])
def test_failures_in_a_region_are_explained(d: int) -> None:
    """A half-space, and a ball around a cluster of points."""
    for seed in range(10):
        x = _design(30, d, seed)
        assert _explained(x, np.sum(x, axis=1) > 2) >= ENOUGH
        assert _explained(x, np.sum((x - 1) ** 2, axis=1) < 1.5) >= ENOUGH


def test_one_failure_explains_nothing() -> None:
    x = _design(12, 2, 0)
    assert _explained(x, np.arange(12) == 3) == 0.0
    assert _explained(x, np.arange(12) != 3) == 0.0


def test_a_long_history_costs_no_more_than_the_fit_of_hyper_parameters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twelve eigendecompositions of all outcomes took a second for 800 of them."""
    sizes = []

    def watched(network: Any, gamma: Any, x: np.ndarray) -> Any:
        sizes.append(len(x))
        return spectrum(network, gamma, x)

    monkeypatch.setattr(failure_regions, "spectrum", watched)
    x = np.random.default_rng(0).uniform(-5, 5, (600, 2))
    assert _explained(x, np.sum(x, axis=1) > 2) >= ENOUGH
    assert max(sizes) <= 256


def test_failures_at_random_change_no_suggestion() -> None:
    x = _design(24, 2, 3)
    failed = np.random.default_rng(5).random(24) < 0.2
    assert failed.sum() >= 3
    history = [(p, None if f else float(np.sum(p**2))) for p, f in zip(x, failed, strict=True)]
    plain = neurobo.suggest(BOX, history, 2, seed=0, learn_failures=False)
    np.testing.assert_array_equal(neurobo.suggest(BOX, history, 2, seed=0), plain)


def test_learn_failures_is_checked() -> None:
    for wrong in (1, "yes", None):
        with pytest.raises(InvalidInput, match='learn_failures must be True, False or "auto"'):
            neurobo.suggest(BOX, [], learn_failures=wrong)  # type: ignore[arg-type]


def _failed_in_a_bowl(n: int, seed: int) -> int:
    """Evaluations that fail where the objective would be lowest."""

    def bowl(x: np.ndarray) -> float:
        if np.sum(x**2) < 2:
            raise RuntimeError("the solver diverged")
        return float(np.sum(x**2))

    with pytest.warns(NeuroboWarning, match="evaluations failed"):
        study = neurobo.minimize(bowl, BOX, n, seed=seed, progress=False)
    assert study.best_value < 2.5
    return sum(t.state.name == "FAIL" for t in study.trials)


def test_a_region_that_fails_does_not_eat_the_budget() -> None:
    assert _failed_in_a_bowl(24, seed=0) <= 9  # 18 without learning


@pytest.mark.slow
def test_a_region_that_fails_costs_less_than_a_third_of_the_budget() -> None:
    assert np.median([_failed_in_a_bowl(40, seed) for seed in range(5)]) <= 12
