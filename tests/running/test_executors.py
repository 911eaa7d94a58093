"""Any executor evaluates: what is lost is retried, what is cancelled is left out."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState

import neurobo
from neurobo.errors import InvalidInput, NeuroboError, NeuroboWarning
from neurobo.integrations.optuna.attributes import counting
from neurobo.running.executors import is_lost

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def _goal(p: dict[str, float]) -> float:
    return (p["x"] - 0.3) ** 2 + p["y"]


def _minimize(objective: Any, n_trials: int, **options: Any) -> Any:
    options = {"seed": 0, "progress": False, "n_startup_trials": n_trials, **options}
    return neurobo.minimize(objective, SPACE, n_trials, **options)


class Scripted(Executor):
    """Runs each call at once, and then does with its future what the script says."""

    _max_workers = 2

    def __init__(self, script: dict[int, Callable[[Future[Any]], None]]) -> None:
        self.calls = 0
        self._script = script

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        act = self._script.get(self.calls)
        self.calls += 1
        if act is None:
            future.set_result(fn(*args, **kwargs))
        else:
            act(future)
        return future


def _lost(future: Future[Any]) -> None:
    future.set_exception(BrokenProcessPool("a node is gone"))


def _cancelled(future: Future[Any]) -> None:
    future.cancel()
    future.set_running_or_notify_cancel()


def test_lost_evaluations_are_retried_at_the_same_point() -> None:
    executor = Scripted({2: _lost, 7: _lost})
    study = _minimize(_goal, 8, executor=executor)
    assert executor.calls == 10
    assert len(counting(study)) == 8
    assert all(t.state == TrialState.COMPLETE for t in counting(study))
    lost = [t for t in study.trials if t.state == TrialState.FAIL]
    assert [t.user_attrs["failure"] for t in lost] == 2 * ["lost: the worker died: a node is gone"]
    for trial in lost:
        (again,) = [t for t in study.trials if t.user_attrs.get("retry_of") == trial.number]
        assert again.params == trial.params
        assert again.user_attrs["attempt"] == 2


def test_what_is_lost_too_often_counts_as_failed() -> None:
    executor = Scripted({0: _lost, 1: _lost, 2: _lost})
    with pytest.warns(NeuroboWarning, match="1 of 3 evaluations failed"):
        study = _minimize(_goal, 3, executor=executor, workers=1, retries=2)
    assert executor.calls == 5
    states = [t.state for t in counting(study)]
    assert states.count(TrialState.FAIL) == 1
    with pytest.warns(NeuroboWarning):
        study = _minimize(_goal, 3, executor=Scripted({0: _lost}), retries=0)
    assert len(study.trials) == 3


def test_cancelled_evaluations_are_neither_results_nor_repeated() -> None:
    executor = Scripted({1: _cancelled})
    study = _minimize(_goal, 4, executor=executor)
    assert executor.calls == 5
    assert len(counting(study)) == 4
    (one,) = [t for t in study.trials if t.state == TrialState.FAIL]
    assert one.user_attrs["failure"] == "cancelled"
    assert len({str(t.params) for t in study.trials}) == 5


def test_what_the_objective_raises_is_a_result() -> None:
    def objective(p: dict[str, float]) -> float:
        if p["x"] > 0.5:
            raise ValueError("too far")
        return _goal(p)

    with pytest.warns(NeuroboWarning, match="too far"):
        study = _minimize(objective, 8, executor=Scripted({}))
    assert len(study.trials) == 8
    assert any(t.state == TrialState.FAIL for t in study.trials)


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (BrokenProcessPool("a node is gone"), True),
        (ConnectionError("closed"), True),
        (ModuleNotFoundError("no module"), False),
        (TypeError("cannot be called"), False),
        (RuntimeError("A task has failed to un-serialize."), False),
        (RuntimeError("\nThe exit codes of the workers are {SIGSEGV(-11)}"), False),
        (RuntimeError("\nThe exit codes of the workers are {SIGKILL(-9)}"), True),
    ],
)
def test_which_errors_of_an_executor_mean_that_a_worker_is_gone(
    error: Exception, lost: bool
) -> None:
    assert is_lost(error) == lost


@pytest.mark.slow
def test_a_killed_process_of_our_own_is_retried(tmp_path: Path) -> None:
    def objective(p: dict[str, float]) -> float:
        if not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return _goal(p)

    study = _minimize(objective, 6, workers=2)
    assert all(t.state == TrialState.COMPLETE for t in counting(study))
    assert sum("retry_of" in t.user_attrs for t in study.trials) >= 1


HEAVY = ("jax", "optuna", "neurobo.suggestion", "neurobo.space", "neurobo.algorithm")


@pytest.mark.filterwarnings("ignore::neurobo.errors.NeuroboWarning")
def test_workers_import_neither_jax_nor_the_core() -> None:
    def objective(p: dict[str, float]) -> tuple[float, dict[str, float]]:
        import sys  # the function is sent without its module

        found = {name: float(name in sys.modules) for name in HEAVY}
        return p["x"], {**found, "pid": float(os.getpid())}

    study = _minimize(objective, 4, workers=2)
    for trial in study.trials:
        found = dict(trial.constraints)
        assert found.pop("pid") != os.getpid()
        assert found == dict.fromkeys(HEAVY, 0.0)


def test_an_executor_of_threads_stays_open() -> None:
    here: set[str] = set()

    def objective(p: dict[str, float]) -> float:
        here.add(threading.current_thread().name)
        return _goal(p)

    with ThreadPoolExecutor(2, thread_name_prefix="mine") as pool:
        study = _minimize(objective, 4, executor=pool)
        assert pool.submit(int).result() == 0
    assert len(study.trials) == 4
    assert all(name.startswith("mine") for name in here)


class Jobs:
    """As submitit: jobs are no futures."""

    def submit(self, fn: Any, *args: Any) -> Any:
        return Polled(fn, args)


class Polled:
    def __init__(self, fn: Any, args: Any) -> None:
        self._work, self._looks = (fn, args), 0

    def done(self) -> bool:
        self._looks += 1
        return self._looks > 1

    def result(self) -> Any:
        fn, args = self._work
        return fn(*args)

    def cancel(self) -> None:
        pass


def test_jobs_that_are_no_futures_are_polled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neurobo.running.executors.POLL", 0.01)
    study = _minimize(_goal, 5, executor=Jobs(), workers=2)
    assert [t.state for t in study.trials] == 5 * [TrialState.COMPLETE]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"executor": object()}, "executor must have the method submit"),
        ({"executor": Jobs()}, "workers must be given with Jobs"),
        ({"executor": Scripted({}), "threads": True}, "threads=True must stand without executor"),
        ({"retries": -1}, "retries must be a whole number of at least 0"),
    ],
)
def test_bad_executors_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        _minimize(_goal, 2, **options)


def test_an_executor_that_was_shut_down_ends_the_run_with_one_message() -> None:
    pool = ThreadPoolExecutor(2)
    pool.shutdown()
    with pytest.raises(NeuroboError, match="ThreadPoolExecutor must take work until the run ends"):
        _minimize(_goal, 2, executor=pool)
