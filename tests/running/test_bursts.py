"""Many workers at once: points chosen together, in stock, and a history that is read once."""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from pathlib import Path
from typing import Any, Self

import numpy as np
import optuna
import pytest
from jax import Array
from optuna.trial import TrialState
from scipy.stats import qmc

import neurobo
from neurobo.algorithm.protocols import Decision
from neurobo.data.observations import Data
from neurobo.integrations.optuna.history import ReadTrials, trials_of_study
from neurobo.integrations.optuna.sampler import NeuroSampler
from neurobo.running.backends import LocalBackend
from neurobo.running.loop import SINGLY, Run
from neurobo.running.progress import Silent
from neurobo.running.suggesting import suggest_all
from neurobo.running.workers import Outcome
from neurobo.space.search_space import Space
from neurobo.suggestion import DECISIONS

BOX = [(-5.0, 5.0)] * 3
BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "many_workers.py"
FAST = neurobo.NeuralGreedy(width=16, gamma=2.0)


class Counted:
    """An algorithm that counts its decisions."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        self.numbers.append(number)
        return FAST.decide(key, data, number)


def _history(n: int) -> list[tuple[np.ndarray, float]]:
    points = np.random.default_rng(0).uniform(-5, 5, (n, 3))
    return [(x, float(np.sum((x - 1) ** 2))) for x in points]


@pytest.mark.parametrize("n", [DECISIONS, 64])
def test_many_points_share_few_decisions(n: int) -> None:
    counted = Counted()
    points = neurobo.suggest(BOX, _history(20), n, algorithm=counted, seed=0)
    assert len(counted.numbers) == DECISIONS
    assert len({tuple(x) for x in points}) == n
    again = neurobo.suggest(BOX, _history(20), n, algorithm=Counted(), seed=0)
    assert np.array_equal(points, again)


def test_points_that_share_a_decision_are_good_and_apart() -> None:
    points = np.array(neurobo.suggest(BOX, _history(40), 64, algorithm="ntk-gp", seed=0))
    values = np.sum((points - 1) ** 2, axis=1)
    random = np.sum((np.random.default_rng(1).uniform(-5, 5, (1000, 3)) - 1) ** 2, axis=1)
    assert np.median(values) < np.quantile(random, 0.25)
    gaps = np.linalg.norm(points[:, None] - points, axis=2) + 100 * np.eye(64)
    assert gaps.min() > 0.01


def test_a_small_space_gives_as_many_points_as_it_has() -> None:
    space = {"n": neurobo.Int(0, 39)}
    history = [({"n": i}, float(i)) for i in range(8)]
    found = neurobo.suggest(space, history, 32, algorithm=FAST, seed=0, n_startup_trials=2)
    assert sorted(p["n"] for p in found) == list(range(8, 40))


def test_free_workers_get_their_points_together(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[int] = []
    before = NeuroSampler.prepare

    def prepare(self: NeuroSampler, study: Any, numbers: Any) -> None:
        prepared.append(len(numbers))
        before(self, study, numbers)

    monkeypatch.setattr(NeuroSampler, "prepare", prepare)

    def objective(x: np.ndarray) -> float:
        time.sleep(0.05)
        return float(np.sum((x - 1) ** 2))

    study = neurobo.minimize(
        objective, BOX, 60, algorithm=FAST, seed=0, workers=20, threads=True, progress=False
    )
    assert prepared[0] == 20
    assert all(SINGLY < count <= 20 + 20 for count in prepared)
    assert [t.state for t in study.trials] == 60 * [TrialState.COMPLETE]
    assert len({str(t.params) for t in study.trials}) == 60


def test_only_trials_that_have_changed_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    space = Space.of({"x": (0.0, 1.0), "c": neurobo.Categorical(["a", "b"])})
    study = optuna.create_study(direction="maximize")
    read, looked = ReadTrials(), list[int]()
    before = Space.contains

    def contains(self: Space, params: Any) -> bool:
        looked.append(1)
        return before(self, params)

    monkeypatch.setattr(Space, "contains", contains)
    for i in range(30):
        trial = study.ask()
        params = space.asked(
            lambda name, d, t=trial: t._suggest(name, d)  # type: ignore[misc]
        )
        if i % 7 == 3:
            study.tell(trial, state=TrialState.FAIL)
        elif i % 7 == 4:
            trial.report(float(i), 1)
            study.tell(trial, state=TrialState.PRUNED)
        elif i % 7 != 5:  # which stays running
            study.tell(trial, params["x"])
        looked.clear()
        found = trials_of_study(study, space, read=read)
        assert len(looked) <= 2
        fresh = trials_of_study(study, space)
        assert found.params == fresh.params
        assert np.array_equal(found.values, fresh.values, equal_nan=True)
        assert (found.pending, found.crashed, found.pruned) == (
            fresh.pending, fresh.crashed, fresh.pruned,
        )  # fmt: skip
        assert found.encoded is not None
        assert np.array_equal(found.encoded[0], space.encode(fresh.params))
        assert np.array_equal(found.encoded[1], space.encode(fresh.pending))


@pytest.mark.slow
def test_ten_thousand_trials_are_read_in_little_time() -> None:
    space = Space.of({f"x{i}": (-5.0, 5.0) for i in range(20)})
    rng = np.random.default_rng(0)
    study = optuna.create_study()
    study.add_trials([
        optuna.trial.create_trial(
            params=dict(zip(space.distributions, x.tolist(), strict=True)),
            distributions=space.distributions, value=float(x @ x),
        )
        for x in rng.uniform(-5, 5, (10_000, 20))
    ])  # fmt: skip
    read = ReadTrials()
    seconds = []
    for _ in range(5):
        study.add_trial(optuna.trial.create_trial(
            params=dict.fromkeys(space.distributions, float(rng.uniform())),
            distributions=space.distributions, value=1.0,
        ))  # fmt: skip
        began = time.process_time()
        Data.of(space, trials_of_study(study, space, read=read))
        seconds.append(time.process_time() - began)
    print(f"history of 10,000 trials: {np.median(seconds[1:]):.3f} s")  # noqa: T201
    assert np.median(seconds[1:]) < 0.1


class Ended:
    """Workers whose evaluations end at once; somebody who waits gets one result, somebody who only
    looks gets all."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.results: dict[int, Outcome] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def free(self) -> int:
        return self.count - len(self.results)

    def start(self, point: Any, name: int) -> None:
        self.results[name] = Outcome(float(np.sum(np.square(point))))

    def finished(self, timeout: float | None = None) -> dict[int, Outcome]:
        taken = list(self.results)[: 1 if timeout is None else None]
        return {name: self.results.pop(name) for name in taken}


def test_results_are_told_before_a_suggestion_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    workers, space = Ended(6), Space.of(BOX)
    study = optuna.create_study(sampler=NeuroSampler(FAST, seed=0, search_space=space))
    waiting: list[int] = []
    before = Run._ask

    def ask(self: Run, wanted: int) -> bool:
        waiting.append(len(workers.results) if len(self.running) > 1 else 0)
        return before(self, wanted)

    monkeypatch.setattr(Run, "_ask", ask)
    told: list[int] = []
    Run(space, LocalBackend(study, space, 0), workers, 30, 1).go(
        np.inf, [lambda _, trial: told.append(trial.number)], Silent()
    )
    assert sorted(told) == list(range(30))
    assert max(waiting) == 0


def test_a_stock_is_filled_together() -> None:
    workers, space = Ended(100), Space.of(BOX)
    study = optuna.create_study(sampler=NeuroSampler(FAST, seed=0, search_space=space))
    run = Run(space, LocalBackend(study, space, 0), workers, 1000, 1)
    run.suggesting, run.evaluating = [1.0], [5.0]  # 20 evaluations end while one burst is chosen
    for name in range(100):
        workers.start(np.zeros(3), name)
    assert run._stock() == 40
    assert run._wanted() == 40
    some = (study.ask(), dict[str, float]())
    run.ready = [some] * 20
    assert run._wanted() == 0  # half of it is there: as many as end meanwhile
    run.ready = [some] * 19
    assert run._wanted() == 21
    workers.finished(0)
    assert run._wanted() == 121


def test_free_workers_get_what_is_ready_while_others_are_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Workers whose evaluations end only while points are being chosen."""
    workers, space, still = Ended(30), Space.of(BOX), {"running": True}
    finished = workers.finished

    def none_yet(timeout: float | None = None) -> dict[int, Outcome]:
        return {} if still["running"] else finished(timeout)

    monkeypatch.setattr(workers, "finished", none_yet)
    study = optuna.create_study(sampler=NeuroSampler(FAST, seed=0, search_space=space))
    run = Run(space, LocalBackend(study, space, 0), workers, 200, 1)
    run._ask(60)
    assert (len(run.running), len(run.ready)) == (30, 30)
    begun: list[int] = []

    def prepare(self: NeuroSampler, study: Any, numbers: Any) -> None:
        assert threading.current_thread() is not threading.main_thread()
        still["running"] = False
        while run.ready[0][1]:
            time.sleep(0.001)  # until the main thread has begun what was ready
        begun.append(len(run.running))

    monkeypatch.setattr(NeuroSampler, "prepare", prepare)
    run._ask(20)
    assert begun == [60]
    assert len(run.evaluating) == len(run.arrived) >= 30


def test_what_goes_wrong_while_points_are_chosen_together_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def prepare(self: NeuroSampler, study: Any, numbers: Any) -> None:
        raise ZeroDivisionError("no reason")

    monkeypatch.setattr(NeuroSampler, "prepare", prepare)
    with pytest.raises(ZeroDivisionError, match="no reason"):
        neurobo.minimize(
            lambda x: float(x @ x), BOX, 40, algorithm=FAST, seed=0, workers=20, threads=True,
            progress=False,
        )  # fmt: skip


def test_points_of_a_burst_are_stored_without_a_look_at_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = Space.of(BOX)
    sampler = NeuroSampler(FAST, seed=0, search_space=space)
    study = optuna.create_study(sampler=sampler)
    trials = [study.ask() for _ in range(64)]
    sampler.prepare(study, [trial.number for trial in trials])
    looked: list[int] = []
    before = Space.contains

    def contains(self: Space, params: Any) -> bool:
        looked.append(1)
        return before(self, params)

    monkeypatch.setattr(Space, "contains", contains)
    points = [suggest_all(trial, space) for trial in trials]
    assert len({str(point) for point in points}) == 64
    assert not looked


def test_a_prepared_point_gives_way_to_one_that_was_stored_meanwhile() -> None:
    space = Space.of(BOX)
    sampler = NeuroSampler(FAST, seed=0, search_space=space)
    study = optuna.create_study(sampler=sampler)
    trials = [study.ask() for _ in range(9)]
    sampler.prepare(study, [trial.number for trial in trials])
    taken = sampler._prepared[0].params
    study.enqueue_trial(taken)
    other = study.ask()
    assert suggest_all(other, space) == taken
    assert suggest_all(trials[0], space) != taken


@pytest.mark.parametrize("n", [1, 30, 300])
def test_the_points_of_a_start_are_those_that_come_one_by_one(n: int) -> None:
    together = neurobo.suggest(BOX, [], n, algorithm=FAST, seed=3)
    sobol = qmc.Sobol(3, rng=np.random.default_rng([3, 0]))
    unit = np.concatenate([sobol.random(1) for _ in range(n)])
    assert np.allclose(together, -5 + 10 * unit, atol=1e-12)


def test_the_benchmark_of_many_workers_counts_every_evaluation() -> None:
    spec = importlib.util.spec_from_file_location("many_workers", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["many_workers"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    # The driver is slower than the workers: they end while it suggests.
    rows = module.simulate(40, 0.05, 160, FAST, n_start=20)
    assert [row["n"] for row in rows] == list(range(16, 161, 16))
    assert all(row["evaluations"] == 16 for row in rows)
    assert all(0 <= row["idle"] < 1 for row in rows)
