"""`auto` against everybody, on one page with its losses: docs/scoreboard.md.

    python benchmarks/scoreboard.py            # from the runs kept in benchmarks/reference/finals
    python benchmarks/scoreboard.py --run      # first run what is missing (hours; resumable)

What the settings of `auto` were chosen on is said on the page; all suites here only report.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import finals
import numpy as np
from prose import wrapped

from neurobo.bench import stats, tables
from neurobo.bench.report import contests, ecdf
from neurobo.bench.report.blocks import Cell, Panel, Table, styles
from neurobo.bench.report.coco import ecdf_panel
from neurobo.bench.report.markdown import table_text
from neurobo.bench.report.pictures import draw_panels
from neurobo.bench.report.results import convergence_panel
from neurobo.bench.report.words import p_value
from neurobo.bench.run_one import SOURCE
from neurobo.bench.suites import suite
from neurobo.bench.tables import Group, Results

PAGE, PICTURES = Path("docs/scoreboard.md"), Path("docs/pictures")
LATENCY = Path("benchmarks/reference/latency.csv")
SUITES = ("peers", "auto-report", "auto-robust", "auto-members", "auto-parts")
AUTO = "auto"
GROUPS = {
    "continuous, up to 10 parameters": ("branin-2", "hartmann-6", "styblinski-tang-10"),
    "continuous, more": ("levy-15", "ackley-20", "rosenbrock-40"),
    "rugged": ("styblinski-tang-10", "levy-15", "ackley-20"),
    "mixed, AutoML": ("forest-diabetes-6", "boosting-cancer-9"),
    "constrained": ("constrained-ackley-5",),
    "pool of candidates": ("digits-pool",),
}
NEVER_MUCH_WORSE = 1.5
"""Median regret in units of the best member's."""


def kept(name: str) -> Results:
    return finals.results(name) if finals.path(name).exists() else tables.gather([])


def base(group: Group) -> str:
    return group.problem.partition("+")[0]


def picture(name: str, title: str, panels: Sequence[Panel], results: Results) -> str:
    ours = [m for m in results.methods if tables.is_ours(m)]
    draw_panels(PICTURES / f"{name}.svg", panels, styles(results.methods, ours))
    return f"![{title.partition(' against')[0]}](pictures/{name}.svg)"


# The field --------------------------------------------------------------------------------------


def rankings(results: Results) -> list[contests.Ranking]:
    """Of `auto` and others: of methods for the problems that all of them ran on."""
    return [r for r in contests.rankings(results, results.labels()) if AUTO in r.methods]


def ranked(results: Results) -> contests.Ranking | None:
    """The first of these, if there is one."""
    return next(iter(rankings(results)), None)


def rank_table(ranking: contests.Ranking) -> str:
    rows: list[list[Cell | str]] = [
        [Cell(name, bold=name == AUTO), f"{mean:.2f}", f"{low:.2f} to {high:.2f}", f"{seed:.2f}"]
        for name, mean, low, high, seed in zip(
            ranking.methods, ranking.mean_rank, ranking.low, ranking.high, ranking.seed_rank,
            strict=True,
        )
    ]  # fmt: skip
    header = ["method", "mean rank of medians", "95 % interval", "mean rank within seeds"]
    return table_text(Table(header, rows))


def medians(results: Results) -> str:
    """Of all methods on all problems."""
    methods, rows = results.methods, []
    for group, runs in results.runs.items():
        best, close = contests.best_method(runs), contests.not_worse(runs)
        cells: list[Cell | str] = [group.problem]
        for name in methods:
            if name not in runs:
                cells.append("")
                continue
            value = tables.summary(runs[name])
            sign = "≈ " if name in close and name != best else ""
            cells.append(Cell(f"{sign}{value.median:.3g} ({value.n})", bold=name == best))
        rows.append(cells)
    return table_text(Table(["median (runs)", *methods], rows))


def pairs(results: Results, a: str, b: str) -> np.ndarray:
    """What tests compare, of two methods, for every problem and seed that both have."""
    found = []
    for methods in results.runs.values():
        if a in methods and b in methods:
            scores = tables.scores({name: methods[name] for name in (a, b)})
            for seed in scores[a].keys() & scores[b].keys():
                found.append((scores[a][seed], scores[b][seed]))
    return np.array(found).reshape(-1, 2).T


def field_groups(results: Results) -> dict[str, list[Group]]:
    return {title: [g for g in results.runs if base(g) in names] for title, names in GROUPS.items()}


def against_best(results: Results, groups: Mapping[str, Sequence[Group]]) -> str:
    """For each group of problems: who is best, and whether `auto` is significantly worse."""
    rows: list[list[str]] = []
    p = []
    for title, chosen in groups.items():
        some = results.where(chosen)
        ranking = ranked(some)
        if ranking is None:
            continue
        rank = dict(zip(ranking.methods, ranking.seed_rank, strict=True))
        others = [name for name in rank if name != AUTO]
        best = min(others, key=lambda name: rank[name])
        mine, theirs = pairs(some, AUTO, best)
        p += [stats.lower(theirs, mine).p, stats.lower(mine, theirs).p]
        rows.append([title, f"{rank[AUTO]:.2f}", f"`{best}` {rank[best]:.2f}", str(len(mine))])
    worse, better = stats.adjusted(np.array(p)).reshape(-1, 2).T if p else (np.empty(0),) * 2
    shown: list[list[Cell | str]] = []
    for row, q, r in zip(rows, worse, better, strict=True):
        word = "significantly worse" if q <= stats.LEVEL else "not significantly worse"
        if r <= stats.LEVEL:
            word = "significantly better"
        shown.append([*row, f"{word}, p {p_value(min(q, r))}"])
    header = [
        "group",
        "mean rank of `auto` within seeds",
        "best other method",
        "pairs",
        "`auto` is",
    ]
    return table_text(Table(header, shown))


# COCO -------------------------------------------------------------------------------------------


def coco_parts(results: Results) -> list[str]:
    parts = [part for part in ecdf.solved(results) if part.functions]
    panels = [ecdf_panel(f"d = {part.dim}", [part], list(part.hits)) for part in parts]
    title = "Share of (function, target) pairs solved against evaluations for each dimension."
    return [coco_table(results, parts), picture("scoreboard-coco", title, panels, results), title]


def coco_table(results: Results, parts: Sequence[ecdf.Solved]) -> str:
    """Area under the curve of solved pairs over the logarithm of evaluations, and its end; areas
    of functions are pairs in a test whether others are lower than the highest."""
    rows: list[list[Cell | str]] = []
    for part in parts:
        areas = {m: ecdf.areas(part, m) for m in part.hits}
        best = max(areas, key=lambda m: np.mean(areas[m]))
        others = [m for m in areas if m != best]
        p = stats.adjusted(np.array([stats.lower(areas[m], areas[best]).p for m in others]))
        close = {m for m, value in zip(others, p, strict=True) if value > stats.LEVEL}
        row: list[Cell | str] = [f"d = {part.dim}, {len(part.functions)} functions, {part.n_runs}"]
        for m in results.methods:
            if m not in areas:
                row.append("")
                continue
            sign = "≈ " if m in close else ""
            end = 100 * np.mean(part.by_function(m))
            row.append(Cell(f"{sign}{100 * np.mean(areas[m]):.1f} ({end:.1f})", bold=m == best))
        rows.append(row)
    return table_text(Table(["area, % (solved in the end, %); runs", *results.methods], rows))


# Parts of `auto` --------------------------------------------------------------------------------


def ablation_table(results: Results) -> str:
    """`auto` with one part changed."""
    changed = [m for m in results.methods if m.startswith(f"{AUTO}:")]
    found = [(name, pairs(results, AUTO, name)) for name in changed]
    found = [(name, both) for name, both in found if both.shape[1] > 1]
    tests = [p for _, (a, b) in found for p in (stats.signed_rank(a - b), stats.signed_rank(b - a))]
    adjusted = stats.adjusted(np.array(tests)).reshape(-1, 2)
    rows: list[list[Cell | str]] = []
    for (name, (mine, theirs)), (better, worse) in zip(found, adjusted, strict=True):
        verdict = "pays" if better <= stats.LEVEL else "harms" if worse <= stats.LEVEL else "open"
        rows.append(
            [
                name.partition(":")[2],
                f"{np.mean(theirs - mine):+.2f}",
                f"{np.sum(theirs > mine)} / {np.sum(theirs < mine)} of {len(mine)}",
                f"{verdict}, p {p_value(min(better, worse))}",
            ]
        )
    header = ["changed", "mean of log10 regret", "worse / better runs", "what `auto` has"]
    return table_text(Table(header, rows))


def members_parts(results: Results) -> list[str]:
    """How much worse than the best single member `auto` is."""
    whole = [record for record in kept("peers").records if record.job.method == AUTO]
    results = tables.gather([*whole, *results.records])
    ratios = {}
    for group, methods in results.runs.items():
        if any(r.optimum is None for runs in methods.values() for r in runs.values()):
            continue  # ratios of values without a zero mean nothing
        median = {m: float(np.median(tables.finals(runs))) for m, runs in methods.items()}
        if AUTO in median and len(median) > 1:
            floor = tables.SOLVED * tables.start_regret(methods)
            best = min(value for name, value in median.items() if name != AUTO)
            ratios[group] = max(median[AUTO], floor) / max(best, floor)
    if not ratios:
        return []
    share = float(np.mean(np.array(list(ratios.values())) <= NEVER_MUCH_WORSE))
    worst = max(ratios, key=lambda group: ratios[group])
    level = sum(AUTO in contests.not_worse(results.runs[group]) for group in ratios)
    return [
        medians(results.where(ratios)),
        "Against the best of them, chosen after the fact for each problem, the median regret of "
        f"`auto` is at most {NEVER_MUCH_WORSE} times as high on {share:.0%} of {len(ratios)} "
        f"problems whose optimum is known; the highest ratio is {ratios[worst]:.3g}, on "
        f"{worst.problem}. On {level} of them no member is significantly better.",
    ]


def latency_line() -> str:
    with LATENCY.open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["threads"] == "single"]
    cpu = {(r["method"], int(r["n"])): float(r["cpu"]) for r in rows}
    words = [
        f"{cpu['botorch-logei', n] / cpu[AUTO, n]:.3g} times at {n}"
        for n in (100, 200, 1000, 2000)
        if (AUTO, n) in cpu and ("botorch-logei", n) in cpu
    ]
    return f"`auto` suggests faster than `botorch-logei`: {', '.join(words)} observations."


# The page ---------------------------------------------------------------------------------------


def robust_parts(results: Results) -> list[str]:
    groups = {
        trouble: [g for g in results.runs if g.problem.endswith(f"+{trouble}")]
        for trouble in ("noise=0.05", "noise=0.2", "failures=0.2", "batch=8")
    }
    found = [against_best(results, groups)]
    for trouble, chosen in groups.items():
        ranking = ranked(results.where(chosen))
        if ranking is not None:
            found += [f"**{trouble}**, {len(ranking.problems)} problems:", rank_table(ranking)]
    return [*found, medians(results)]


def peers_parts(results: Results) -> list[str]:
    whole = []
    for ranking in [r for r in rankings(results) if len(r.problems) > 1]:
        whole += [f"Over the {len(ranking.problems)} problems that all of these ran on:"]
        whole += [rank_table(ranking)]
    panels = [convergence_panel(g.problem, g, methods) for g, methods in results.runs.items()]
    title = "Median regret, or best value, and its quartiles against evaluations."
    shown = picture("scoreboard-field", title, panels, results)
    return [against_best(results, field_groups(results)), *whole, medians(results), shown, title]


PARTS: Mapping[str, tuple[str, Callable[[Results], list[str]]]] = {
    "peers": ("The field", peers_parts),
    "auto-report": ("COCO bbob, 20 evaluations for each dimension", coco_parts),
    "auto-robust": ("Noise, failures, batches", robust_parts),
    "auto-members": ("Its members on their own", members_parts),
    "auto-parts": ("Parts of `auto`: what each is worth", lambda r: [ablation_table(r)]),
}


def states(results: Results) -> str:
    """Of which states of our source the runs of `auto` are; `neurobo bench` tells them apart."""
    mine = [r for r in results.records if r.job.method.partition(":")[0] == AUTO]
    found = Counter(r.versions.get(SOURCE, "") for r in mine)
    return "those of `auto` by source: " + ", ".join(f"{k} {n}" for k, n in found.most_common())


def page() -> str:
    written = [
        "# Scoreboard of `auto`",
        "`python benchmarks/scoreboard.py` writes this page from [the runs that are kept]"
        "(../benchmarks/reference/finals); with `--run` it first runs what is missing. Seeds are "
        "1000 and above, COCO's instances 3 and above. Settings were chosen on the suite "
        "`auto-tune` (COCO's instances 1 and 2) and on seeds 1 and 2 of shifted Levy-15, "
        "Ackley-20, Styblinski-Tang-10 and Rosenbrock-40, whose optima lie elsewhere; that these "
        "functions are among those of the field favours `auto`. So does it that what `auto` does "
        "under noise came after a look at its runs there, and was chosen on seeds 1 to 5 of the "
        "very functions that are shown with noise; and that input warping was tried on seeds 1 to "
        "3 of the two AutoML tasks. BoTorch's models and `auto` are told which problems are noisy. "
        "A seed has the same start for all methods. In tables ≈ is what is not significantly worse "
        "than the best, which is bold. "
        "[How comparisons are made](benchmarks.md).",
    ]
    for name, (title, parts) in PARTS.items():
        results = kept(name)
        if results.runs:
            about = suite(name)
            runs = f"{len(results.records)} runs; {states(results)}"
            written += [f"## {title}", f"Suite `{name}`: {about.summary}. {runs}."]
            written += [part for part in parts(results) if part]
    return "\n\n".join([*written, "## Time", latency_line()]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--jobs", default="2")
    given = parser.parse_args()
    for name in SUITES:
        if given.run:
            command = [str(Path(sys.executable).parent / "neurobo"), "bench", "run", name]
            if finals.path(name).exists():
                command += ["--known", str(finals.path(name))]
            subprocess.run([*command, "--jobs", given.jobs], check=False)
        if (Path("results") / name / "runs.jsonl").exists():
            finals.update(name)
    PAGE.write_text(wrapped(page()))


if __name__ == "__main__":
    main()
