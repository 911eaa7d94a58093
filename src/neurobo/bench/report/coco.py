"""The section of a report on COCO's bbob functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurobo.bench import stats, tables
from neurobo.bench.report import contests, ecdf
from neurobo.bench.report.blocks import Block, Cell, Figure, Line, Panel, Table
from neurobo.bench.report.results import rank_blocks, telling
from neurobo.bench.report.words import SIGNS, p_value
from neurobo.bench.tables import Results


def coco_blocks(results: Results, parts: Sequence[ecdf.Solved]) -> list[Block]:
    usable = [part for part in parts if part.functions]
    if not usable:
        return ["No function was run by all methods."]
    panels = [ecdf_panel(f"d = {part.dim}", [part], list(part.hits)) for part in usable]
    everywhere = [m for m in usable[0].hits if all(m in part.hits for part in usable)]
    if len(usable) > 1 and everywhere:
        panels.append(ecdf_panel("all dimensions", usable, everywhere))
    methods = [m for m in results.methods if any(m in part.hits for part in usable)]
    rows: list[list[Cell | str]] = []
    for part in usable:
        share = {m: float(np.mean(part.by_function(m))) for m in part.hits}
        best = max(share.values())
        cells = [
            Cell(f"{100 * share[m]:.1f} %", bold=share[m] == best) if m in share else ""
            for m in methods
        ]
        what = f"d = {part.dim} ({len(part.functions)} functions, {part.n_runs} runs each)"
        rows.append([what, *cells])
    blocks: list[Block] = [
        Figure(
            "ecdf",
            "Share of (function, target) pairs solved against evaluations divided by dimension; "
            "51 targets from regret 100 to 1e-8; functions count equally, over all instances and "
            "seeds. A target that is not reached within the budget counts as not solved. All "
            "dimensions together: up to the smallest budget.",
            panels,
        ),
        Table(["solved in the end", *methods], rows),
    ]
    if found := ecdf.duels(usable):
        blocks.append(_coco_tests(found))
    units = {}
    for group in results.runs:
        function, dim = tables.bbob_function(group.problem) or (0, 0)
        units[group] = f"f{function} in {dim}-D"
    return blocks + rank_blocks(telling(contests.rankings(results, units))[:1], "bbob-ranks")


def ecdf_panel(title: str, parts: Sequence[ecdf.Solved], methods: Sequence[str]) -> Panel:
    lines = [Line(m, *ecdf.curve(parts, m)) for m in methods]
    # Small budgets solve little, and differences should be seen.
    top = min(1.0, 1.2 * max(float(line.y[-1]) for line in lines)) or 1.0
    return Panel(
        title, lines, "evaluations / dimension", "share solved", log_x=True, y_range=(0.0, top)
    )


def _coco_tests(found: Sequence[ecdf.Duel]) -> Table:
    rows: list[list[Cell | str]] = []
    for d in found:
        verdict = int(d.p_better <= stats.LEVEL) - int(d.p_worse <= stats.LEVEL)
        p = min(d.p_better, d.p_worse)
        rows.append(
            [
                f"{d.ours} against {d.peer}",
                f"{d.dim}",
                f"{100 * d.difference:+.1f}",
                f"{d.n}",
                Cell(f"{SIGNS[verdict]} p {p_value(p)}", verdict=verdict),
            ]
        )
    return Table(
        ["share solved in the end", "d", "difference in points", "functions", "test"],
        rows,
        "Paired over functions: ▲ ours solves significantly more, ▼ significantly less.",
    )
