"""Runs that are kept as a line each: benchmarks/finals.py."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from neurobo.bench import tables
from neurobo.bench.peers import method
from neurobo.bench.problems import problem
from neurobo.bench.records import Job, Store
from neurobo.bench.run_one import run_on

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def finals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "finals", raising=False)
    import finals as module

    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(module, "KEPT", tmp_path / "kept")
    return module


@pytest.mark.parametrize("name", ["branin-2", "constrained-branin-2", "digits-pool"])
def test_what_is_kept_says_what_each_run_reached_and_when(
    finals: ModuleType, tmp_path: Path, name: str
) -> None:
    given = problem(name, 3)
    record = run_on(given, method("random"), Job(name, "random", 3, 15, 5))
    with Store(tmp_path / "results" / "some").locked():
        Store(tmp_path / "results" / "some").append(record)
    finals.update("some")
    finals.update("some")  # nothing is kept twice
    kept = finals.results("some")
    (found,) = kept.records
    measure = record.regrets()
    if given.constraints:
        measure = record.regret_and_violation()
    curve = np.fmin.accumulate(measure)
    np.testing.assert_allclose(found.regrets(), curve, rtol=1e-3, atol=1e-12)
    assert tables.final(found) == pytest.approx(curve[-1], rel=1e-3)
    assert (found.optimum is None) == (given.optimum is None)


def test_runs_whose_steps_nobody_kept_are_known_by_their_end(finals: ModuleType) -> None:
    finals.KEPT.mkdir()
    header = "problem,method,seed,budget,n_start,reached,cpu,source\n"
    finals.path("old").write_text(header + "branin-2,random,1,40,5,0.25,1.5,\n")
    (found,) = finals.results("old").records
    assert tables.final(found) == 0.25
