"""The page on constrained designs and many wells: benchmarks/designs.py."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from benchmarks.test_finals import BENCHMARKS

from neurobo.bench import suites

HEADER = "problem,method,seed,budget,n_start,reached,cpu,source,steps\n"


@pytest.fixture
def designs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("finals", "scoreboard", "measured", "designs"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import designs as module
    import finals

    monkeypatch.setattr(finals, "KEPT", tmp_path)
    return module


def keep(designs: ModuleType, suite: str, reached: dict[str, float]) -> None:
    rng, lines = np.random.default_rng(0), [HEADER]
    for problem, budget in suites.DESIGN_BUDGETS.items():
        for seed in range(1000, 1005):
            for name, value in reached.items():
                end = value * rng.uniform(0.9, 1.1)
                lines.append(f"{problem},{name},{seed},{budget},5,{end},1,,1:9.0 20:{end}\n")
    designs.finals.path(suite).write_text("".join(lines))


def test_who_is_better_stands_on_the_page(designs: ModuleType) -> None:
    keep(designs, "designs", {"auto": 0.1, "scbo": 0.2, "optuna-tpe": 3.0})
    text = designs.page()
    assert "| `scbo` | 60 / 0 of 60 |" in text
    assert "On no single problem is a method significantly better than `auto`." in text
    assert "## Many wells" not in text
    assert "Not run yet: `rugged`." in text
    keep(designs, "designs", {"auto": 0.1, "scbo": 0.01})
    (line,) = [x for x in designs.page().splitlines() if x.startswith("Significantly better")]
    assert "`scbo` on `constrained-branin-2`" in line


def test_neural_cbo_waits_until_the_others_can_be_compared(designs: ModuleType) -> None:
    first, last = designs.order("designs")
    assert {"auto", "scbo", "botorch-logei"} <= set(first)
    assert last == ("neural-cbo",)
    assert designs.order("rugged")[1] == ()
