"""`neurobo bench report`: what an experiment's records say, as markdown and as one HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neurobo.bench import tables
from neurobo.bench.problems import bbob, problem
from neurobo.bench.records import Record
from neurobo.bench.report import contests, ecdf
from neurobo.bench.report.blocks import (
    Block,
    Cell,
    Figure,
    Items,
    Line,
    Page,
    Panel,
    ReportSection,
    Table,
    styles,
)
from neurobo.bench.report.coco import coco_blocks
from neurobo.bench.report.cumulative import cumulative_blocks
from neurobo.bench.report.html import write_html
from neurobo.bench.report.markdown import write_markdown
from neurobo.bench.report.results import CENTRED, duel_blocks, rank_blocks, results_blocks, telling
from neurobo.bench.report.violations import violation_blocks
from neurobo.bench.report.words import code, count, facts, is_or_are, number, percent, short, span
from neurobo.bench.tables import Results, is_ours
from neurobo.errors import NeuroboError


def write(folder: Path, out: Path | None = None, notes: Sequence[str] = ()) -> list[Path]:
    """Read a folder's records; write report.md, its figures and report.html to `out`.

    `notes` are lines for the top of the report, for example the command that made the records.
    """
    results = tables.read(folder)
    if not results.runs:
        raise NeuroboError(
            f"a report needs at least one whole run, got {len(results.failed)} that broke off, "
            f"the first with: {results.failed[0].error}"
        )
    target = folder if out is None else out
    target.mkdir(parents=True, exist_ok=True)
    page = build(results, folder.resolve().name, notes)
    markdown, *pictures = write_markdown(page, target)
    return [markdown, write_html(page, target), *pictures]


def build(results: Results, name: str, notes: Sequence[str] = ()) -> Page:
    coco = results.where(g for g in results.runs if tables.bbob_dim(g.problem) is not None)
    rest = results.where(g for g in results.runs if g not in coco.runs)
    duels = contests.duels(rest)
    labels = rest.labels()
    ranked = telling(contests.rankings(rest, labels))
    parts = ecdf.solved(coco)
    sections = [ReportSection("In short", [*notes, *_in_short(results, duels, ranked, parts)])]
    sections.append(ReportSection("What was run", _what_was_run(results)))
    if rest.runs:
        sections.append(ReportSection("Results", results_blocks(rest, labels)))
    if duels:
        sections.append(ReportSection("Tests", duel_blocks(duels, labels)))
    if violated := violation_blocks(rest, labels):
        sections.append(ReportSection("Regret plus violation", violated))
    if summed := cumulative_blocks(rest, labels):
        sections.append(ReportSection("Cumulative regret", summed))
    if ranked:
        sections.append(ReportSection("Mean ranks", rank_blocks(ranked, "ranks")))
    if parts:
        sections.append(ReportSection("COCO bbob", coco_blocks(coco, parts)))
    sections.append(ReportSection("Time and memory", _costs(results)))
    if results.failed:
        sections.append(ReportSection("Runs that broke off", _failed(results.failed)))
    sections.append(ReportSection("How to read this", [Items(_HOW_TO_READ)]))
    methods = results.methods
    return Page(f"Benchmark: {name}", sections, styles(methods, [m for m in methods if is_ours(m)]))


_HOW_TO_READ = (
    "All methods get the same problem instance, the same start points and the same number of "
    "evaluations for a seed; the time of the objective does not count.",
    "The result of a run is its simple regret: the lowest true (noiseless, feasible) value among "
    "its evaluations minus the optimum; the lowest value itself where no optimum is known; the "
    "mean of fresh evaluations of its best point where noise hides the truth.",
    "Tests and ranks compare the logarithm of the regret, because regrets spread over orders of "
    "magnitude (the value itself where no optimum is known). Regrets below 1e-8 of what the start "
    "reached count as equal.",
    "Mean ± standard error and median are over all whole runs of a method. A run without any "
    "feasible point counts as infinitely bad in medians, ranks and tests; it has no mean.",
    "Regret plus violation rates constrained problems by another measure, with tests of its own: "
    "the lowest sum of positive regret and broken constraints among the evaluations of a run, "
    "feasible or not.",
    "Tests are one-sided and paired over the seeds that both methods have: a t-test on the "
    "differences (t), or Wilcoxon's signed-rank test (W) where the Kolmogorov–Smirnov test with "
    "Lilliefors' correction finds them not normal at 5 %, or where there are fewer than 4 pairs. "
    "With fewer than 2 common seeds: Welch's test, or Mann–Whitney's (U).",
    "p-values are corrected by Benjamini and Hochberg's method. The family is every test of our "
    "methods against peers on single problems, both directions; the tests over all problems are a "
    "family of their own, and so are the tests of regret plus violation, the marks of each "
    "problem's table and the COCO tests.",
    "Few seeds see little: 3 pairs can never give a Wilcoxon p below 0.125, 5 pairs never below "
    "0.031. That nothing is significant does not show that methods are equal.",
    "Runs that broke off are left out, which flatters a method that breaks off; they are listed.",
)


def _in_short(
    results: Results,
    duels: Sequence[contests.Duel],
    ranked: Sequence[contests.Ranking],
    parts: Sequence[ecdf.Solved],
) -> list[Block]:
    items = []
    for ranking in ranked[:1]:
        first = ", ".join(
            f"`{name}` {rank:.2f}"
            for name, rank in zip(ranking.methods, ranking.mean_rank, strict=True)
        )
        items.append(
            f"Mean ranks over {count(ranking.problems, 'problem')} (1 is best): {first}. Ranks "
            f"differ significantly if they are more than {ranking.critical_difference:.2f} apart."
        )
    for ours in [m for m in results.methods if is_ours(m)]:
        mine = [d.verdict for d in duels if d.ours == ours]
        if mine:
            items.append(
                f"`{ours}` is significantly better than the peer in {mine.count(1)} of "
                f"{count(mine, 'comparison')}, worse in {mine.count(-1)}."
            )
    for part in parts:
        if part.functions:
            solved = sorted(((np.mean(part.by_function(m)), m) for m in part.hits), reverse=True)
            shown = ", ".join(f"`{m}` {percent(share)}" for share, m in solved)
            items.append(
                f"COCO bbob, d = {part.dim}, {part.budget:.3g}·d evaluations, targets solved: "
                f"{shown}."
            )
    if results.failed:
        items.append(
            f"{count(results.failed, 'run')} broke off and {is_or_are(results.failed)} left out."
        )
    return [Items(items)] if items else ["One method: nothing to compare."]


def _what_was_run(results: Results) -> list[Block]:
    records = results.records
    seeds = sorted({r.job.seed for r in records})
    problems = list(dict.fromkeys(g.problem for g in results.runs))
    shared, same = tables.same_start(results)
    finished = sorted(r.finished for r in records if r.finished)
    items = [
        f"{count(records, 'whole run')}: {count(problems, 'problem')}, "
        f"{count(results.methods, 'method')}, {count(seeds, 'seed')} ({span(seeds)}).",
        "Ours: " + (code([m for m in results.methods if is_ours(m)]) or "none") + ".",
        "Peers: " + (code([m for m in results.methods if not is_ours(m)]) or "none") + ".",
        _scaling(results),
    ]
    if shared:
        items.append(
            f"The start values agree between all methods in {same} of {shared} combinations of "
            "problem and seed" + ("." if same == shared else ": the others are not comparable.")
        )
    if centred := sorted({r.job.problem for r in records if r.centred}):
        items.append(
            f"{CENTRED} Optimum at the centre of the box, which flatters many methods: "
            f"{code(centred)}."
        )
    if finished:
        first, last = (text[:16].replace("T", " ") for text in (finished[0], finished[-1]))
        items.append(f"Finished between {first} and {last} UTC.")
    items.append(f"Machine: {facts([r.machine for r in records])}.")
    items.append(f"Versions: {facts([r.versions for r in records])}.")
    return [Items(items)]


def _scaling(results: Results) -> str:
    """Whether budgets are smaller than in the experiments that problems come from."""
    smaller = {}
    for group in results.runs:
        own = _own_budget(group.problem)
        if own is not None and group.budget < own:
            smaller[group.problem] = f"`{group.problem}` {group.budget} of {own}"
    budgets = sorted({g.budget for g in results.runs})
    text = f"Evaluations in a run: {span(budgets)}."
    if not smaller:
        return f"{text} No budget is below the problem's own."
    shown = list(smaller.values())
    more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
    return (
        f"{text} Scaled down: {count(shown, 'problem')} had fewer evaluations than in the "
        f"experiments {'it' if len(shown) == 1 else 'they'} come{'s' * (len(shown) == 1)} from: "
        f"{', '.join(shown[:12])}{more}."
    )


def _own_budget(name: str) -> int | None:
    if (dim := tables.bbob_dim(name)) is not None:
        return bbob.BUDGET_PER_DIMENSION * dim
    try:
        return problem(name).budget
    except NeuroboError:  # a problem this version does not know, or a missing package
        return None


def _costs(results: Results) -> list[Block]:
    runs: dict[str, list[Record]] = {name: [] for name in results.methods}
    for record in results.records:
        runs[record.job.method].append(record)
    lines = []
    rows: list[list[Cell | str]] = []
    for name, records in runs.items():
        n, seconds = tables.times(records)
        if len(n):
            # A clock that shows 0 has no logarithm.
            lines.append(Line(name, n, np.maximum(seconds, 1e-6)))
        c = tables.cost(records)
        numbers = (
            c.per_suggestion, c.slow_suggestion, c.per_run, c.wall_per_run, c.objective_per_run,
        )  # fmt: skip
        memory = "" if math.isnan(c.peak_mib) else f"{c.peak_mib:.0f}"
        cells = [*(number(v, 2) for v in numbers), memory]
        rows.append([Cell(name, bold=is_ours(name)), str(c.n), *cells])
    panel = Panel(
        "Processor seconds for a suggestion", lines, "observations", "CPU seconds", log_y=True
    )
    header = [
        "method", "runs", "CPU s / suggestion", "95 % below", "CPU s / run", "wall s / run",
        "objective s / run", "peak MiB",
    ]  # fmt: skip
    return [
        Figure(
            "time",
            "Median over all runs; problems with small budgets take no part in the right end. The "
            "first suggestion of a run includes compilation and imports; compiled programs are "
            "kept on the machine, so the first run with an algorithm pays for the others.",
            [panel],
        ),
        Table(
            header,
            rows,
            "Medians over runs, each in a process with one thread. Methods that ran on other "
            "problems are not comparable by these numbers. Peak memory is the largest of all runs "
            "and includes the problem's own.",
        ),
    ]


def _failed(failed: Sequence[Record]) -> list[Block]:
    rows = [
        [r.job.problem, r.job.method, str(r.job.seed), str(r.job.budget), short(r.error)]
        for r in failed
    ]
    return [Table(["problem", "method", "seed", "evaluations", "why"], rows, words=True)]
