"""Points that are evaluated first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds

import neurobo
from neurobo.errors import InvalidInput

FAST = neurobo.NeuralGreedy(width=32, gamma=2.0)
SPACE = {"x": (-5.0, 5.0), "n": neurobo.Int(1, 8), "c": neurobo.Categorical(["a", "b"])}
FIRST = [{"x": 1, "n": 3, "c": "b"}, {"c": "a", "x": np.float32(0.5), "n": np.int64(8)}]
PLAIN = [{"x": 1.0, "n": 3, "c": "b"}, {"x": 0.5, "n": 8, "c": "a"}]


def _value(p: dict[str, Any]) -> float:
    return float((p["x"] - 1) ** 2 + p["n"] + (p["c"] == "a"))


def _minimize(
    n_trials: int, initial: Any, space: Any = SPACE, objective: Any = _value, **options: Any
) -> Any:
    return neurobo.minimize(
        objective, space, n_trials, initial=initial, algorithm=FAST, seed=0, progress=False,
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"batch": 3}, {"workers": 2, "threads": True}])
def test_they_come_first_and_once(options: dict[str, Any]) -> None:
    study = _minimize(12, FIRST, **options)
    assert [t.params for t in study.trials[:2]] == PLAIN
    assert len(study.trials) == 12
    assert len({tuple(t.params.items()) for t in study.trials}) == 12


def test_arrays_for_bounds_and_candidates_for_pools() -> None:
    bounds = Bounds([0.0, 0.0], [1.0, 2.0])
    study = _minimize(4, np.array([[0.5, 1.5], [0.0, 2.0]]), bounds, lambda x: float(x.sum()))
    assert [list(t.params.values()) for t in study.trials[:2]] == [[0.5, 1.5], [0.0, 2.0]]
    pool = neurobo.Pool(np.arange(12.0).reshape(6, 2), ids=list("abcdef"))
    seen: list[str] = []

    def score(name: str) -> float:
        seen.append(name)
        return float(ord(name))

    _minimize(4, ["e", "b"], pool, score)
    assert seen[:2] == ["e", "b"]
    assert len(set(seen)) == 4


def test_a_stored_study_does_not_evaluate_them_again(tmp_path: Path) -> None:
    calls: list[Any] = []

    def counted(p: dict[str, Any]) -> float:
        if len(calls) == 1 and not interrupted:
            interrupted.append(p)
            raise KeyboardInterrupt
        calls.append(p)
        return _value(p)

    interrupted: list[Any] = []
    options: dict[str, Any] = {
        "storage": f"sqlite:///{tmp_path}/s.db", "study_name": "s", "objective": counted,
    }  # fmt: skip
    with pytest.warns(neurobo.errors.NeuroboWarning, match="interrupted after 1 of 4"):
        _minimize(4, FIRST, **options)
    _minimize(4, FIRST, **options)
    assert calls[:2] == PLAIN
    more = [*FIRST, {"x": -3.0, "n": 1, "c": "b"}]
    study = _minimize(6, more, **options)
    assert len(calls) == 6
    assert calls[4] == more[2]
    assert all(t.state.is_finished() for t in study.trials)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ([{"x": 1.0, "n": 3}], r"initial\[0\]: a point must give every parameter"),
        ([*FIRST, {"x": 9.0, "n": 3, "c": "a"}], r"initial\[2\]: the value of 'x' must lie in"),
        ([{**FIRST[0], "z": 1}], r"must have the parameters \['c', 'n', 'x'\], got \['z'\]"),
        ([FIRST[0], PLAIN[0]], "must be different from each other"),
        (FIRST[0], "initial must be a list of points, got"),
        ("abc", "initial must be a list of points, got 'abc'"),
        (5, "initial must be a list of points, got 5"),
        ([{**FIRST[0], "n": k} for k in (1, 2, 3, 4)], "n_trials must be at least the number"),
    ],
)
def test_bad_points_are_refused_before_anything_runs(initial: Any, message: str) -> None:
    calls: list[Any] = []
    with pytest.raises(InvalidInput, match=message):
        _minimize(3, initial, objective=calls.append)
    assert not calls
