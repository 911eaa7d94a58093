"""The section on cumulative regret: what all evaluations of a run have cost, not only its best.

It is the measure of the papers' theory: an algorithm has no regret in the long run if R_T/T
vanishes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from neurobo.bench import stats, tables
from neurobo.bench.records import Record
from neurobo.bench.report.blocks import Block, Cell, Figure, Line, Panel, Table
from neurobo.bench.report.words import number
from neurobo.bench.tables import Group, Results, Runs


def cumulative_blocks(results: Results, labels: Mapping[Group, str]) -> list[Block]:
    """Empty where no regret is known."""
    known = tables.with_known_regret(results)
    if not known.runs:
        return []
    panels = [_panel(labels[group], group, methods) for group, methods in known.runs.items()]
    caption = (
        "R_t: median over seeds and the band between the quartiles; the dotted line ends the "
        "common start. A line that bends away from the diagonal learns."
    )
    return [_table(known, labels), Figure("cumulative", caption, panels)]


def mean_regret(runs: Runs) -> tuple[float, float]:
    """R_T/T, the mean over runs and its standard error."""
    each = [r.cumulative_regrets()[-1] / len(r.values) for r in runs.values()]
    return stats.mean_and_error(np.array(each))


def _table(results: Results, labels: Mapping[Group, str]) -> Table:
    rows: list[list[Cell | str]] = []
    for group, methods in results.runs.items():
        means = {name: mean_regret(runs) for name, runs in methods.items()}
        best = min(mean for mean, _ in means.values())
        row: list[Cell | str] = [labels[group]]
        for name in results.methods:
            if name not in means:
                row.append("")
                continue
            mean, error = means[name]
            shown = number(mean) + (f" ± {number(error, 2)}" if np.isfinite(error) else "")
            row.append(Cell(shown, bold=mean == best))
        rows.append(row)
    return Table(
        ["R_T/T", *results.methods],
        rows,
        "Cumulative regret R_T over all T evaluations, the start included, divided by T: the mean "
        "regret of an evaluation, without noise, plus broken constraints where there are any. Mean "
        "± standard error over seeds; bold: the lowest.",
    )


def _panel(title: str, group: Group, methods: Mapping[str, Runs]) -> Panel:
    curves = {
        name: tables.convergence(runs, group.budget, trace_of=Record.cumulative_regrets)
        for name, runs in methods.items()
    }
    lines = [Line(name, c.x, c.y, c.low, c.high) for name, c in curves.items()]
    start = group.n_start or None
    return Panel(title, lines, "evaluations", "cumulative regret", start=start)
