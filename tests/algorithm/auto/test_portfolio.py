"""`auto`: who makes a suggestion, and where, follows from the history."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import optuna
import pytest
from jax import Array

import neurobo
from neurobo.algorithm import Decision
from neurobo.algorithm.auto import credit
from neurobo.algorithm.auto.members import MEMBERS
from neurobo.algorithm.ntk_gp import NTKGP
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput
from neurobo.integrations.optuna.attributes import member_of
from neurobo.search import trust_region as trust
from neurobo.search.trust_region import RADIUS

NAMES = list(MEMBERS)


def _data(values: list[float], columns: int = 2) -> Data:
    x = np.random.default_rng(0).uniform(-1, 1, (len(values), columns))
    return Data.pad(x, np.array(values))


def _shares(data: Data, members: list[str]) -> dict[str, float]:
    return dict(zip(NAMES, credit.shares(data, members, NAMES).tolist(), strict=True))


def test_without_history_all_members_have_the_same_share() -> None:
    for data in (_data([]), _data([3.0, 2.0, 1.0])):
        np.testing.assert_allclose(credit.shares(data, (), NAMES), 0.25)
    turns = [credit.turn(_data([]), (), NAMES, i) for i in range(100)]
    assert all(23 <= turns.count(name) <= 27 for name in NAMES)
    assert all(len(set(turns[i : i + 8])) == 4 for i in range(90))  # spread evenly


def test_who_finds_better_points_gets_more_turns_and_nobody_gets_none() -> None:
    members = [NAMES[i % 4] for i in range(40)]
    values = [float(-i if name == "wide" else i) for i, name in enumerate(members)]
    shares = _shares(_data(values), members)
    assert shares["wide"] > 0.4
    assert min(shares.values()) >= credit.KEPT / 4
    # Another one does well now: what was long ago counts less.
    later = [*members, *["network"] * 40]
    values = [*values, *(-100.0 - i for i in range(40))]
    shares = _shares(_data(values), later)
    assert shares["network"] > shares["wide"]


def test_a_better_value_that_is_not_feasible_earns_nothing() -> None:
    members = ["", "wide", "network"]
    data = replace(_data([3.0, 1.0, 2.0]), violation=np.array([0.0, 1.0, 0.0]))
    shares = _shares(data, members)
    assert shares["network"] > shares["wide-local"] > shares["wide"]


def _walk(steps: list[tuple[float, float]]) -> Data:
    """Points at these places on a line, with these values."""
    x = np.array([[place] for place, _ in steps])
    return Data.pad(x, np.array([value for _, value in steps]))


def test_the_region_grows_with_successes_and_shrinks_with_failures() -> None:
    assert trust.radius(_data([])) == RADIUS
    better = [(0.01 * i, -float(i)) for i in range(4)]
    assert trust.radius(_walk(better[:2])) == RADIUS
    assert trust.radius(_walk(better[:3])) == 2 * RADIUS
    worse = [(0.0, 0.0), *((0.01 * i, float(i)) for i in range(1, 9))]
    assert trust.radius(_walk(worse[:5])) == RADIUS / 2
    assert trust.radius(_walk(worse)) == RADIUS / 4
    far = [(0.0, 0.0), *((0.9, float(i)) for i in range(1, 9))]
    assert trust.radius(_walk(far)) == RADIUS  # says nothing about the region


def test_a_region_without_hope_begins_anew() -> None:
    worse = [(0.0, 0.0), *((1e-4 * i, float(i)) for i in range(1, 4 * 7 + 1))]
    assert trust.radius(_walk(worse)) == RADIUS


def test_a_study_keeps_who_proposed_a_trial_and_goes_on_the_same_way() -> None:
    def objective(trial: optuna.Trial) -> float:
        return sum((trial.suggest_float(name, -1, 1) - 0.3) ** 2 for name in "ab")

    space = {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}
    study = optuna.create_study(
        sampler=neurobo.NeuroSampler(seed=0, n_startup_trials=4, search_space=space)
    )
    study.optimize(objective, n_trials=9)
    members = [member_of(t) for t in study.trials]
    assert members[:4] == [""] * 4
    assert members[4] == "middle"
    assert set(members[5:]) <= set(NAMES)
    assert len(set(members[5:])) == 3
    assert neurobo.suggest(space, study, seed=0, n_startup_trials=4) == [
        dict(study.ask(study.trials[0].distributions).params)
    ]


def test_the_middle_of_the_box_is_tried_once_and_only_if_nothing_is_near_it() -> None:
    space = {"x": (0.0, 4.0), "lr": neurobo.Float(1e-4, 1.0, log=True), "n": neurobo.Int(1, 2),
             "c": neurobo.Categorical(["a", "b"])}  # fmt: skip
    start = [({"x": x, "lr": 1e-4, "n": 1, "c": "b"}, x) for x in (0.0, 1.0, 3.0, 4.0)]
    (first,) = neurobo.suggest(space, start, seed=0, n_startup_trials=4)
    assert first["x"] == pytest.approx(2.0, abs=1e-3)
    assert first["lr"] == pytest.approx(1e-2, rel=1e-3)
    (after,) = neurobo.suggest(space, [*start, (first, None)], seed=0, n_startup_trials=4)
    assert abs(after["x"] - 2.0) > 0.01 or abs(np.log10(after["lr"]) + 2) > 0.01
    near = [*start, ({**first, "x": 2.4}, 1.0)]
    (other,) = neurobo.suggest(space, near, seed=0, n_startup_trials=4)
    assert abs(other["x"] - 2.0) > 0.01 or abs(np.log10(other["lr"]) + 2) > 0.01
    off = neurobo.Auto(middle=False)
    (other,) = neurobo.suggest(space, start, seed=0, n_startup_trials=4, algorithm=off)
    assert abs(other["x"] - 2.0) > 0.01 or abs(np.log10(other["lr"]) + 2) > 0.01


def test_under_noise_that_is_known_of_a_lucky_value_is_not_the_best() -> None:
    """A bowl with its lowest values around the middle, and one lucky value in a corner."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-1, 1, (40, 2)), [[0.95, 0.95]]])
    y = np.sum(x**2, axis=1) + 0.3 * rng.normal(size=41)
    y[-1] = np.min(y) - 0.1
    data = Data.pad(x, (y - np.mean(y)) / np.std(y))
    with jax.enable_x64(True):
        region = neurobo.Auto(noisy=True).decide(jax.random.key(0), data, 1).region
    assert region is not None
    assert np.max(np.abs(x[region.row])) < 0.6


def test_the_bowl_does_not_hide_an_optimum_in_a_corner() -> None:
    """A slope of four parameters with noise of a third of its standard deviation."""
    rng = np.random.default_rng(0)
    study = neurobo.minimize(
        lambda x: float(np.sum(x) + 0.4 * rng.normal()), [(-1.0, 1.0)] * 4, 30, seed=0,
        algorithm=neurobo.Auto(noisy=True), progress=False,
    )  # fmt: skip
    assert np.mean(list(neurobo.recommend(study, noisy=True).params.values())) < -0.75


def test_what_is_known_of_noise_reaches_the_members(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, decide = [], NTKGP.decide

    def watched(self: NTKGP, key: Array, data: Data, number: int) -> Decision:
        seen.append(data.noisy)
        return decide(self, key, data, number)

    monkeypatch.setattr(NTKGP, "decide", watched)
    for noisy in (False, True):
        neurobo.minimize(
            lambda x: float(np.sum(x**2)), [(-1.0, 1.0)] * 2, 6, n_startup_trials=4, seed=0,
            algorithm=neurobo.Auto(members="wide", middle=False, noisy=noisy), progress=False,
        )  # fmt: skip
    assert seen == [False, False, True, True]


def test_bad_options_are_refused() -> None:
    for members in ("", "wide+narrow", 3):
        with pytest.raises(InvalidInput, match="members must be some of"):
            neurobo.Auto(members=members)  # type: ignore[arg-type]


@pytest.mark.slow
def test_what_it_believes_can_be_shown() -> None:
    history = [({"x": x}, (x - 0.3) ** 2) for x in (-1.0, -0.5, 0.1, 0.8, 1.0)]
    ax = neurobo.plots.bands({"x": (-1.0, 1.0)}, history, algorithm="auto")
    low, high = ax.get_ylim()
    assert -1 < low < 0.1 < 1.5 < high < 3  # values, not the scores of members
