from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.trial import TrialState
from small import ALGORITHMS, TWO_FAST

import neurobo
from neurobo.errors import InvalidInput, NeuroboWarning
from neurobo.integrations.optuna.storage import silent

FAST = neurobo.NeuralGreedy(width=64, gamma=2.0)
SPACE = {"x": (-5.0, 5.0), "c": neurobo.Categorical(["a", "b"])}


def _bowl(p: dict[str, Any]) -> float:
    return float((p["x"] - 1) ** 2 + (p["c"] == "a"))


def _minimize(objective: Any = _bowl, space: Any = None, n_trials: int = 12, **options: Any) -> Any:
    options = {"algorithm": FAST, "seed": 0, "progress": False, **options}
    return neurobo.minimize(objective, SPACE if space is None else space, n_trials, **options)


def test_a_dict_of_parameters_and_the_study_comes_back() -> None:
    study = _minimize(n_trials=20)
    assert isinstance(study, optuna.Study)
    assert len(study.trials) == 20
    assert study.best_value < 0.05
    assert study.best_params["c"] == "b"


def test_a_list_of_bounds_gives_an_array() -> None:
    seen: list[np.ndarray] = []

    def objective(x: np.ndarray) -> float:
        seen.append(x)
        return float(np.sum(x**2))

    study = _minimize(objective, [(-5, 10), (0, 15)], 6)
    assert all(x.shape == (2,) and x.dtype == float for x in seen)
    assert list(study.best_params) == ["x0", "x1"]


class Hostile:
    """Nothing can be done with it."""

    def _refuse(self, *_: Any) -> Any:
        raise RuntimeError("hands off")

    __float__ = __len__ = __iter__ = __array__ = __repr__ = _refuse


BAD_RETURNS: dict[str, Any] = {
    "nan": math.nan,
    "inf": math.inf,
    "minus inf": -math.inf,
    "none": None,
    "text": "3.0",
    "bytes": b"1",
    "pair": (1.0, 2.0),
    "nested": (1.0, [1.0]),
    "nested lists": [[1.0], [2.0, 3.0]],
    "no constraints": (1.0, None),
    "constraints twice": ((1.0, {"c": 1.0}), {"c": 1.0}),
    "empty": [],
    "empty array": np.array([]),
    "text in a list": ["3.0"],
    "text in an array": np.array("3.0"),
    "dict": {"value": 1.0},
    "set": {1.0},
    "complex": 1j,
    "complex of NumPy": np.complex128(1j),
    "object": object(),
    "objects": np.array([object()]),
    "generator": (x for x in (1.0,)),
    "type": float,
    "missing value": pd.NA,
    "two in a series": pd.Series([1.0, 2.0]),
    "huge": 10**400,
    "hostile": Hostile(),
}


@pytest.mark.filterwarnings("ignore::neurobo.errors.NeuroboWarning")
@pytest.mark.parametrize("algorithm", TWO_FAST)
def test_bad_evaluations_are_recorded_as_failed_and_the_run_goes_on(algorithm: str) -> None:
    bad = list(BAD_RETURNS.values())

    def objective(p: dict[str, Any]) -> Any:
        calls.append(p)
        k = len(calls) - 1
        if k < len(bad):
            return bad[k]
        if k == len(bad):
            raise RuntimeError("the lab is closed")
        return _bowl(p)

    calls: list[dict[str, Any]] = []
    n = len(bad) + 1
    study = _minimize(objective, n_trials=n + 6, algorithm=ALGORITHMS[algorithm])
    states = [t.state for t in study.trials]
    assert states == [TrialState.FAIL] * n + [TrialState.COMPLETE] * 6
    reasons = [t.user_attrs["failure"] for t in study.trials[:n]]
    assert all("must return a finite number" in r and ", got " in r for r in reasons[:-1])
    assert reasons[-1] == "RuntimeError('the lab is closed')"
    assert math.isfinite(study.best_value)
    points = [(p["x"], p["c"]) for p in calls]
    assert len(set(points)) == len(points)


def test_numbers_of_any_kind_are_accepted() -> None:
    kinds = [
        np.float32(1), np.array(2.0), np.array([3.0]), np.int64(4), 5, True, Decimal(7), [8.0],
        Fraction(9), np.array([10], dtype=object), jnp.array([11.0]), pd.Series([12.0]),
    ]  # fmt: skip
    values = iter(kinds)
    study = _minimize(lambda _: next(values), n_trials=len(kinds), n_startup_trials=20)
    assert [t.value for t in study.trials] == [1, 2, 3, 4, 5, 1, 7, 8, 9, 10, 11, 12]


@pytest.mark.filterwarnings("ignore::neurobo.errors.NeuroboWarning")
@pytest.mark.parametrize("bad", ["text", [1.0, [2.0]], None, Hostile()])
def test_a_bad_constraint_is_a_failed_trial_that_names_it(bad: Any) -> None:
    (trial,) = _minimize(lambda _: (1.0, {"good": -1.0, "c": bad}), n_trials=1).trials
    assert trial.state == TrialState.FAIL
    assert "the constraint 'c' must be a finite number, got " in trial.user_attrs["failure"]
    assert trial.constraints == {"good": -1.0}


def test_failures_are_summed_up_in_a_warning() -> None:
    def objective(p: dict[str, Any]) -> float:
        raise ValueError("no such material")

    with pytest.warns(NeuroboWarning, match=r"3 of 3 evaluations failed.*no such material"):
        _minimize(objective, n_trials=3)


def test_a_stored_study_goes_on_where_it_was(tmp_path: Path) -> None:
    options: dict[str, Any] = {"storage": f"sqlite:///{tmp_path}/study.db", "study_name": "s"}
    whole = _minimize(n_trials=10)
    _minimize(n_trials=4, **options)
    calls = []

    def counted(p: dict[str, Any]) -> float:
        calls.append(p)
        return _bowl(p)

    resumed = _minimize(counted, n_trials=10, **options)
    assert len(calls) == 6
    assert [t.params for t in resumed.trials] == [t.params for t in whole.trials]
    assert _minimize(counted, n_trials=10, **options).best_value == whole.best_value
    assert len(calls) == 6


def test_callbacks_see_every_trial_and_may_stop_the_run() -> None:
    seen = []

    def callback(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        seen.append(trial.value)
        if trial.number == 4:
            study.stop()

    study = _minimize(callbacks=[callback])
    assert len(seen) == len(study.trials) == 5
    study.optimize(lambda t: t.suggest_float("x", -5, 5), n_trials=1)  # left as it was found


def test_timeout_ends_the_run() -> None:
    def slow(p: dict[str, Any]) -> float:
        time.sleep(0.2)
        return _bowl(p)

    study = _minimize(slow, n_trials=1000, timeout=0.7)
    assert 1 <= len(study.trials) <= 4


def test_control_c_keeps_everything_told() -> None:
    def objective(p: dict[str, Any]) -> float:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(p)
        return _bowl(p)

    done: list[Any] = []
    with pytest.warns(NeuroboWarning, match="interrupted after 3 of 12 trials"):
        study = _minimize(objective)
    states = [t.state for t in study.trials]
    assert states == [TrialState.COMPLETE] * 3 + [TrialState.FAIL]
    assert study.trials[-1].user_attrs["failure"] == "interrupted"


def test_control_c_in_a_callback_keeps_the_trial_that_was_told() -> None:
    def callback(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if trial.number == 2:
            raise KeyboardInterrupt

    with pytest.warns(NeuroboWarning, match="interrupted after 3 of 12 trials"):
        study = _minimize(callbacks=[callback])
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 3


def test_an_exit_in_the_objective_leaves_its_reason_and_no_running_trial(tmp_path: Path) -> None:
    def objective(p: dict[str, Any]) -> float:
        raise SystemExit(3)

    storage = f"sqlite:///{tmp_path}/study.db"
    with pytest.raises(SystemExit):
        _minimize(objective, storage=storage, study_name="s")
    (trial,) = optuna.load_study(study_name="s", storage=storage).trials
    assert trial.state == TrialState.FAIL
    assert trial.user_attrs["failure"] == "SystemExit(3)"


PROGRAM = """
import sys, time, neurobo
def f(p):
    print("evaluating", flush=True)
    time.sleep(0.05)
    return p["x"] ** 2
study = neurobo.minimize(f, {"x": (-5.0, 5.0)}, 10_000, storage=sys.argv[1], study_name="s",
                         algorithm=neurobo.NeuralGreedy(width=16), seed=0)
print("told", sum(t.state.name == "COMPLETE" for t in study.trials))
print("running", sum(t.state.name == "RUNNING" for t in study.trials))
"""


def test_a_real_interrupt_signal_ends_a_stored_run_cleanly(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    command = [sys.executable, "-c", PROGRAM, storage]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == "evaluating\n"
        threading.Timer(0.5, os.kill, (process.pid, signal.SIGINT)).start()
        rest = process.stdout.read().replace("evaluating\n", "").splitlines()
    assert process.returncode == 0
    told = int(rest[0].removeprefix("told "))
    assert told >= 2
    assert rest[1] == "running 0"
    stored = optuna.load_study(study_name="s", storage=storage).trials
    assert sum(t.state == TrialState.COMPLETE for t in stored) == told


def test_ctrl_c_that_was_lost_ends_the_run() -> None:
    """JAX has a function called in garbage collections, where Python ignores what is raised."""

    def objective(p: dict[str, Any]) -> float:
        if len(done) == 2:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        done.append(p)
        return _bowl(p)

    done: list[Any] = []
    before = signal.getsignal(signal.SIGINT)
    with pytest.warns(NeuroboWarning, match="interrupted after 3 of 12 trials"):
        study = _minimize(objective)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 3
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_waits_for_the_end_of_imports() -> None:
    program = """
import signal, sys, neurobo

class PressesCtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "neurobo.integrations.optuna.sampler":
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, PressesCtrlC())
try:
    neurobo.minimize
except KeyboardInterrupt:
    print("interrupted", "neurobo.running.minimisation" in sys.modules)
    print(callable(neurobo.minimize), signal.getsignal(signal.SIGINT).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["interrupted", "True", "True", "default_int_handler"]


def test_an_exhausted_space_ends_the_run_with_a_clear_word() -> None:
    space = {"n": neurobo.Int(1, 3), "c": neurobo.Categorical(["a", "b"]), "f": neurobo.Int(7, 7)}
    with pytest.warns(NeuroboWarning, match="space exhausted: all 6 points are evaluated"):
        study = _minimize(lambda p: float(p["n"]), space, 50)
    assert len({tuple(t.params.values()) for t in study.trials}) == len(study.trials) == 6


def test_the_paper_s_start_uses_the_budget() -> None:
    study = _minimize(n_trials=20, n_startup_trials="paper", start="lhs")
    assert len(study.trials) == 20


def test_progress_is_shown_and_can_be_silenced(capsys: pytest.CaptureFixture[str]) -> None:
    _minimize(n_trials=3, progress=True)
    shown = capsys.readouterr().err
    assert "3/3" in shown
    assert "best" in shown
    _minimize(n_trials=3)
    assert "best" not in capsys.readouterr().err


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "in a file"])
def test_optuna_is_silent_and_its_loggers_are_left_alone(
    stored: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"storage": f"sqlite:///{tmp_path}/s.db", "study_name": "s"} if stored else {}
    root = logging.getLogger("optuna")
    caplog.set_level(logging.INFO, "optuna")
    root.addHandler(caplog.handler)
    try:
        for n_trials in (1, 2):  # made, and found again
            _minimize(n_trials=n_trials, **options)
        assert [r.getMessage() for r in caplog.records if r.name.startswith("optuna")] == []
        optuna.create_study()
        assert "A new study created in memory" in caplog.text
    finally:
        root.removeHandler(caplog.handler)


def test_other_threads_log_while_optuna_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    root = logging.getLogger("optuna")
    caplog.set_level(logging.INFO, "optuna")
    root.addHandler(caplog.handler)
    try:
        with silent():
            optuna.create_study(study_name="mine")
            other = threading.Thread(target=optuna.create_study, kwargs={"study_name": "theirs"})
            other.start()
            other.join()
        assert "theirs" in caplog.text
        assert "mine" not in caplog.text
    finally:
        root.removeHandler(caplog.handler)


def test_the_highest_value_can_be_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options: dict[str, Any] = {"storage": f"sqlite:///{tmp_path}/s.db", "study_name": "s"}
    study = _minimize(
        lambda p: -_bowl(p), n_trials=20, direction="maximize", progress=True, **options
    )
    lowest = _minimize(n_trials=20)
    assert [t.params for t in study.trials] == [t.params for t in lowest.trials]
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE
    assert study.best_value == -lowest.best_value
    assert f"best {study.best_value:.6g}" in capsys.readouterr().err
    assert neurobo.recommend(study).params == study.best_params
    with pytest.raises(InvalidInput, match="'s' has maximize, got 'minimize'; give the new study"):
        _minimize(n_trials=30, **options)


def test_constraints_mean_the_same_when_the_highest_value_is_looked_for() -> None:
    study = _minimize(
        lambda p: (p["x"], {"limit": p["x"] - 2}), direction="maximize", algorithm="ntk-gp"
    )
    assert 1 < study.best_value <= 2
    with pytest.warns(NeuroboWarning, match="none of 5 trials is feasible"):
        _minimize(lambda p: (p["x"], {"limit": 1.0}), n_trials=5, direction="maximize")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trials": 0}, "n_trials must be a whole number of at least 1, got 0"),
        ({"n_trials": "ten"}, "got 'ten'"),
        ({"timeout": -1}, "timeout must be a finite number above 0, got -1"),
        ({"objective": 5}, "objective must be callable, got int"),
        ({"storage": "sqlite:///x.db"}, "must have a name, got study_name=None"),
        ({"algorithm": "nope"}, "got 'nope'"),
        ({"space": {"x": (1, 0)}}, "got low=1.0, high=0.0"),
        ({"seed": 1.5}, "got 1.5"),
        ({"n_startup_trials": "many"}, "got 'many'"),
        ({"start": "grid"}, "got 'grid'"),
        ({"direction": "max"}, "direction must be one of ['minimize', 'maximize'], got 'max'"),
        ({"algorithm": neurobo.NTKGP}, "got the class NTKGP; write NTKGP()"),
        ({"catch": "ValueError"}, "catch must be exception classes, got 'ValueError'"),
        ({"catch": (ValueError, 5)}, "catch must be exception classes, got 5"),
        ({"max_failures": 0}, "max_failures must be a whole number of at least 1, got 0"),
        ({"max_failures": "never"}, "got 'never'"),
        ({"storage": 5}, "storage must be a URL such as 'sqlite:///study.db'"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        _minimize(**options)
    assert message in str(error.value)


def test_an_objective_gets_the_active_parameters_only() -> None:
    space: Any = {
        "leaves": neurobo.Conditional(neurobo.Int(1, 9), when={"kind": ["tree"]}),
        "kind": neurobo.Categorical(["tree", "net"]),
        "rate": neurobo.Conditional((0.0, 1.0), when={"kind": ["net"]}),
    }
    seen: list[dict[str, Any]] = []

    def objective(p: dict[str, Any]) -> float:
        seen.append(p)
        return float(p["leaves"]) if p["kind"] == "tree" else 2 * p["rate"]

    initial = [{"kind": "net", "rate": 0.5}, {"kind": "tree", "leaves": 4, "rate": 0.5}]
    study = neurobo.minimize(
        objective, space, 9, seed=0, algorithm="ntk-gp", initial=initial, progress=False
    )
    assert seen[:2] == [initial[0], {"leaves": 4, "kind": "tree"}]
    assert all(p.keys() == {"kind", "leaves" if p["kind"] == "tree" else "rate"} for p in seen)
    assert [t.params for t in study.trials] == seen
    assert study.best_value < 0.5
