"""The page on conditional spaces: benchmarks/conditional.py."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from benchmarks.test_finals import BENCHMARKS

from neurobo.bench import harness
from neurobo.bench.problems import yahpo
from neurobo.bench.records import Job, Record

HEADER = "problem,method,seed,budget,n_start,reached,cpu,source,steps\n"
TASKS = [f"yahpo-lcbench-{task}" for task in yahpo.SCENARIOS["lcbench"].report]


@pytest.fixture
def conditional(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.delenv(yahpo.DATA, raising=False)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("finals", "scoreboard", "measured", "conditional"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import conditional as module
    import finals

    monkeypatch.setattr(finals, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(finals, "RESULTS", tmp_path / "results")
    finals.KEPT.mkdir()
    return module


def keep(conditional: ModuleType, half: float, end: float) -> None:
    """`auto` reaches `half` after 50 evaluations and `end` after 100, TPE 0.05, random 0.1."""
    rng, lines = np.random.default_rng(0), [HEADER]
    for seed in range(1000, 1005):
        for problem in TASKS:
            for name, first, last in (
                ("auto", half, end), (conditional.TPE, 0.05, 0.05), ("random", 0.1, 0.1),
            ):  # fmt: skip
                a, b = (x + rng.uniform(0, 0.01) for x in (first, last))
                about = f'{problem},"{name}",{seed},100,9'
                lines.append(f"{about},{min(a, b)},1,,1:0.9 40:{a} 90:{min(a, b)}\n")
    conditional.finals.path("yahpo").write_text("".join(lines))


def test_the_first_half_of_a_run_is_the_result_after_50(conditional: ModuleType) -> None:
    """Behind TPE after 50 evaluations, ahead after 100; no data of YAHPO Gym are needed."""
    keep(conditional, half=0.08, end=0.02)
    first, second = re.split("### After 100", conditional.page())
    for text, verdict in ((first, "significantly worse"), (second, "significantly better")):
        (row,) = [line for line in text.splitlines() if line.startswith("| `optuna-tpe")]
        assert ("| 0 / 30 of 30 | -0.03" in row) == verdict.endswith("worse")
        assert f"| {verdict}, p &lt; 0.001 |" in row
    assert f"`{conditional.TPE}` on `{TASKS[0]}`" in first
    assert "On no single problem is a method significantly better" in second
    assert "Over the 6 problems" in second
    assert "## Conditional problems" not in first


def test_what_is_done_is_comparable_at_any_time(conditional: ModuleType) -> None:
    jobs = [job for _, job in conditional.measured.ordered(["conditional"], conditional.ORDER, 2)]
    assert [job.budget for job in jobs] == [yahpo.BUDGET] * len(jobs)
    groups = [next(g for g in conditional.ORDER if job.method in g) for job in jobs]
    assert [g for i, g in enumerate(groups) if not i or groups[i - 1] != g] == list(
        conditional.ORDER
    )
    first = [job.seed for job, group in zip(jobs, groups, strict=True) if "auto" in group]
    assert first == [1000] * 12 + [1001] * 12


def test_only_what_is_neither_kept_nor_done_is_run(
    conditional: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept runs of our own count if their source makes the same suggestions."""
    jobs = [job for _, job in conditional.measured.ordered(["conditional"], conditional.ORDER, 1)]
    lines = [HEADER]
    for job, state in zip(jobs[:3], ("another", "", ""), strict=True):  # auto, TPE, random
        about = f'{job.problem},"{job.method}",{job.seed},{job.budget},{job.n_start}'
        lines.append(f"{about},0.5,1,{state},1:0.5\n")
    conditional.finals.path("conditional").write_text("".join(lines))
    made: list[Job] = []

    def noted(todo: list[Job], store: object, **rest: object) -> None:
        for job in todo:
            made.append(job)
            store.append(Record(job, values=[1.0]))  # type: ignore[attr-defined]

    monkeypatch.setattr(harness, "run_all", noted)
    conditional.measured.run(["conditional"], conditional.ORDER, 1)
    assert made == [jobs[0], *jobs[3:]]
    conditional.measured.run(["conditional"], conditional.ORDER, 1)
    assert len(made) == len(jobs) - 2
