"""The papers' experiments as rows, and the page that is made of them: benchmarks/papers.py."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from neurobo.bench.peers import method
from neurobo.bench.problems import problem
from neurobo.bench.tables import bbob_dim
from neurobo.errors import InvalidInput, MissingPackage

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def papers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("papers", "papers_page", "papers_experiments", "finals"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import finals
    import papers as module
    import papers_page

    monkeypatch.setattr(finals, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(finals, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(papers_page, "PICTURES", tmp_path)
    return module


@pytest.fixture
def page(papers: ModuleType) -> ModuleType:
    module: ModuleType = papers.papers_page
    return module


def test_every_row_names_what_exists(papers: ModuleType) -> None:
    for experiment in papers.EXPERIMENTS.values():
        assert experiment.paper in papers.papers_page.PAPERS
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


def test_a_part_of_an_experiment_is_chosen_seed_by_seed(papers: ModuleType) -> None:
    chosen = [papers.EXPERIMENTS[name] for name in ("greedy-noiseless", "cbo")]
    jobs = papers.chosen_jobs(
        chosen, problems=["branin*", "simionescu*"], methods=["neural-greedy", "neural-cbo"],
        seeds=3,
    )  # fmt: skip
    names = ["branin-2", "simionescu-2+spread=0.05"]
    assert [(job.problem, job.seed) for _, job in jobs] == [
        (name, seed) for seed in (1000, 1001, 1002) for name in names
    ]
    with pytest.raises(InvalidInput, match=r"--method must be one of .*did you mean"):
        papers.chosen_jobs(chosen, methods=["neural-greed"])


def test_what_was_not_run_is_one_line(papers: ModuleType, page: ModuleType) -> None:
    text = page.page()
    for paper in papers.papers_page.PAPERS:
        assert f"## {paper}\n" in text
    for name in papers.EXPERIMENTS:
        assert f"Not run yet: `python benchmarks/papers.py --only {name}`." in text
    assert "|" not in text  # no empty tables
    assert "**Verdict" not in text


Levels = dict[str, dict[str, float]]


@pytest.fixture
def keep(papers: ModuleType, page: ModuleType) -> Callable[..., ModuleType]:
    """Keeps runs that reached a level, up to some per cent."""

    def write(experiment: Any, levels: Levels, seeds: int = 5) -> ModuleType:
        lines = [",".join(papers.finals.COLUMNS)]
        for name, methods in levels.items():
            for label, level in methods.items():
                rng = np.random.default_rng(sum(map(ord, label)))
                for seed in range(1000, 1000 + seeds):
                    reached = level * (1 + 0.05 * rng.normal())
                    text = f'"{label}"' if "," in label else label
                    lines.append(
                        f"{name},{text},{seed},{experiment.budgets[name]},5,{reached},3.5,1,,"
                        f"1:900 50:{reached}"
                    )
        path = papers.finals.path(page.kept(experiment))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
        return page

    return write


def row_of(text: str, name: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"| {name} "))


def test_kept_runs_are_compared(papers: ModuleType, keep: Callable[..., ModuleType]) -> None:
    """Ten seeds in which the default is far better than the preset, and equal to a peer."""
    experiment = papers.EXPERIMENTS["cbo"]
    name = next(iter(experiment.budgets))
    levels = {name: {experiment.ours: 1.0, experiment.preset: 100.0, "scbo": 1.0}}
    page = keep(experiment, levels, 10)
    verdicts = page.comparisons(page.Runs.of(experiment))
    assert verdicts == {(name, experiment.preset): 1, (name, "scbo"): 0}
    text = page.section(experiment)
    row = row_of(text, name)
    assert re.search(
        r"\| ▲ \d+(\.\d+)? ± [\d.]+ \(10\) \| \*\*[\d.]+ ± [\d.]+ \(10\)\*\* \| \*\*· ", row
    )
    assert "| problem | T | theirs | paper's settings | default | scbo |" in text
    assert "better in 1 of 1, worse in 0." in text
    assert "Not decided yet, so far on 1 of 7 problems:" in text
    assert "Not run yet: `simionescu-2+spread=0.05`, " in text
    assert "`config-opt`" in text
    assert (page.PICTURES / "papers-cbo.png").exists()
    # Runs that are kept are not to do again.
    assert {j.method for j in papers.kept_jobs(experiment)} == set(levels[name])


@pytest.mark.parametrize(
    ("peers", "seeds", "word"),
    [
        ({"config-opt": 5.0, "scbo": 1.0}, 5, "Better"),
        ({"config-opt": 5.0, "scbo": 1.0}, 4, "Not decided yet"),
        ({"config-opt": 0.1, "scbo": 1.0}, 5, "Refuted"),
        ({"config-opt": 0.1, "scbo": 5.0}, 5, "Not decided yet"),
        ({"config-opt": 1.0, "scbo": 1.0}, 5, "Met"),
        ({}, 10, "Not decided yet"),
    ],
)
def test_a_verdict_follows_from_the_comparisons(
    papers: ModuleType,
    keep: Callable[..., ModuleType],
    peers: dict[str, float],
    seeds: int,
    word: str,
) -> None:
    experiment = papers.EXPERIMENTS["cbo"]
    levels = {name: {experiment.ours: 1.0, **peers} for name in experiment.budgets}
    text = keep(experiment, levels, seeds).section(experiment)
    assert f"**Verdict.** {word}:" in text


def test_the_papers_own_figures_are_compared(
    papers: ModuleType, keep: Callable[..., ModuleType]
) -> None:
    lunar = papers.EXPERIMENTS["sto-lunar"]
    alone, batches = lunar.budgets
    page = keep(lunar, {alone: {"sto-bnts": -200.0}, batches: {"sto-bnts": -300.0}})
    text = page.section(lunar)
    assert "at least as good as the paper's own on 1 of 2 problems (at least 5 runs each)" in text
    greedy = papers.EXPERIMENTS["greedy-noiseless"]
    assert greedy.published["rosenbrock-40"] == 143_255
    assert set(greedy.published) == set(greedy.budgets)


def test_the_law_is_judged_on_its_own(papers: ModuleType, keep: Callable[..., ModuleType]) -> None:
    pinn = papers.EXPERIMENTS["pinn"]
    names = list(pinn.budgets)[:2]
    levels = {
        names[0]: {"pinn-bo": 0.001, "pinn-bo:weight=0": 1.0},
        names[1]: {"pinn-bo": 1.0, "pinn-bo:weight=0": 1.0},
    }
    text = keep(pinn, levels).section(pinn)
    assert "The law helps significantly on 1 of 2 problems." in text
    assert "| evaluations to 95 % | default | pinn-bo:weight=0 |" in text


@pytest.mark.peers  # COCO knows the optimum of its functions
@pytest.mark.parametrize("better", ["neural-bo", "smac-forest"])
def test_coco_is_compared_over_functions(papers: ModuleType, page: ModuleType, better: str) -> None:
    """One seed of each of 24 functions, in two of four dimensions."""
    coco = papers.EXPERIMENTS["neural-bo-coco"]
    lines = [",".join(papers.finals.COLUMNS)]
    for name, budget in coco.budgets.items():
        function = int(name.split("-")[1][1:])
        if "-d2-" in name or "-d3-" in name:
            for label in ("neural-bo", "smac-forest"):
                end = 10.0 ** (-(function % 5) - 2 * (label == better))
                lines.append(f"{name},{label},1000,{budget},5,{end},,1,,1:900 20:{end}")
    path = papers.finals.path(page.kept(coco))
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines) + "\n")
    runs = page.Runs.of(coco)
    sign = 1 if better == "neural-bo" else -1
    assert page.comparisons(runs) == {(f"d = {d}", "smac-forest"): sign for d in (2, 3)}
    text = page.section(coco)
    assert (
        f"**Verdict.** {'Better' if sign > 0 else 'Refuted'}, so far on 2 of 4 dimensions" in text
    )
    assert "| d | T | functions | default | smac-forest |" in text
    assert "| 2 | 40 | 24 | " in text


def test_detection_is_a_table_and_a_curve(
    papers: ModuleType, keep: Callable[..., ModuleType]
) -> None:
    sensitive = papers.EXPERIMENTS["neural-bo-sensitive"]
    page = keep(sensitive, {"sensitive-samples-49": {"neural-bo": -9.0, "smac-forest": -8.0}})
    rates = ['"neural-bo",1,0.5', '"neural-bo",2,0.9375', '"smac-forest",1,0.25']
    page.detection_path(sensitive).write_text("\n".join(["method,samples,rate", *rates]) + "\n")
    text = page.section(sensitive)
    assert "| neural-bo | 50% | 94% |" in text
    assert "| smac-forest | 25% |  |" in text
    assert "Its best 2 samples detect 94% (the paper: 8 detect 90%)." in text
    assert (page.PICTURES / "papers-neural-bo-sensitive-detection.png").exists()


def test_an_experiment_whose_package_is_missing_is_left_out(
    papers: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(*_: object) -> list[object]:
        raise MissingPackage("this needs the package 'cocoex'")

    chosen = [papers.EXPERIMENTS[name] for name in ("neural-bo-coco", "cbo")]
    monkeypatch.setattr(
        type(chosen[0]), "jobs", lambda self, *given: none() if "coco" in self.name else []
    )
    assert papers.chosen_jobs(chosen) == []
    assert "neural-bo-coco is left out" in capsys.readouterr().out


def test_the_list_says_what_is_left(
    papers: ModuleType, keep: Callable[..., ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    """Every kept run took a second: as much as each of the others, by evaluations."""
    retrieval = papers.EXPERIMENTS["neural-bo-documents"]
    others = {name: 1.0 for name in retrieval.methods if name != "random"}
    keep(retrieval, {"documents-500": others})
    papers.listing()
    line = next(x for x in capsys.readouterr().out.splitlines() if "neural-bo-documents" in x)
    done = sum(job.method != "random" and job.n_start == 5 for job in retrieval.jobs(5))
    assert f" {done} of {len(retrieval.jobs())} runs, " in " ".join(line.split())
    assert "without random" in line
    rates = papers.seconds_per_evaluation()
    assert rates["neural-bo:paper"] == rates["neural-bo"] == 1 / 200
    assert rates["sto-bnts:paper"] == 2.8
    assert papers._base("neural-cbo:paper,width=200") == "neural-cbo:paper"
    assert papers._base("deep-ensemble:width=256") == "deep-ensemble"


def test_presets_have_fewer_seeds_and_end_where_they_take_too_long(papers: ModuleType) -> None:
    e = papers.EXPERIMENTS["greedy-noiseless"]
    presets = [j for j in e.jobs() if ":paper" in j.method]
    assert {j.method for j in presets} == {"neural-greedy:paper", "neural-greedy-posterior:paper"}
    assert len({j.seed for j in presets}) == 5
    assert max(j.budget for j in presets) == 200
    defaults = [j for j in e.jobs() if j.method == "neural-greedy"]
    assert len({j.seed for j in defaults}) == 10
    assert max(j.budget for j in defaults) == 1000
    without = papers.EXPERIMENTS["greedy-noisy-small"]
    assert not [name for name in without.methods if ":paper" in name]
    assert not [j for j in without.jobs() if ":paper" in j.method]
    lunar = papers.EXPERIMENTS["sto-lunar"].jobs()
    assert len({j.seed for j in lunar if j.method == "sto-bnts:paper"}) == 20
