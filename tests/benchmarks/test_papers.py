"""The papers' experiments as rows, and the page that is made of them: benchmarks/papers.py."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from neurobo.bench.peers import method
from neurobo.bench.problems import problem
from neurobo.bench.tables import bbob_dim

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def papers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("papers", "papers_experiments", "finals"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import finals
    import papers as module

    monkeypatch.setattr(finals, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(finals, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(module, "PICTURES", tmp_path)
    return module


def test_every_row_names_what_exists(papers: ModuleType) -> None:
    for experiment in papers.EXPERIMENTS.values():
        assert experiment.paper in papers.PAPERS
        assert set(experiment.theirs) <= set(experiment.budgets), experiment.name
        assert ":paper" in experiment.preset or "gamma=grid" in experiment.preset
        for name in experiment.methods:
            method(name)
        for name in experiment.budgets:
            if bbob_dim(name) is None:
                problem(name)
        if experiment.name != "neural-bo-coco":  # needs COCO
            assert len(experiment.jobs(1)) >= 2 * len(experiment.budgets)


def test_seeds_budgets_and_starts_are_the_experiment_s(papers: ModuleType) -> None:
    lunar = papers.EXPERIMENTS["sto-lunar"]
    jobs = lunar.jobs()
    mine = [j for j in jobs if j.method == "sto-bnts" and j.problem == "lunar-lander-12"]
    assert (len(mine), {j.n_start for j in mine}, {j.budget for j in mine}) == (20, {20}, {120})
    peers = [j for j in jobs if j.method == "botorch-ts"]
    assert len(peers) == 5  # it cannot handle batches
    small = lunar.jobs(1, 12)
    assert {j.budget for j in small} == {12}
    assert {j.n_start for j in small} == {11}
    greedy = papers.EXPERIMENTS["greedy-noiseless"].jobs(1)
    assert {j.n_start for j in greedy if j.problem == "branin-2"} == {3}  # 7.5 % of 50


def test_what_was_not_run_says_so(papers: ModuleType) -> None:
    page = papers.page()
    for paper in papers.PAPERS:
        assert f"## {paper}\n" in page
    assert page.count("**Verdict.** Not run yet") == len(papers.EXPERIMENTS)
    assert "| lunar-lander-12+batch=4 | 220 | -263 ± 4 | not run yet |" in page
    assert "–" in page  # methods without batches


def test_kept_runs_are_compared(papers: ModuleType) -> None:
    """Ten seeds in which the default is far better than the preset, and equal to a peer."""
    experiment = papers.EXPERIMENTS["cbo"]
    name, budget = next(iter(experiment.budgets.items()))
    lines = ["problem,method,seed,budget,n_start,reached,mean_regret,cpu,source,steps"]
    for seed in range(1000, 1010):
        for label, level in (
            (experiment.ours, 1.0), (experiment.preset, 100.0), ("scbo", 1.0 + 0.1 * (seed % 2)),
        ):  # fmt: skip
            reached = level * (1 + 0.01 * (seed % 7))
            text = f'"{label}"' if "," in label else label
            lines.append(f"{name},{text},{seed},{budget},5,{reached},3.5,1,,1:900 50:{reached}")
    path = papers.finals.path(papers.kept(experiment))
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines) + "\n")
    results = papers.finals.results(papers.kept(experiment))
    verdicts = papers.comparisons(experiment, results)
    assert verdicts[name, experiment.preset] == 1
    assert verdicts[name, "scbo"] >= 0
    text = papers.section(experiment)
    row = next(line for line in text.splitlines() if line.startswith(f"| {name} "))
    assert "▲ 103 ± " in row
    assert "**1.03 ± " in row
    assert "better in 1 of 1, worse in 0. 5 of 6 not run yet." in text
    assert "on 1 of 1 problems" in text
    assert (papers.PICTURES / "papers-cbo.svg").exists()
    # Runs that are kept are not to do again.
    assert {j.method for j in papers._kept_jobs(experiment)} == {
        experiment.ours, experiment.preset, "scbo",
    }  # fmt: skip
