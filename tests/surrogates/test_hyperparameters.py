from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import neurobo
from neurobo.data.observations import Data
from neurobo.data.scaling import standardise
from neurobo.networks.infinite_width import InfiniteWidthMLP, kernels
from neurobo.networks.mlp import MLP
from neurobo.surrogates import gaussian_process as gp
from neurobo.surrogates import leave_one_out, marginal_likelihood, refit_schedule
from neurobo.surrogates.hyperparameters import Hyper
from neurobo.surrogates.marginal_likelihood import Likelihood

WIDE = InfiniteWidthMLP(1, "erf")


def _network_data(seed: int, gamma: tuple[float, float], n: int = 100, d: int = 3) -> Data:
    """Values of a draw from the NTK of a wide network."""
    network, x = MLP(4096, 1, "erf"), np.random.default_rng(seed).uniform(-1, 1, (n, d))
    theta, direction = (network.init(jax.random.key(2 * seed + i), d) for i in (0, 1))
    at = lambda t: network.apply(t, jnp.asarray(gamma), jnp.asarray(x))  # noqa: E731
    return Data.pad(x, standardise(np.asarray(jax.jvp(at, (theta,), (direction,))[1])))


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [(0.7, 0.7), (1.5, 1.5), (3.0, 3.0)])
def test_evidence_finds_the_gamma_that_made_the_data(x64: None, gamma: tuple[float, float]) -> None:
    """Median over 20 networks within a factor 1.5, for σ_w and σ_b."""
    found = [marginal_likelihood.fit(_network_data(seed, gamma), WIDE).gamma for seed in range(20)]
    ratio = np.median(found, axis=0) / np.array(gamma)
    print("found/true", ratio.round(3))  # noqa: T201  # shown with pytest -s
    assert np.all((ratio > 1 / 1.5) & (ratio < 1.5))


def test_evidence_finds_noise_and_irrelevant_columns(x64: None) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (120, 4))
    y = np.sin(4 * x[:, 0]) + 0.3 * rng.normal(size=120)
    data = Data.pad(x, standardise(y))
    found = marginal_likelihood.fit(data, WIDE, ard=True)
    assert found.noise == pytest.approx(0.3**2 / np.var(y), rel=0.5)
    scales = np.array(found.scales)
    assert scales[0] > 3 * scales[1:].max()


def test_noise_that_is_known_of_is_found_from_few_observations(x64: None) -> None:
    """Eight values of a line with noise of a tenth of their variance, ten times."""
    noises = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (8, 2))
        line = x[:, 0] + x[:, 1]
        data = Data.pad(x, standardise(line + np.sqrt(0.1) * np.std(line) * rng.normal(size=8)))
        told = replace(data, noisy=True)
        noises.append([refit_schedule.scheduled(d, WIDE).noise for d in (data, told)])
    untold, told_of = np.median(noises, axis=0)
    assert untold < 1e-4
    assert 0.01 < told_of < 0.5


@pytest.mark.parametrize(
    "activation", ["erf", *(pytest.param(a, marks=pytest.mark.slow) for a in ("relu", "sin"))]
)
def test_the_likelihood_is_right_and_so_is_its_gradient(x64: None, activation: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (9, 2)), rng.normal(size=9)
    p = np.log([1.3, 0.8, 1.1, 0.05, 0.9, 1.4])
    likelihood = Likelihood(Data.pad(x, y), InfiniteWidthMLP(2, activation))

    q = np.exp(p)
    points, gamma, scales = (jnp.asarray(v) for v in (x, q[:2], q[4:]))
    gram = kernels(points, points, gamma, scales=scales, depth=2, activation=activation).ntk
    covariance = q[2] ** 2 * np.asarray(gram) / np.mean(np.diag(gram))
    covariance += (q[3] + marginal_likelihood.JITTER * q[2] ** 2) * np.eye(9)
    expected = (y @ np.linalg.solve(covariance, y) + np.linalg.slogdet(covariance)[1]) / 2
    assert likelihood(p) == pytest.approx(expected, rel=1e-10)

    value, gradient = likelihood.with_gradient(p)
    assert value == likelihood(p)
    # A step that is large beside what rounding does to the diagonal of ReLU's kernel.
    steps = 1e-4 * np.eye(6)
    expected = [(likelihood(p + step) - likelihood(p - step)) / 2e-4 for step in steps]
    np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-3)


def test_padding_changes_nothing(x64: None) -> None:
    rng = np.random.default_rng(1)
    x, y, p = rng.uniform(-1, 1, (20, 2)), rng.normal(size=20), np.log([1.2, 0.7, 1.0, 0.1])
    small, large = (
        Likelihood(Data.pad(x, y, size=size), WIDE).with_gradient(p) for size in (20, 64)
    )
    assert small[0] == pytest.approx(large[0], rel=1e-10)
    np.testing.assert_allclose(small[1], large[1], rtol=1e-8)


@pytest.mark.parametrize(
    "values",
    [
        [3.0],
        [1.0] * 12,
        [1e300, -1e300, 5e299],
        [1e-300, 2e-300, 5e-300, 4e-300],
        [float(i) for i in range(12)],
        [0.0] * 11 + [1e9],
    ],
    ids=["one point", "constant", "huge", "tiny", "line", "outlier"],
)
@pytest.mark.parametrize("duplicates", [False, True])
@pytest.mark.parametrize("ard", [False, True])
def test_evidence_is_always_finite(
    x64: None, values: list[float], duplicates: bool, ard: bool
) -> None:
    n = len(values)
    x = np.zeros((n, 2)) if duplicates else np.random.default_rng(0).uniform(-1, 1, (n, 2))
    for found in (
        marginal_likelihood.fit(Data.pad(x, standardise(np.array(values))), WIDE, ard=ard),
        refit_schedule.scheduled(Data.pad(x, standardise(np.array(values))), WIDE, ard=ard),
    ):
        numbers = np.array([*found.gamma, found.scale, found.noise, *found.scales])
        assert np.all(np.isfinite(numbers))
        assert np.all(numbers >= 0)
        assert found.scale > 0


def test_the_schedule_updates_often_at_first_and_seldom_later(x64: None) -> None:
    sizes = refit_schedule.update_sizes(200)
    assert sizes[:10] == list(range(1, 11))
    assert all(after <= 1.1 * before for before, after in pairwise(sizes[9:]))
    assert len(sizes) < 50


def test_choices_are_made_anew_when_there_are_half_as_many_more() -> None:
    def sizes(least: int, most: int = 256) -> list[int | None]:
        found = (refit_schedule.choice_rows(n, least, most) for n in range(41))
        return [None if rows is None else int(rows[-1]) + 1 for rows in found]

    assert sizes(8) == [None] * 8 + [8] * 4 + [12] * 6 + [18] * 9 + [27] * 13 + [40]
    assert sizes(13) == [None] * 18 + [18] * 9 + [27] * 13 + [40]
    rows = refit_schedule.choice_rows(1000, 8, 64)
    assert rows is not None
    assert len(rows) == 64


@pytest.mark.slow
def test_scheduled_hyper_parameters_depend_on_the_first_observations_only(x64: None) -> None:
    data = _network_data(3, (1.5, 1.0), n=64)
    m = refit_schedule.update_sizes(64)[-1]
    assert m < 64
    changed = Data.pad(data.x[:64], np.where(np.arange(64) < m, data.y[:64], -data.y[:64]))
    first, second = refit_schedule.scheduled(data, WIDE), refit_schedule.scheduled(changed, WIDE)
    assert first.gamma == second.gamma
    neurobo.clear_caches()
    assert refit_schedule.scheduled(data, WIDE) == first  # the cache saves time and nothing else
    on_all = marginal_likelihood.fit(Data.pad(data.x[:m], data.y[:m]), WIDE)
    # The first m values alone have another spread: units are converted back.
    assert first.scale == pytest.approx(on_all.scale, rel=0.2)


def test_without_observations_there_is_a_default() -> None:
    found = refit_schedule.scheduled(Data.pad(np.empty((0, 3)), np.empty(0)), WIDE)
    assert found == Hyper((1.5, 1.0), 1.0, 0.0, (1.0, 1.0, 1.0))


@pytest.mark.parametrize(("gamma", "low", "high"), [(0.7, 0.5, 1.5), (3.0, 2.0, 5.0)])
def test_leaving_out_prefers_a_gamma_near_the_true_one(
    x64: None, gamma: float, low: float, high: float
) -> None:
    found = [leave_one_out.by_leaving_out(_network_data(s, (gamma, gamma)), WIDE) for s in range(5)]
    assert low <= np.median(found) <= high


def test_noise_that_is_known_is_kept(x64: None) -> None:
    """Seven exact values of a wiggly curve could be noise around a line, if one did not know."""
    x = np.array([0.05, 0.12, 0.2, 0.28, 0.6, 0.66, 0.95])
    y = np.sin(12 * x) * np.exp(-2 * x) + 0.8 * (x - 0.7) ** 2
    data = Data.pad(2 * x[:, None] - 1, (y - y.mean()) / y.std())
    for noise in (0.0, 0.1):
        found = refit_schedule.scheduled(data, InfiniteWidthMLP(1, "erf"), noise=noise)
        assert found.noise == noise
    exact = gp.condition(
        data,
        InfiniteWidthMLP(1, "erf"),
        refit_schedule.scheduled(data, InfiniteWidthMLP(1, "erf"), noise=0.0),
    )
    fitted = exact.mean(jnp.asarray(data.x))[:7]
    np.testing.assert_allclose(fitted, data.y[:7], atol=1e-3)
