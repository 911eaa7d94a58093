from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from neurobo.bench.records import Job, Record, Store, write_line
from neurobo.errors import InvalidInput, NeuroboError, NeuroboWarning

JOB = Job("branin-2", "random", 1, 4, 2)


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    record = Record(
        JOB,
        values=[1.5, math.inf, -2.0],
        violations=[0.0, 1.0, 0.25],
        best={"x": 0.1, "kind": "a\nb"},
        versions={"numpy": "2"},
        optimum=-3.0,
    )
    store = Store(tmp_path)
    store.append(record)
    store.append(Record(JOB, error="broke"))
    first, second = store.read()
    assert write_line(first) == write_line(record)
    assert (second.job, second.error) == (JOB, "broke")


def test_best_so_far_knows_noise_constraints_and_failures() -> None:
    nan = math.nan
    noisy = Record(JOB, values=[1.0, -9.0, 0.5], truths=[2.0, 3.0, 1.0], optimum=0.5)
    np.testing.assert_allclose(noisy.regrets(), [1.5, 1.5, 0.5])
    constrained = Record(JOB, values=[1.0, 5.0, -1.0, 4.0], violations=[0.1, 0.0, 2.0, 0.0])
    np.testing.assert_allclose(constrained.best_so_far(), [nan, 5.0, 5.0, 4.0])
    # Told as feasible, and truly not; and the other way round.
    unsure = Record(
        JOB, values=[1.0, 2.0], violations=[0.0, 0.3], true_violations=[0.2, 0.0], optimum=0.5
    )
    np.testing.assert_allclose(unsure.regrets(), [nan, 1.5])
    failed = Record(JOB, values=[nan, 2.0, nan])
    np.testing.assert_allclose(failed.best_so_far(), [nan, 2.0, 2.0])


def test_regret_plus_violation_is_of_true_values_and_never_negative() -> None:
    record = Record(
        JOB,
        values=[9.0, 9.0, 9.0, math.nan],
        truths=[3.0, 0.0, 1.5, math.nan],
        violations=[9.0, 0.0, 0.0, 0.0],
        true_violations=[0.0, 2.0, 0.25, 0.0],
        optimum=1.0,
    )
    np.testing.assert_allclose(record.regret_and_violation(), [2.0, 2.0, 0.75, math.nan])
    with pytest.raises(InvalidInput, match="known optimum, got none for 'branin-2'"):
        Record(JOB, values=[1.0]).regret_and_violation()


def test_a_torn_last_line_is_left_out_and_the_next_record_is_whole(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append(Record(JOB, error="first"))
    with store.path.open("a") as file:
        file.write('{"schema": 1, "job": {"prob')  # as a crash leaves it
    store.append(Record(JOB, error="second"))
    with pytest.warns(NeuroboWarning, match="line 2 is torn"):
        assert [r.error for r in store.read()] == ["first", "second"]


def test_a_foreign_file_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for text, cause in [('{"a": 1}', "schema"), ('{"schema": 2}', "schema must be 1, got 2")]:
        store.path.write_text(text + "\n")
        with pytest.raises(NeuroboError, match=r"runs\.jsonl line 1 is no record.*" + cause):
            store.read()


def test_only_one_writer(tmp_path: Path) -> None:
    with (
        Store(tmp_path).locked(),
        pytest.raises(NeuroboError, match="only one"),
        Store(tmp_path).locked(),
    ):
        pass
    with Store(tmp_path).locked():
        pass


def test_cumulative_regret_sums_the_regrets_of_all_evaluations() -> None:
    record = Record(JOB, values=[3.0, float("nan"), 1.0, 2.0], optimum=0.5)
    np.testing.assert_allclose(record.cumulative_regrets(), [2.5, 2.5, 3.0, 4.5])
    noisy = Record(JOB, values=[1.0, -9.0], truths=[2.0, 3.0], optimum=0.5)
    np.testing.assert_allclose(noisy.cumulative_regrets(), [1.5, 4.0])
    # Lower than feasible values counts as 0, as in Neural-CBO's R_T^+; its violation is added.
    broken = Record(JOB, values=[0.0, 1.5], violations=[0.25, 0.0], optimum=0.5)
    np.testing.assert_allclose(broken.cumulative_regrets(), [0.25, 1.25])
    with pytest.raises(InvalidInput, match="known optimum"):
        Record(JOB, values=[1.0]).cumulative_regrets()
