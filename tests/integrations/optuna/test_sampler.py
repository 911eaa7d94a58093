from __future__ import annotations

import math
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import TrialState

import neurobo
from neurobo.data.observations import Data
from neurobo.data.trials import Trials
from neurobo.errors import InvalidInput, NeuroboWarning
from neurobo.integrations.optuna.attributes import VOID, mark_void, void_numbers
from neurobo.integrations.optuna.history import reserve, trials_of_study
from neurobo.space.search_space import Space
from neurobo.suggestion import Proposal, next_point

FAST = neurobo.NeuralGreedy(width=64, gamma=2.0)
SPACE = {"x": (-5.0, 5.0), "n": neurobo.Int(0, 50)}


@pytest.mark.filterwarnings("ignore::neurobo.errors.NeuroboWarning")
class TestOptunaContract(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture(params=[0, None], ids=["no-startup", "startup"])
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], neurobo.NeuroSampler]:
        return lambda: neurobo.NeuroSampler(FAST, seed=0, n_startup_trials=request.param)


def _objective(trial: optuna.Trial) -> float:
    return float(trial.suggest_float("x", -5, 5) ** 2 + trial.suggest_int("n", 0, 50))


def _study(**options: Any) -> optuna.Study:
    options = {"algorithm": FAST, "seed": 0, **options}
    return optuna.create_study(sampler=neurobo.NeuroSampler(**options))


def test_a_study_finds_the_minimum() -> None:
    study = _study(search_space=SPACE)
    study.optimize(_objective, n_trials=25)
    assert study.best_value < 1.0


def test_maximising_is_minimising_the_negative() -> None:
    up = optuna.create_study(
        direction="maximize", sampler=neurobo.NeuroSampler(FAST, seed=0, search_space=SPACE)
    )
    up.optimize(lambda t: -_objective(t), n_trials=10)
    down = _study(search_space=SPACE)
    down.optimize(_objective, n_trials=10)
    assert [t.params for t in up.trials] == [t.params for t in down.trials]


@pytest.mark.parametrize("n_startup_trials", [0, 3])
def test_four_threads_share_one_sampler(n_startup_trials: int) -> None:
    study = _study(search_space=SPACE, n_startup_trials=n_startup_trials)
    study.optimize(_objective, n_trials=24, n_jobs=4)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 24
    points = {(t.params["x"], t.params["n"]) for t in study.trials}
    assert len(points) == 24


def test_the_seed_decides_whatever_reseed_rng_does() -> None:
    found = []
    for _ in range(2):
        study = _study()
        for _ in range(8):
            study.sampler.reseed_rng()
            study.optimize(_objective, n_trials=1)
        found.append([t.params for t in study.trials])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", [n for n in neurobo.__all__ if n[0].isupper()])
def test_public_classes_are_stored_by_their_public_path(name: str) -> None:
    kind = getattr(neurobo, name)
    if isinstance(kind, type):
        public = "neurobo.errors" if issubclass(kind, Exception) else "neurobo"
        assert kind.__module__ == public
        assert pickle.loads(pickle.dumps(kind)) is kind


def test_a_stored_sampler_is_loaded_by_a_process_that_has_imported_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sampler"
    pool = {"n": np.arange(10.0)[:, None]}
    with_pool = neurobo.NeuroSampler(FAST, search_space={"n": neurobo.Int(0, 9)}, pool=pool)
    path.write_bytes(pickle.dumps([neurobo.NeuroSampler(seed=3), with_pool]))
    program = f"""
import pickle
first, _ = pickle.loads(open({str(path)!r}, "rb").read())
import neurobo, optuna
study = optuna.create_study(sampler=first)
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
assert type(first) is neurobo.NeuroSampler
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)


def test_what_a_sampler_finds_out_while_it_works_is_not_stored() -> None:
    """So that a sampler that an older version has stored lacks nothing."""
    sampler = neurobo.NeuroSampler(seed=0)
    stored = sampler.__getstate__()
    found = neurobo.NeuroSampler.__new__(neurobo.NeuroSampler)
    found.__setstate__(stored)
    assert vars(found).keys() == vars(sampler).keys()
    assert vars(sampler).keys() - stored.keys() == {
        "_one_at_a_time", "_compiles_ahead", "_read", "_known", "_prepared", "_avoided",
    }  # fmt: skip


def test_a_pickled_sampler_goes_on_alike() -> None:
    study = _study(search_space=SPACE)
    study.optimize(_objective, n_trials=8)
    again = optuna.create_study(sampler=pickle.loads(pickle.dumps(study.sampler)))
    again.add_trials(study.trials)
    for s in (study, again):
        s.optimize(_objective, n_trials=2)
    assert [t.params for t in study.trials] == [t.params for t in again.trials]


def test_running_trials_are_not_suggested_again() -> None:
    space: Any = {"n": neurobo.Int(0, 11), "c": neurobo.Categorical(["a", "b"])}
    study = _study(search_space=space, n_startup_trials=2)
    trials = [study.ask(space) for _ in range(24)]
    assert len({(t.params["n"], t.params["c"]) for t in trials}) == 24
    for t in trials[::2]:
        study.tell(t, float(t.params["n"]))
    with pytest.warns(NeuroboWarning, match="all 24 points"):
        study.ask(space)


def test_a_running_trial_s_whole_suggestion_is_pending(tmp_path: Any) -> None:
    """Another process sees it although the objective has asked for one parameter only."""
    names = {f"parameter_with_a_long_name_{i:03}": (0.0, 1.0) for i in range(120)}
    study = optuna.create_study(
        storage=f"sqlite:///{tmp_path}/s.db", sampler=neurobo.NeuroSampler(FAST, search_space=names)
    )
    trial = study.ask()
    trial.suggest_float("parameter_with_a_long_name_000", 0.0, 1.0)
    found = trials_of_study(study, Space.of(names))
    assert len(found.pending) == 1
    assert found.pending[0].keys() == names.keys()
    assert (
        found.pending[0]["parameter_with_a_long_name_000"]
        == trial.params["parameter_with_a_long_name_000"]
    )


def test_failed_pruned_and_infinite_trials_are_no_observations() -> None:
    study = _study(search_space=SPACE)
    for state, value in [
        (TrialState.COMPLETE, 1.0),
        (TrialState.FAIL, None),
        (TrialState.PRUNED, None),
        (TrialState.COMPLETE, float("inf")),
    ]:
        trial = study.ask()
        _objective(trial)
        study.tell(trial, value, state=state)
    space = Space.of(SPACE)
    data = Data.of(space, trials_of_study(study, space))
    assert data.n == 1
    assert len(data.excluded) == 4


def test_trials_outside_the_given_space_are_left_out() -> None:
    study = _study(search_space={"x": (-1.0, 1.0), "n": neurobo.Int(0, 3)}, n_startup_trials=1)
    for x in (-4.0, 0.5, 3.0):
        study.enqueue_trial({"x": x, "n": 2})

    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_float("x", -5, 5) + trial.suggest_int("n", 0, 50)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.optimize(objective, n_trials=4)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)


def _conditional(trial: optuna.Trial) -> float:
    """Three layers and the network are best, at widths of 0.3 and a rate of 0.8."""
    x = trial.suggest_float("x", 0, 1)
    if trial.suggest_categorical("kind", ["tree", "net"]) == "tree":
        return 0.5 + x + trial.suggest_int("leaves", 2, 50) / 50
    value = x**2 + (trial.suggest_float("rate", 0, 1) - 0.8) ** 2
    layers = trial.suggest_int("layers", 1, 4)
    for i in range(layers):
        value += (trial.suggest_float(f"w{i}", 0, 1) - 0.3) ** 2
    return value + 0.2 * abs(layers - 3)


def test_conditional_parameters_are_chosen_by_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    random: list[tuple[int, str]] = []
    original = neurobo.NeuroSampler.sample_independent

    def noted(self: Any, study: Any, trial: Any, name: str, distribution: Any) -> Any:
        random.append((trial.number, name))
        return original(self, study, trial, name, distribution)

    monkeypatch.setattr(neurobo.NeuroSampler, "sample_independent", noted)
    study = _study(algorithm="ntk-gp")
    with warnings.catch_warnings():
        warnings.simplefilter("error", NeuroboWarning)
        study.optimize(_conditional, n_trials=35)
    first = {name: number for number, name in reversed(random)}
    assert sorted(name for _, name in random) == sorted(first)  # only names never seen before
    assert study.best_params["kind"] == "net"
    assert study.best_value < 0.05


def _tree(trial: optuna.Trial) -> float:
    """An integer decides how many widths there are, a category which settings; at best 0.05."""
    best, cost = (0.1, 0.7, 0.35, 0.9, 0.5), (0.8, 0.5, 0.25, 0.0, 0.3)
    layers = trial.suggest_int("layers", 1, 5)
    widths = [trial.suggest_float(f"w{i}", 0, 1) for i in range(layers)]
    value = cost[layers - 1] + 2 * sum((w - b) ** 2 for w, b in zip(widths, best, strict=False))
    kind = trial.suggest_categorical("optimiser", ["sgd", "adam", "rms"])
    if kind == "sgd":
        value += 0.3 + (trial.suggest_float("momentum", 0, 1) - 0.9) ** 2
        return value + 0.2 * (not trial.suggest_categorical("nesterov", [True, False]))
    if kind == "adam":
        value += 0.05 + 3 * (trial.suggest_float("beta", 0, 1) - 0.2) ** 2
        return value + 0.1 * abs(trial.suggest_int("warm", 0, 10) - 7)
    return value + 0.2 + (trial.suggest_float("alpha", 0, 1) - 0.5) ** 2


@pytest.mark.slow
def test_a_tree_of_parameters_is_searched_better_than_by_tpe() -> None:
    """Five seeds of 80 trials: at most half of the mean of TPE, which knows the groups, and the
    optimum in all but at most one of the runs."""
    ours: list[float] = []
    tpe: list[float] = []
    for seed in range(5):
        peer = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True)
        for sampler, found in ((neurobo.NeuroSampler(seed=seed), ours), (peer, tpe)):
            study = optuna.create_study(sampler=sampler)
            study.optimize(_tree, n_trials=80)
            found.append(study.best_value)
    print(np.round(ours, 4), np.round(tpe, 4))  # noqa: T201  (pytest -s)
    assert np.mean(ours) <= np.mean(tpe) / 2
    assert np.sort(ours)[-2] < 0.06


def test_declared_conditions_are_kept_from_the_first_trial_on() -> None:
    space = {
        "x": (0.0, 1.0),
        "kind": neurobo.Categorical(["tree", "net"]),
        "leaves": neurobo.Conditional(neurobo.Int(2, 50), when={"kind": ["tree"]}),
        "rate": neurobo.Conditional((0.0, 1.0), when={"kind": ["net"]}),
        "layers": neurobo.Conditional(neurobo.Int(1, 4), when={"kind": ["net"]}),
        **{f"w{i}": neurobo.Conditional((0.0, 1.0), when={"layers": (i + 1, 4)}) for i in range(4)},
    }
    study = _study(search_space=space)
    study.optimize(_conditional, n_trials=6)
    asked = neurobo.suggest(space, n=6, seed=0)
    for trial, point in zip(study.trials, asked, strict=True):
        assert trial.params == point


def test_parameters_whose_range_changes_are_announced_in_one_warning() -> None:
    study = _study()

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        a = trial.suggest_float("a", 0, 1 + trial.number)
        return x + a / (1 + trial.number) + trial.suggest_int("b", 1, 3 + trial.number)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.optimize(objective, n_trials=10)
    ours = [str(w.message) for w in caught if issubclass(w.category, NeuroboWarning)]
    assert len(ours) == 1
    assert ours[0].startswith("sampled at random: 'a', 'b', not with the same distribution")


def test_a_trial_queued_with_some_parameters_gets_the_best_rest() -> None:
    study = _study(algorithm="ntk-gp")

    def objective(trial: optuna.Trial) -> float:
        return (trial.suggest_float("x", 0, 1) - trial.suggest_float("heat", 0, 1)) ** 2

    rng = np.random.default_rng(0)
    for heat in rng.random(25).tolist():
        study.enqueue_trial({"heat": heat})
    study.optimize(objective, n_trials=25)
    assert np.mean([t.value for t in study.trials[-8:]]) < 1e-3
    for heat in (0.05, 0.95):
        study.enqueue_trial({"heat": heat})
        study.optimize(objective, n_trials=1)
        assert study.trials[-1].params["heat"] == heat
        assert study.trials[-1].params["x"] == pytest.approx(heat, abs=0.05)


def test_a_trial_queued_with_everything_needs_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    study = _study(search_space=SPACE)
    for n in range(3):
        study.enqueue_trial({"x": 0.5, "n": n})
    monkeypatch.setattr("neurobo.integrations.optuna.sampler.next_point", pytest.fail)
    study.optimize(_objective, n_trials=3)
    assert [t.params for t in study.trials] == [{"x": 0.5, "n": n} for n in range(3)]


def test_first_trials_follow_the_design_when_the_space_is_given() -> None:
    study = _study(search_space=SPACE)
    study.optimize(_objective, n_trials=5)
    expected = neurobo.suggest(SPACE, n=5, seed=0)
    assert [t.params for t in study.trials] == expected


def test_values_are_plain_python_numbers() -> None:
    study = _study(search_space=SPACE)
    study.optimize(_objective, n_trials=7)
    assert all(type(t.params["x"]) is float and type(t.params["n"]) is int for t in study.trials)
    assert not any(isinstance(v, np.generic) for t in study.trials for v in t.params.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "nope"}, "got 'nope'"),
        ({"seed": -5}, "got -5"),
        ({"n_startup_trials": -1}, "got -1"),
        ({"search_space": {}}, "at least one parameter"),
        ({"start": "grid"}, "got 'grid'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        neurobo.NeuroSampler(**options)
    assert message in str(error.value)


def test_two_processes_that_choose_the_same_point_at_once_do_not_keep_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While this sampler chooses, another process stores the same choice with its own trial."""
    study = _study(search_space={"n": neurobo.Int(0, 9)})
    calls: list[dict[str, Any]] = []

    def with_a_rival(space: Space, trials: Any, plan: Any, number: int) -> Proposal:
        proposal = next_point(space, trials, plan, number)
        calls.append(proposal.params)
        if len(calls) == 1:
            rival = study._storage.create_new_trial(study._study_id)
            other = study._storage.get_trial(rival)
            reserve(study, other, space, proposal.params, "", None)
        return proposal

    monkeypatch.setattr("neurobo.integrations.optuna.sampler.next_point", with_a_rival)
    chosen = study.ask().suggest_int("n", 0, 9)
    assert len(calls) == 2
    assert chosen == calls[1]["n"] != calls[0]["n"]


def test_void_trials_change_nothing_of_what_comes_next() -> None:
    """A trial that was given up is neither history nor a turn, whether it had a point or not, and
    whether it was marked before or after its end."""
    plain, broken = (_study(search_space=SPACE) for _ in range(2))
    for turn in range(9):
        trial = plain.ask()
        plain.tell(trial, _objective(trial))
        if turn in (2, 7):
            lost = broken.ask()
            if turn == 7:
                _objective(lost)
                broken.tell(lost, state=TrialState.FAIL)
                mark_void(broken, [lost.number])
            else:
                broken._storage.set_trial_system_attr(lost._trial_id, VOID, True)
                broken.tell(lost, state=TrialState.FAIL)
        trial = broken.ask()
        broken.tell(trial, _objective(trial))
    kept = [t.params for t in broken.trials if t.number not in void_numbers(broken)]
    assert kept == [t.params for t in plain.trials]


# Pruned trials ----------------------------------------------------------------------------------


def _with_pruned_trials(direction: Any, pruned: Sequence[float | None]) -> Trials:
    """Complete values 1 to 5, then pruned ones by what they reported last."""
    study = optuna.create_study(direction=direction)
    for value in (1.0, 2.0, 3.0, 4.0, 5.0):
        study.tell(study.ask({"x": neurobo.Float(0, 1)}), value)
    for last in pruned:
        trial = study.ask({"x": neurobo.Float(0, 1)})
        if last is not None:
            trial.report(100.0, 0)
            trial.report(last, 1)
        study.tell(trial, state=TrialState.PRUNED)
    return trials_of_study(study, Space.of({"x": (0.0, 1.0)}))


def test_a_pruned_trial_counts_as_one_of_the_worse_half() -> None:
    lower = _with_pruned_trials("minimize", (0.1, 4.5, 1e6, None))
    assert lower.values[5:8] == [3.0, 4.5, 5.0]
    assert math.isnan(lower.values[8])
    assert list(lower.pruned) == [False] * 5 + [True] * 4
    higher = _with_pruned_trials("maximize", (0.1, 4.5, 1.5))
    assert higher.values[5:] == [-1.0, -3.0, -1.5]


def test_pruned_points_are_not_approached_again() -> None:
    """A pruner that dislikes the neighbourhood of the optimum."""

    def objective(trial: optuna.Trial) -> float:
        x = np.array([trial.suggest_float(name, -5, 5) for name in "xy"])
        value = float(np.sum((x - 1) ** 2))
        trial.report(value + (30 if value < 2 else 0), 0)
        if trial.should_prune():
            raise optuna.TrialPruned
        return value

    pruner = optuna.pruners.MedianPruner(n_startup_trials=3)
    study = optuna.create_study(sampler=neurobo.NeuroSampler(seed=0), pruner=pruner)
    study.optimize(objective, 30)
    pruned = [t.params for t in study.trials if t.state == TrialState.PRUNED]
    assert len(pruned) >= 5
    gaps = [
        max(abs(a[name] - b[name]) / 10 for name in "xy")
        for i, a in enumerate(pruned)
        for b in pruned[:i]
    ]
    assert min(gaps) >= 0.05
