"""Which point of a study to use."""

from __future__ import annotations

import re
from importlib.util import find_spec
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


# Fixed parameters ---------------------------------------------------------------------------------


def moving(x: Any, y: Any, heat: Any) -> Any:
    """The optimum moves with the heat."""
    return 4 * (x - heat) ** 2 + 2 * (y - np.sin(3 * heat)) ** 2 + 0.3 * np.sin(5 * x + 4 * heat)


RANGES = {"x": (-1.0, 1.0), "y": (-1.0, 1.0), "heat": (-1.0, 1.0)}


def _moving(trial: optuna.Trial) -> float:
    return float(moving(*(trial.suggest_float(name, *ends) for name, ends in RANGES.items())))


def _regret(params: dict[str, Any]) -> float:
    grid = np.linspace(-1, 1, 401)
    x, y = np.meshgrid(grid, grid)
    return float(moving(**params) - np.min(moving(x, y, params["heat"])))


def test_a_recommendation_for_fixed_values() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (60, 3)).tolist()
    study = optuna.create_study(direction="maximize")
    for point in points:
        params = dict(zip(RANGES, point, strict=True))
        study.enqueue_trial(params)
    study.optimize(lambda trial: -_moving(trial), n_trials=60)
    regrets = []
    for heat in (-0.7, 0.1, 0.8):
        found = neurobo.recommend(study, fixed={"heat": heat})
        assert found.params["heat"] == heat
        regrets.append(_regret(found.params))
        assert found.value == pytest.approx(-moving(**found.params), abs=4 * found.sd + 0.05)
        everything = dict(found.params)
        assert neurobo.recommend(study, fixed=everything).params == everything
    assert np.mean(regrets) < 0.1 < np.mean([_regret(t.params) for t in study.trials]) / 10


def test_a_recommendation_for_fixed_values_keeps_the_constraints() -> None:
    rng = np.random.default_rng(1)
    points = rng.uniform(-1, 1, (40, 2))
    study = study_of(points, truth(*points.T), limit=0.0)  # x at most 0, where 0.3 would be best
    found = neurobo.recommend(study, fixed={"y": 0.4})
    assert -0.1 < found.params["x"] <= 0


@pytest.mark.parametrize(
    ("fixed", "message"),
    [({"z": 1.0}, "must be one of"), ({"x": 3.0}, "must lie in"), (3, "must be a dict")],
)
def test_bad_fixed_values_are_refused(fixed: Any, message: str) -> None:
    study = study_of(*noisy(0))
    with pytest.raises(InvalidInput, match=message):
        neurobo.recommend(study, fixed=fixed)


def test_too_few_results_for_fixed_values_say_so() -> None:
    study = study_of(np.zeros((2, 2)), np.zeros(2))
    with pytest.raises(NeuroboError, match="needs three complete trials"):
        neurobo.recommend(study, fixed={"x": 0.5})


def _peer_regret(study: optuna.Study, sampler: Any, heats: list[float]) -> float:
    """Of what an Optuna sampler suggests at these heats, given the same trials."""
    box = {name: FloatDistribution(*ends) for name, ends in RANGES.items()}
    regrets = []
    for heat in heats:
        partial = optuna.samplers.PartialFixedSampler({"heat": heat}, sampler(seed=0))
        copy = optuna.create_study(sampler=partial)
        copy.add_trials(study.trials)
        regrets.append(_regret(copy.ask(dict(box)).params))
    return float(np.mean(regrets))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_best_point_for_a_context_beats_optuna_by_far(seed: int) -> None:
    """60 trials at random heats, 20 new heats: at most half of the regret of Optuna's samplers."""
    rng = np.random.default_rng(seed)
    study = optuna.create_study(sampler=neurobo.NeuroSampler(seed=seed))
    for heat in rng.uniform(-1, 1, 60).tolist():
        study.enqueue_trial({"heat": heat})
    study.optimize(_moving, n_trials=60)
    heats = rng.uniform(-1, 1, 20).tolist()
    ours = np.mean([_regret(neurobo.recommend(study, fixed={"heat": h}).params) for h in heats])
    peers: list[Any] = [optuna.samplers.TPESampler]
    if find_spec("torch") is not None:
        peers.append(optuna.samplers.GPSampler)
    theirs = {peer.__name__: _peer_regret(study, peer, heats) for peer in peers}
    print(f"mean regret {ours:.4f}, {theirs}")  # noqa: T201  (pytest -s)
    assert ours <= min(theirs.values()) / 2
