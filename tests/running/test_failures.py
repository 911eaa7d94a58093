"""A broken objective does not spend the budget; a failing region does not stop the run."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

import neurobo
from neurobo.errors import EvaluationFailed, NeuroboWarning
from neurobo.integrations.optuna.attributes import counting
from neurobo.running.failures import Failures, is_programming_error
from neurobo.running.workers import Outcome

FAST = neurobo.NeuralGreedy(width=32, gamma=2.0)
BOX = {"x": (-5.0, 5.0), "y": (-5.0, 5.0)}
quietly = pytest.mark.filterwarnings("ignore::neurobo.errors.NeuroboWarning")


def _minimize(objective: Any, n_trials: int = 20, space: Any = BOX, **options: Any) -> Any:
    options = {"algorithm": FAST, "seed": 0, "progress": False, **options}
    return neurobo.minimize(objective, space, n_trials, **options)


def _bowl(p: dict[str, Any]) -> float:
    return float((p["x"] - 1) ** 2 + p["y"] ** 2)


def _undefined(p: dict[str, Any]) -> float:
    return float(p["x"] + offset)  # type: ignore[name-defined]  # noqa: F821


def _absent(p: dict[str, Any]) -> float:
    import no_such_package  # type: ignore[import-not-found]

    return float(no_such_package.f(p))


def _no_such_key(p: dict[str, Any]) -> float:
    return float(p["learning_rate"])


def _two_arguments(x: float, y: float) -> float:
    return x + y


BROKEN = {
    "name": (_undefined, "NameError: name 'offset' is not defined", 'float(p["x"] + offset)'),
    "module": (_absent, "ModuleNotFoundError: No module named 'no_such_package'", "_absent"),
    "key": (_no_such_key, "KeyError: 'learning_rate'", "a dict with the keys ['x', 'y']"),
    "arguments": (_two_arguments, "missing 1 required positional", "called with one argument: a"),
}


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("options", [{}, {"batch": 4}, {"workers": 2, "threads": True}])
def test_an_error_of_the_program_stops_the_run(kind: str, options: dict[str, Any]) -> None:
    objective, error, hint = BROKEN[kind]
    with pytest.raises(EvaluationFailed) as stopped:
        _minimize(objective, **options)
    message = str(stopped.value)
    assert " evaluations failed with the same error: " in message.splitlines()[0]
    assert error in message.splitlines()[0]
    assert hint in message
    assert "workers.py" not in message  # the user's code, not ours
    study = stopped.value.study
    assert 3 <= len(study.get_trials(states=(TrialState.FAIL,))) <= 6
    assert not study.get_trials(states=(TrialState.RUNNING,))


def test_an_error_of_the_program_in_processes() -> None:
    with pytest.raises(EvaluationFailed, match="in _undefined\n") as stopped:
        _minimize(_undefined, workers=2)
    assert len(stopped.value.study.trials) <= 6


def test_the_repaired_run_is_the_one_that_would_have_been(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "storage": f"sqlite:///{tmp_path}/study.db",
        "study_name": "s",
        "n_trials": 9,
        "initial": [{"x": 0.0, "y": 0.0}],
    }
    for _ in range(2):
        with pytest.raises(EvaluationFailed):
            _minimize(_undefined, **options)
    study = _minimize(_bowl, **options)
    whole = _minimize(_bowl, n_trials=9, initial=options["initial"])
    assert len(study.trials) == 9 + 2 * 3
    assert [t.params for t in counting(study)] == [t.params for t in whole.trials]


@quietly
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("workers", [1, 3])
def test_a_failing_region_does_not_stop_the_run(seed: int, workers: int) -> None:
    def objective(p: dict[str, Any]) -> float:
        if p["x"] ** 2 + p["y"] ** 2 > 2**2:  # 87 % of the box
            raise ValueError("the solver did not converge")
        time.sleep(0.01)
        return _bowl(p)

    study = _minimize(objective, 25, seed=seed, workers=workers, threads=True, n_startup_trials=25)
    assert len(counting(study)) == 25
    assert any(t.state == TrialState.COMPLETE for t in study.trials)


@quietly
def test_slow_successes_are_awaited_before_quick_failures_count() -> None:
    """Three workers; the first evaluation succeeds, long after many others have failed."""
    over = threading.Event()

    def objective(p: dict[str, Any]) -> float:
        calls.append(p)
        if len(calls) == 1:
            over.wait(timeout=20)
            return 1.0
        if len(calls) == 25:
            over.set()
        raise ValueError("the solver did not converge")

    calls: list[Any] = []
    study = _minimize(objective, 30, workers=3, threads=True, n_startup_trials=30)
    assert len(counting(study)) == 30


@quietly
def test_nothing_begins_while_it_is_undecided_whether_the_program_is_broken() -> None:
    def objective(p: dict[str, Any]) -> float:
        calls.append(p)
        if len(calls) == 1:
            time.sleep(0.5)
            before.append(len(calls))
            return 1.0
        if not before:
            raise NameError("name 'offset' is not defined")
        return _bowl(p)

    calls: list[Any] = []
    before: list[int] = []
    study = _minimize(objective, workers=2, threads=True, n_startup_trials=20)
    assert before[0] <= 4
    assert len(counting(study)) == 20


@quietly
def test_what_has_succeeded_once_goes_on() -> None:
    def objective(p: dict[str, Any]) -> float:
        calls.append(p)
        return _bowl(p) if len(calls) == 3 else _undefined(p)

    calls: list[Any] = []
    study = _minimize(objective, n_startup_trials=20)
    assert len(counting(study)) == 20


def test_other_errors_stop_the_run_after_twenty_and_count(tmp_path: Path) -> None:
    def objective(p: dict[str, Any]) -> float:
        raise RuntimeError("no licence")

    options: dict[str, Any] = {"storage": f"sqlite:///{tmp_path}/study.db", "study_name": "s"}
    with pytest.raises(EvaluationFailed, match=r"first 20 evaluations .*Error: no licence"):
        _minimize(objective, 60, **options)
    with pytest.raises(EvaluationFailed):  # with other points
        _minimize(objective, 60, **options)
    study = optuna.load_study(study_name="s", storage=options["storage"])
    assert len(counting(study)) == 40
    assert len({tuple(t.params.values()) for t in study.trials}) == 40


def test_a_forgotten_return_is_noticed() -> None:
    with pytest.raises(EvaluationFailed, match="got None\nDoes the objective return its value"):
        _minimize(lambda p: None, 30)


@quietly
@pytest.mark.parametrize("value", [math.nan, math.inf, np.float32("nan"), (1.0, {"c": math.nan})])
def test_numbers_that_are_not_finite_do_not_stop_the_run(value: Any) -> None:
    assert len(_minimize(lambda p: value, 25).trials) == 25


def test_max_failures_none_never_stops() -> None:
    with pytest.warns(NeuroboWarning, match="25 of 25 evaluations failed"):
        _minimize(_undefined, 25, max_failures=None)


def test_max_failures_counts_those_of_this_run() -> None:
    def objective(p: dict[str, Any]) -> float:
        calls.append(p)
        if len(calls) % 2:
            raise ValueError("odd")
        return _bowl(p)

    calls: list[Any] = []
    with pytest.raises(
        EvaluationFailed, match=r"max_failures=4 evaluations failed.*odd"
    ) as stopped:
        _minimize(objective, max_failures=4, n_startup_trials=20)
    assert len(counting(stopped.value.study)) == 7
    with pytest.raises(EvaluationFailed, match="first 3 evaluations"):
        _minimize(_undefined, max_failures=100)


class Rejected(Exception):
    def __init__(self, part: str, code: int) -> None:  # pickle cannot make one again
        super().__init__(f"{part}: {code}")


@quietly
@pytest.mark.parametrize("options", [{}, {"workers": 2, "threads": True}, {"workers": 2}])
def test_exceptions_that_are_not_caught_end_the_run(options: dict[str, Any]) -> None:
    storage = optuna.storages.InMemoryStorage()

    def objective(p: dict[str, Any]) -> float:
        if p["x"] > 0:
            raise ZeroDivisionError("a bug")
        raise ValueError("did not converge")

    options = {"storage": storage, "study_name": "s", **options}
    with pytest.raises(ZeroDivisionError, match="a bug"):
        _minimize(objective, catch=ValueError, **options)
    trials = optuna.load_study(study_name="s", storage=storage).trials
    reasons = [t.user_attrs["failure"] for t in trials]
    assert reasons.count("ZeroDivisionError('a bug')") >= 1
    assert set(reasons) <= {
        "ZeroDivisionError('a bug')", "ValueError('did not converge')", "interrupted",
    }  # fmt: skip
    assert all(t.state == TrialState.FAIL for t in trials)


def test_an_exception_from_a_process_brings_its_traceback() -> None:
    def bug(p: dict[str, Any]) -> float:
        raise ZeroDivisionError("a bug")

    def odd(p: dict[str, Any]) -> float:
        raise Rejected("gear", 7)

    with pytest.raises(ZeroDivisionError) as error:
        _minimize(bug, workers=2, catch=())
    assert "in bug\n" in error.value.__notes__[0]
    with pytest.raises(EvaluationFailed, match=r"gear: 7"):
        _minimize(odd, workers=2, catch=())


@quietly
def test_an_exit_can_be_caught() -> None:
    def objective(p: dict[str, Any]) -> float:
        raise SystemExit(3)

    study = _minimize(objective, 4, catch=(Exception, SystemExit))
    assert [t.user_attrs["failure"] for t in study.trials] == ["SystemExit(3)"] * 4


@pytest.mark.parametrize(
    ("failure", "output", "broken"),
    [
        ("x", "ModuleNotFoundError: No module named 'y'", True),
        ("the program must end with exit code 0, got 1",
         "Traceback (most recent call last):\n  File \"a.py\", line 1\nNameError: name 'a'", True),
        ("the program 'sim' cannot be started: No such file or directory", "", True),
        ("the program must end with exit code 0, got 127", "", True),
        ("the program must end with exit code 0, got 2",
         "/usr/bin/python3: can't open file '/tmp/neurobo-trial-0-ab/sim.py': [Errno 2]", True),
        ("the program must end with exit code 0, got 1", "mesh error", False),
        ("x", "ValueError: bad value", False),
        ("x", "AttributeError: 'NoneType' object has no attribute 'value'", False),
        ("the objective must return a finite number, got None", "", False),
    ],
)  # fmt: skip
def test_what_is_an_error_of_the_program(failure: str, output: str, broken: bool) -> None:
    assert is_programming_error(Outcome(failure=failure, output=output)) == broken


@pytest.mark.parametrize(
    ("outputs", "stops"),
    [
        (["python: can't open file '/tmp/neurobo-trial-{}-a_b1/sim.py'"] * 3, True),
        (["KeyError: 'a'", "KeyError: 'a'", "KeyError: 'b'"], False),
        (['File "a.py", line 1\nKeyError: 1', 'File "a.py", line 2\nKeyError: 1'] * 2, False),
        (["<A object at 0x7f{}> has\nTypeError: unhashable type: 'A'"] * 3, True),
    ],
)
def test_which_failures_are_alike(outputs: list[str], stops: bool) -> None:
    failures = Failures()
    for number, output in enumerate(outputs):
        failures.begin(number)
        failures.end(number, Outcome(failure="it failed", output=output.format(number)))
    assert (failures.stop() is not None) == stops


def test_lost_evaluations_say_nothing() -> None:
    failures = Failures()
    outcome = Outcome(failure="it failed", output="KeyError: 'a'")
    for number in range(4):
        failures.begin(number)
        lost = number == 1
        failures.end(number, Outcome(failure="killed", lost=True) if lost else outcome)
        assert (failures.stop() is not None) == (number == 3)
    stop = failures.stop()
    assert stop is not None
    assert stop.void == [0, 2, 3]
