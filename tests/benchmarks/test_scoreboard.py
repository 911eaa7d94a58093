"""The page on `auto`: benchmarks/scoreboard.py."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from benchmarks.test_finals import BENCHMARKS

from neurobo.bench import tables
from neurobo.bench.records import Job, Record
from neurobo.bench.tables import Results

HEADER = "problem,method,seed,budget,n_start,reached,cpu,source,steps\n"
SMOOTH = ("branin-2+shift", "hartmann-6+shift", "styblinski-tang-10+shift")


@pytest.fixture
def scoreboard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("finals", "scoreboard"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import finals
    import scoreboard as module

    monkeypatch.setattr(finals, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(module, "PICTURES", tmp_path / "pictures")
    finals.KEPT.mkdir()
    return module


def field(factor: float, problems: tuple[str, ...] = SMOOTH) -> Results:
    """`auto` ends at `factor` times the regret of a peer, up to chance."""
    rng = np.random.default_rng(0)
    records = []
    for problem in problems:
        for seed in range(1000, 1005):
            for name, size in (("auto", factor), ("optuna-gp", 1.0), ("random", 50.0)):
                end = size * float(np.exp(rng.normal(0, 0.2)))
                job = Job(problem, name, seed, 4, 1)
                records.append(Record(job, [100.0, 60.0, 55.0, end], optimum=0.0))
    return tables.gather(records)


@pytest.mark.parametrize(
    ("factor", "word"),
    [
        (0.01, "significantly better"),
        (1.0, "not significantly worse"),
        (20.0, "significantly worse"),
    ],
)
def test_losses_are_called_losses(scoreboard: ModuleType, factor: float, word: str) -> None:
    results = field(factor)
    text = scoreboard.against_best(results, scoreboard.field_groups(results))
    (row,) = [line for line in text.splitlines() if line.startswith("| continuous, up to 10")]
    assert f"| {word}, p" in row
    assert "`optuna-gp`" in row
    assert "| 15 |" in row


def test_members_are_compared_by_the_best_of_them(scoreboard: ModuleType) -> None:
    lines = [HEADER]
    for seed in range(1000, 1005):
        for problem, end in (("branin-2+shift", 3.0), ("levy-15+shift", 1.0)):
            lines.append(f"{problem},auto,{seed},40,5,{end},1,,1:9 30:{end}\n")
    scoreboard.finals.path("peers").write_text("".join(lines))
    lines = [HEADER]
    for seed in range(1000, 1005):
        for problem in ("branin-2+shift", "levy-15+shift"):
            for member, end in (("wide", 1.0), ("wide-local", 4.0)):
                about = f"{problem},auto:members={member},{seed},40,5"
                lines.append(f"{about},{end},1,,1:9 30:{end}\n")
    scoreboard.finals.path("auto-members").write_text("".join(lines))
    *_, words = scoreboard.members_parts(scoreboard.kept("auto-members"))
    assert "on 50% of 2 problems" in words
    assert "ratio is 3, on branin-2+shift" in words


def test_the_area_tells_who_solves_more_and_sooner(scoreboard: ModuleType) -> None:
    records = []
    for i in range(1, 13):
        for name, curve in (
            ("auto", [50.0, 1e-3, 1e-4]),
            ("optuna-gp", [50.0, 1e-3, 1e-4] if i % 2 else [50.0, 2e-3, 1e-4]),
            ("random", [50.0, 50.0, 1e-4]),  # the same in the end, but later
        ):
            records.append(Record(Job(f"bbob-f{i}-d2-i6", name, 1, 3, 1), curve, optimum=0.0))
    results = tables.gather(records)
    parts = scoreboard.ecdf.solved(results)
    (row,) = scoreboard.coco_table(results, parts).splitlines()[2:]
    words = [cell.strip() for cell in row.strip("|").split("|")]
    assert words[0] == "d = 2, 12 functions, 12"
    areas, ends = zip(*re.findall(r"([\d.]+) \(([\d.]+)\)", row), strict=True)
    assert float(areas[0]) > float(areas[1]) > float(areas[2])
    assert len(set(ends)) == 1
    assert words[1].startswith("**")
    assert not words[3].startswith("≈")


def test_what_a_part_is_worth(scoreboard: ModuleType) -> None:
    rng = np.random.default_rng(1)
    records = []
    for i in range(1, 13):
        for name, size in (("auto", 1.0), ("auto:warp=false", 8.0), ("auto:middle=false", 1.0)):
            end = size * float(np.exp(rng.normal(0, 0.3)))
            job = Job(f"bbob-f{i}-d5-i1", name, 1, 3, 1)
            records.append(Record(job, [100.0, 50.0, end], optimum=0.0))
    rows = scoreboard.ablation_table(tables.gather(records)).splitlines()
    assert any(re.match(r"\| warp=false \| \+0\.\d+ \| 12 / 0 of 12 \| pays", row) for row in rows)
    assert any(row.startswith("| middle=false") and "| open, p" in row for row in rows)


def test_the_page_has_what_was_kept_and_nothing_else(scoreboard: ModuleType) -> None:
    lines = [HEADER]
    for i, problem in enumerate(SMOOTH):
        for seed in range(1000, 1003):
            for name, end in (("auto", 1.0 + i), ("random", 5.0)):
                lines.append(f"{problem},{name},{seed},40,5,{end},1,,1:9 30:{end}\n")
    scoreboard.finals.path("peers").write_text("".join(lines))
    page = scoreboard.page()
    assert "## The field" in page
    assert "## COCO" not in page
    assert (scoreboard.PICTURES / "scoreboard-field.svg").exists()
    assert "`auto` suggests faster than `botorch-logei`" in page
