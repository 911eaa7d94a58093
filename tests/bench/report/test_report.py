"""Tables and reports of simulated records, read back, drawn in a browser, and with bad input."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bench.simulated import simulated_experiment, simulated_record
from browser import Window, on_laptop_and_phone
from scipy import stats as scipy_stats

from neurobo.bench import report, tables
from neurobo.bench.records import Job, Record, write_line
from neurobo.bench.report import contests, ecdf
from neurobo.errors import MissingPackage, NeuroboError

BBOB = [f"bbob-f{f}-d{d}-i{i}" for d in (2, 3) for f in (1, 8) for i in (1, 2)]


def _experiment() -> list[Record]:
    """Every kind of thing a report must show."""
    return [
        *simulated_experiment(["branin-2+shift", "hartmann-6+shift"]),
        *simulated_experiment(["ackley-20"], centred=True),
        *simulated_experiment(["forest-diabetes-6"], ("auto", "random"), optimum=None),
        *simulated_experiment(["constrained-ackley-5"], ("auto", "random"), constrained=True),
        *simulated_experiment(BBOB, ("auto", "random", "cma"), seeds=1, budget=60),
        Record(Job("ackley-20", "optuna-tpe", 99, 40, 5), error="RuntimeError: singular | <b>"),
    ]


def _write(folder: Path, records: list[Record]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "runs.jsonl").write_text("".join(write_line(r) + "\n" for r in records))
    return folder


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = _write(tmp_path_factory.mktemp("simulated"), _experiment())
    paths = report.write(folder, notes=["Made by a test."])
    assert all(path.stat().st_size > 0 for path in paths)
    return folder


def _rows(text: str, heading: str) -> dict[str, list[str]]:
    """The first table after a heading, by the first cell without its marks."""
    lines = text.split(f"{heading}\n", 1)[1].split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("|"))
    found = {}
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        name, *cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        found[name.replace("≈", "").replace("*", "").strip()] = cells
    return found


def test_violation_is_rated_with_the_regret(written: Path) -> None:
    rows = _rows((written / "report.md").read_text(), "## Regret plus violation")
    assert list(rows) == ["constrained-ackley-5"]
    methods = ("auto", "random")
    for method, shown in zip(methods, rows["constrained-ackley-5"], strict=True):
        runs = [
            simulated_record("constrained-ackley-5", method, seed, constrained=True)
            for seed in range(5)
        ]
        rated = [
            min(max(v - 0.4, 0) + c for v, c in zip(r.values, r.violations or (), strict=True))
            for r in runs
        ]
        numbers = [float(x) for x in shown.strip("*≈ ").split(" ± ")]
        logs = np.log10(rated)
        assert numbers == pytest.approx([np.mean(logs), scipy_stats.sem(logs)], rel=0.06)


def test_runs_without_a_feasible_point_differ_by_their_violation() -> None:
    def record(method: str, seed: int, broken: float) -> Record:
        plain = simulated_record(method=method, seed=seed, constrained=True)
        return replace(plain, values=[0.0] * 40, violations=[broken + 0.01 * seed] * 40)

    runs = [record(m, s, b) for m, b in (("auto", 0.1), ("random", 3.0)) for s in range(6)]
    results = tables.gather(runs)
    (by_regret,), (rated,) = (contests.duels(r) for r in (results, tables.with_violation(results)))
    assert (by_regret.verdict, rated.verdict) == (0, 1)
    assert not tables.with_violation(tables.gather([simulated_record()])).runs
    assert not tables.with_violation(
        tables.gather([simulated_record(constrained=True, optimum=None)])
    ).runs


# Markdown -------------------------------------------------------------------------------------


def test_cumulative_regret_is_shown_where_regrets_are_known(written: Path) -> None:
    text = (written / "report.md").read_text()
    section = text.partition("## Cumulative regret")[2].partition("\n## ")[0]
    assert "cumulative.svg" in section
    checked = 0
    for group, methods in tables.with_known_regret(tables.read(written)).runs.items():
        if tables.bbob_dim(group.problem) is not None:
            continue
        row = next(line for line in section.splitlines() if line.startswith(f"| {group.problem}"))
        for records in (list(runs.values()) for runs in methods.values()):
            if records[0].violations is None:
                each = [np.mean(r.true_values - (r.optimum or 0.0)) for r in records]
                assert f"{np.mean(each):.3g}" in row
                checked += 1
    assert checked


def test_table_of_a_problem_has_the_right_numbers(written: Path) -> None:
    rows = _rows((written / "report.md").read_text(), "### branin-2+shift")
    assert len(rows) == 5
    best = min(rows, key=lambda m: float(rows[m][1].strip("*")))
    for method, (mean, median, n, _) in rows.items():
        runs = [simulated_record("branin-2+shift", method, seed) for seed in range(5)]
        final = [min(r.values) - 0.4 for r in runs]
        shown = [float(x) for x in mean.strip("*").split(" ± ")]
        assert shown == pytest.approx([np.mean(final), scipy_stats.sem(final)], rel=0.06)
        assert float(median.strip("*")) == pytest.approx(np.median(final), rel=0.006)
        assert n == "5"
        assert median.startswith("**") == (method == best)


def test_report_says_what_was_run(written: Path) -> None:
    text = (written / "report.md").read_text()
    assert "Made by a test." in text
    assert "5 seeds (0 to 4)" in text
    assert "`ackley-20` 40 of 200" in text  # scaled down
    assert "Optimum at the centre of the box, which flatters many methods: `ackley-20`" in text
    assert "processor simulated" in text
    assert "agree between all methods in 33 of 33" in text


def test_failed_runs_are_left_out_and_listed(written: Path) -> None:
    text = (written / "report.md").read_text()
    assert "1 run broke off and is left out." in text
    row = _rows(text, "## Runs that broke off")["ackley-20"]
    assert row == ["optuna-tpe", "99", "40", r"RuntimeError: singular \| &lt;b>"]
    assert _rows(text, "### ackley-20 ◎")["optuna-tpe"][2] == "5"


def test_pictures_exist_and_are_used(written: Path) -> None:
    text = (written / "report.md").read_text()
    used = set(re.findall(r"\]\((figures/[^)]+)\)", text))
    assert used == {f"figures/{p.name}" for p in (written / "figures").iterdir()}
    assert {"figures/convergence.svg", "figures/ranks.svg", "figures/ecdf.svg"} <= used
    assert "<svg" in (written / "figures" / "convergence.svg").read_text()


def test_writing_again_gives_the_same_files(written: Path, tmp_path: Path) -> None:
    paths = report.write(written, tmp_path, notes=["Made by a test."])
    for path in paths:
        assert path.read_bytes() == (written / path.relative_to(tmp_path)).read_bytes(), path


# Tables and contests --------------------------------------------------------------------------


def test_clear_differences_are_found_and_equal_methods_are_not() -> None:
    strong = [simulated_record(method="auto", seed=s, speed=6.0) for s in range(10)]
    weak = [simulated_record(method="random", seed=s, speed=0.5) for s in range(10)]
    twin = [simulated_record(method="neural-greedy", seed=s, speed=0.5) for s in range(10)]
    found = {d.ours: d for d in contests.duels(tables.gather(strong + weak + twin))}
    assert found["auto"].verdict == 1
    assert found["auto"].superiority == 1.0
    assert found["auto"].better.n == 10
    assert found["auto"].ratio < 0.01
    assert found["neural-greedy"].verdict == 0
    methods = next(iter(tables.gather(strong + weak + twin).runs.values()))
    assert contests.best_method(methods) == "auto"
    assert contests.not_worse(methods) == {"auto"}


def test_many_problems_show_what_single_ones_cannot() -> None:
    problems = [f"problem-{i}" for i in range(10)]
    ours = simulated_experiment(problems, ("auto",), seeds=2, speed=3.0)
    peer = simulated_experiment(problems, ("random",), seeds=2, speed=0.5)
    duels = contests.duels(tables.gather(ours + peer))
    assert {d.verdict for d in duels} == {0}
    (whole,) = contests.overall(duels)
    assert (whole.n, whole.verdict) == (10, 1)
    # All ten won: 2 ** -10, twice for both directions.
    assert whole.p_better == pytest.approx(2 / 2**10)


def test_unpaired_seeds_are_compared_unpaired() -> None:
    ours = [simulated_record(method="auto", seed=s, speed=5.0) for s in range(6)]
    peer = [simulated_record(method="random", seed=s, speed=0.5) for s in range(6, 12)]
    (duel,) = contests.duels(tables.gather(ours + peer))
    assert duel.better.kind in ("Welch", "Mann-Whitney")
    assert duel.verdict == 1


def test_only_common_seeds_are_paired() -> None:
    ours = [simulated_record(method="auto", seed=s) for s in range(7)]
    peer = [simulated_record(method="random", seed=s) for s in range(2, 9)]
    (duel,) = contests.duels(tables.gather(ours + peer))
    assert duel.better.n == 5


def test_rankings() -> None:
    problems = [f"problem-{i}" for i in range(8)]
    records = simulated_experiment(problems, ("auto", "optuna-tpe", "random"))
    records += simulated_experiment(["mixed"], ("auto", "random"))
    results = tables.gather(records)
    three, two = contests.rankings(results, results.labels())
    assert three.methods == ["auto", "optuna-tpe", "random"]
    assert (len(three.problems), len(two.problems)) == (8, 9)
    assert three.mean_rank.sum() == pytest.approx(6.0)
    assert three.seed_rank.sum() == pytest.approx(6.0)
    assert three.friedman < 0.01
    medians = [
        [np.median(tables.finals(results.runs[g][m])) for m in three.methods]
        for g in results.runs
        if g.problem != "mixed"
    ]
    assert three.mean_rank == pytest.approx(scipy_stats.rankdata(medians, axis=1).mean(axis=0))
    assert (three.low <= three.mean_rank).all()
    assert (three.mean_rank <= three.high).all()


def test_regrets_at_the_rounding_level_are_equal() -> None:
    exact = replace(simulated_record(method="auto"), values=[5.0, 3.0, 0.4 + 1e-15])
    nearly = replace(simulated_record(method="random"), values=[5.0, 3.0, 0.4 + 1e-12])
    below = replace(simulated_record(method="cma"), values=[5.0, 3.0, 0.4 - 1e-13])
    records = [replace(r, job=replace(r.job, n_start=2, budget=3)) for r in (exact, nearly, below)]
    (methods,) = tables.gather(records).runs.values()
    found = tables.scores(methods)
    assert found["auto"] == found["random"] == found["cma"]


def test_result_of_a_run() -> None:
    job = Job("p", "m", 0, 3, 1)
    plain = Record(job, values=[3.0, 1.0, 2.0], optimum=0.5)
    assert tables.final(plain) == 0.5
    assert tables.final(replace(plain, optimum=None)) == 1.0
    assert tables.final(replace(plain, truths=[3.0, 2.5, 2.0])) == 1.5
    assert tables.final(replace(plain, violations=[0.0, 1.0, 0.0])) == 1.5
    assert tables.final(replace(plain, violations=[1.0, 1.0, 1.0])) == math.inf
    assert tables.final(replace(plain, rechecked=[1.0, 2.0])) == 1.0
    assert tables.final(replace(plain, values=[math.nan] * 3)) == math.inf


def test_convergence_waits_for_the_first_feasible_point() -> None:
    rows = [[5.0, 3.0, 1.0], [4.0, 4.0, 2.0], [9.0, 9.0, 3.0]]
    broken = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    runs = {
        s: Record(Job("p", "m", s, 4, 1), values=v, violations=c, optimum=0.0)
        for s, (v, c) in enumerate(zip(rows, broken, strict=True))
    }
    curve = tables.convergence(runs, 4)
    assert curve.x.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert np.isnan(curve.y[0])  # the middle one of the runs had nothing feasible yet
    assert curve.y[1:].tolist() == [4.0, 2.0, 2.0]  # a run that ended early keeps its last value
    assert curve.low[1:].tolist() == [3.5, 1.5, 1.5]
    assert np.isnan(curve.high[1])


def test_later_whole_record_of_a_job_counts() -> None:
    bad = Record(Job("p", "m", 0, 3, 1), error="killed")
    good = Record(Job("p", "m", 0, 3, 1), values=[3.0, 2.0, 1.0])
    for records in ([bad, good], [good, bad]):
        results = tables.gather(records)
        assert not results.failed
        assert len(results.records) == 1


def test_different_starts_are_noticed() -> None:
    same = [simulated_record(method=m) for m in ("auto", "random")]
    assert tables.same_start(tables.gather(same)) == (1, 1)
    other = replace(same[1], values=[v + 1.0 for v in same[1].values])
    assert tables.same_start(tables.gather([same[0], other])) == (1, 0)


def test_time_of_a_suggestion_leaves_out_the_start() -> None:
    seconds = [99.0, 99.0, 1.0, 2.0, 3.0]
    job = Job("p", "m", 0, 5, 2)
    record = Record(job, values=[1.0] * 5, cpu_seconds=seconds, seconds=seconds)
    n, time = tables.times([record])
    assert n.tolist() == [2.0, 3.0, 4.0]
    assert time.tolist() == [1.0, 2.0, 3.0]
    cost = tables.cost([record])
    assert (cost.per_suggestion, cost.per_run) == (2.0, 204.0)


# COCO -----------------------------------------------------------------------------------------


def test_share_of_solved_targets_against_counting() -> None:
    results = tables.gather(simulated_experiment(BBOB, ("auto", "random"), seeds=2, budget=60))
    for part in ecdf.solved(results):
        for method in ("auto", "random"):
            x, y = ecdf.curve([part], method)
            records = [r for r in results.records if r.job.method == method]
            records = [r for r in records if f"-d{part.dim}-" in r.job.problem]
            for i in (0, 60, len(x) - 1):
                n = math.floor(x[i] * part.dim + 1e-9)
                solved = [
                    min(r.values[:n], default=math.inf) - 0.4 <= t
                    for r in records
                    for t in ecdf.TARGETS
                ]
                assert y[i] == pytest.approx(np.mean(solved))
            assert y[-1] == pytest.approx(part.by_function(method).mean())
            assert (np.diff(y) >= 0).all()


def test_targets() -> None:
    assert len(ecdf.TARGETS) == 51
    assert (ecdf.TARGETS[0], ecdf.TARGETS[-1]) == pytest.approx((100.0, 1e-8))
    record = Record(
        Job("bbob-f1-d2-i1", "m", 0, 4, 1), values=[200.0, 10.0, 20.0, 1e-9], optimum=0.0
    )
    hits = ecdf.first_hits(record, dim=2)
    assert hits[0] == 1.0  # the second evaluation in 2 dimensions
    assert hits[-1] == 2.0
    assert np.isinf(ecdf.first_hits(replace(record, values=[200.0]), dim=2)).all()


def test_methods_are_compared_on_the_functions_they_share() -> None:
    records = simulated_experiment(["bbob-f1-d2-i1", "bbob-f8-d2-i1"], ("auto", "random"), seeds=1)
    records = [r for r in records if (r.job.problem, r.job.method) != ("bbob-f8-d2-i1", "random")]
    (part,) = ecdf.solved(tables.gather(records))
    assert part.functions == [1]


# Odd folders ----------------------------------------------------------------------------------


def test_folder_without_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NeuroboError, match="folder of benchmark records was expected"):
        report.write(tmp_path / "nowhere")
    _write(tmp_path, [Record(Job("p", "m", 0, 3, 1), error="no memory")])
    with pytest.raises(NeuroboError, match="1 that broke off, the first with: no memory"):
        report.write(tmp_path)


def test_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    _write(tmp_path, simulated_experiment(["p"], seeds=1))
    with pytest.raises(MissingPackage, match=r"neurobo\[report\]"):
        report.write(tmp_path)


@pytest.mark.parametrize(
    "records",
    [
        [simulated_record()],
        simulated_experiment(["p"], ("random", "sobol"), seeds=1),
        [simulated_record(method="auto", seed=0), simulated_record(method="random", seed=1)],
        [
            replace(simulated_record(method=m, constrained=True), violations=[1.0] * 40)
            for m in ("auto", "random")
        ],
        [simulated_record(budget=40), simulated_record(budget=50)],
        [replace(simulated_record(method=m), values=[0.4] * 40) for m in ("auto", "random")],
        [simulated_record("bbob-f99-d2-i1"), simulated_record("bbob-f1-d2-i1", budget=5)],
        [replace(simulated_record(), cpu_seconds=(), seconds=(), peak_mib=math.nan)],
    ],
    ids=["one run", "no method of ours", "no common seed", "nothing feasible", "two budgets",
         "all solved at once", "odd bbob", "no times"],
)  # fmt: skip
def test_odd_experiments_have_a_report(tmp_path: Path, records: list[Record]) -> None:
    markdown, page, *_ = report.write(_write(tmp_path, records))
    assert "nan" not in markdown.read_text().replace("neurobo", "")
    assert "## What was run" in markdown.read_text()
    assert "</html>" in page.read_text()


# In a browser ---------------------------------------------------------------------------------

HOSTILE = "</script><img src=x onerror=document.title='broken'>`$x^{$|"
# What a reader sees, with all methods and without the first.
PROBE = """(() => {
const shown = () => [...document.querySelectorAll(".plot")].map((p) => ({
  lines: p.querySelectorAll(".mark.line, .mark.dots").length,
  width: p.querySelector("svg")?.getBoundingClientRect().width,
  place: p.getBoundingClientRect().width,
}));
const before = shown();
const button = document.querySelector(".legend button");
button.click();
return {
  width: innerWidth, content: document.documentElement.scrollWidth, title: document.title,
  hidden: button.dataset.method, before, after: shown(),
};
})()
"""


def test_the_browser_test_sees_errors_and_requests(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        '<!doctype html><meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; script-src 'unsafe-inline'\">"
        "<script>console.error('one'); fetch('file:///nowhere').catch(() => { failed = true; });"
        " nothing();</script>"
    )
    with Window(tmp_path) as window:
        window.open(page, 1280)
        window.wait_for("failed")
        assert len(window.errors) >= 3


def test_page_works_in_a_browser_on_a_laptop_and_a_phone(tmp_path: Path) -> None:
    records = _experiment()
    records += simulated_experiment([HOSTILE], ("auto", HOSTILE), seeds=2)
    _, page, *_ = report.write(_write(tmp_path, records))
    text = page.read_text()
    n_plots = len(json.loads(text.split('id="plots">')[1].split("</script>")[0]))
    assert n_plots >= 9
    assert text.count('class="plot"') == n_plots
    assert not re.search(r'(src|href)="(?!#|data:)', text.split("<script>")[0])
    seen = on_laptop_and_phone(text, PROBE, tmp_path)
    assert sorted(s["width"] for s in seen) == [390, 1280]
    for s in seen:
        assert s["content"] <= s["width"]  # nothing makes the page scroll sideways
        assert s["title"].startswith("Benchmark: ")
        assert len(s["before"]) == n_plots
        for plot in s["before"]:
            assert plot["lines"] >= 2
            assert plot["width"] <= plot["place"] + 1
        assert s["hidden"] == "auto"
        fewer = [b["lines"] - a["lines"] for b, a in zip(s["before"], s["after"], strict=True)]
        assert min(fewer) >= 0
        assert sum(f > 0 for f in fewer) >= n_plots - 3  # rank pictures keep all their methods
