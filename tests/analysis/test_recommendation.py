"""Which point of a study to use."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import create_trial

import neurobo
from neurobo.analysis.recommendation import Recommendation
from neurobo.errors import InvalidInput, NeuroboError
from neurobo.space.search_space import Space

BOX: dict[str, BaseDistribution] = {
    "x": FloatDistribution(-1.0, 1.0),
    "y": FloatDistribution(-1.0, 1.0),
}


def truth(x: Any, y: Any) -> Any:
    return (x - 0.3) ** 2 + (y + 0.2) ** 2


def study_of(
    points: np.ndarray,
    values: np.ndarray,
    direction: Literal["minimize", "maximize"] = "minimize",
    limit: float | None = None,
) -> optuna.Study:
    """With a limit, x must not exceed it."""
    study = optuna.create_study(direction=direction)
    for (x, y), value in zip(points.tolist(), values.tolist(), strict=True):
        constraints = {} if limit is None else {"c": x - limit}
        params = {"x": x, "y": y}
        study.add_trial(
            create_trial(params=params, distributions=BOX, value=value, constraints=constraints)
        )
    return study


def noisy(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (n, 2))
    return points, truth(*points.T) + rng.normal(0, 0.5, n)


def test_a_forgotten_logarithm_is_not_taken_for_noise() -> None:
    rng = np.random.default_rng(0)
    points = np.stack([10 ** rng.uniform(-4, 0.3, 30) - 1, rng.uniform(-1, 1, 30)], axis=1)
    study = study_of(points, (np.log10(1 + points[:, 0]) + 2) ** 2 + 0.1 * points[:, 1] ** 2)
    found = neurobo.recommend(study)
    assert found.trial.number == study.best_trial.number
    assert found.noise_sd == 0


def test_with_noise_the_expected_value_decides() -> None:
    """Paired over 12 studies of fixed seeds; by chance alone p would be below 0.01 in 1 %."""
    from scipy.stats import wilcoxon

    lucky: list[float] = []
    recommended: list[float] = []
    for seed in range(12):
        study = study_of(*noisy(seed))
        found = neurobo.recommend(study)
        lucky.append(truth(**study.best_params))
        recommended.append(truth(**found.params))
        assert found.trial.params == found.params
        assert 0.25 < found.noise_sd < 1.0
        assert abs(found.value - truth(**found.params)) < 4 * found.sd
    assert wilcoxon(recommended, lucky, alternative="less").pvalue < 0.01


def test_noise_that_is_known_of_is_seen_in_few_results() -> None:
    """Ten results of fixed seeds: without being told, noise is overlooked in some studies."""
    studies = [study_of(*noisy(seed, n=10)) for seed in range(8)]
    untold = [neurobo.recommend(study).noise_sd for study in studies]
    told = [neurobo.recommend(study, noisy=True).noise_sd for study in studies]
    assert min(untold) == 0  # taken for exact
    assert min(told) > 0
    with pytest.raises(InvalidInput, match="noisy must be"):
        neurobo.recommend(studies[0], noisy="yes")  # type: ignore[arg-type]


def test_exact_values_speak_for_themselves() -> None:
    points, _ = noisy(0)
    study = study_of(points, truth(*points.T))
    found = neurobo.recommend(study)
    assert found.trial.number == study.best_trial.number
    assert (found.value, found.sd, found.noise_sd) == (study.best_value, 0.0, 0.0)


def test_a_study_may_maximise() -> None:
    points, values = noisy(3)
    low, high = (
        neurobo.recommend(study_of(points, values)),
        neurobo.recommend(study_of(points, -values, "maximize")),
    )
    assert low.params == high.params
    assert low.value == pytest.approx(-high.value, rel=1e-6)


def test_only_what_is_feasible() -> None:
    found = neurobo.recommend(study_of(*noisy(1), limit=-0.2))
    assert found.params["x"] <= -0.2


def test_a_pool_is_given() -> None:
    points, values = noisy(7)
    pool = neurobo.Pool(points)
    study = optuna.create_study()
    distributions = dict(Space.of(pool).distributions)
    for i, value in enumerate(values.tolist()):
        params = dict.fromkeys(distributions, i)
        study.add_trial(create_trial(params=params, distributions=distributions, value=value))
    found = neurobo.recommend(study, pool)
    assert found.noise_sd == pytest.approx(0.5, rel=0.5)  # which only the features can tell
    expected = neurobo.recommend(study_of(points, values))
    assert found.trial.number == expected.trial.number


def test_too_little_or_too_much_to_go_by() -> None:
    with pytest.raises(NeuroboError, match="at least one complete and feasible trial"):
        neurobo.recommend(optuna.create_study())
    with pytest.raises(InvalidInput, match="study must be an Optuna study, got int"):
        neurobo.recommend(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="one objective"):
        neurobo.recommend(optuna.create_study(directions=["minimize", "minimize"]))
    one = study_of(np.array([[0.1, 0.2]]), np.array([1.0]))
    assert neurobo.recommend(one).value == 1.0


def test_a_recommendation_is_shown_in_one_short_line() -> None:
    points, values = noisy(0)
    found = neurobo.recommend(study_of(points, values))
    number = r"-?\d+\.\d+"
    pattern = (
        rf"Recommendation\(\{{'x': {number}, 'y': {number}\}}, value={number} ± {number}, "
        r"noise_sd=0\.\d+, trial=\d+\)"
    )
    assert re.fullmatch(pattern, repr(found))
    exact = Recommendation({"x": 1 / 3, "c": "a"}, 2 / 3, 0.0, 0.0, found.trial)
    assert repr(exact).startswith("Recommendation({'x': 0.3333, 'c': 'a'}, value=0.666667, trial=")
    large = exact._replace(value=123456.7, sd=2345.6)
    assert "value=123457 ± 2346," in repr(large)
