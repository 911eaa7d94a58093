"""The section on constrained problems: the best sum of positive regret and violation of a run.

It is the measure of Neural-CBO and of the methods that it compares with. Unlike the regret among
feasible points, it also rates runs that found none, and points that break a constraint a little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from neurobo.bench import stats, tables
from neurobo.bench.report import contests
from neurobo.bench.report.blocks import Block, Cell, Figure, Table
from neurobo.bench.report.results import NEAR, convergence_panel, duel_blocks
from neurobo.bench.report.words import number
from neurobo.bench.tables import Group, Results

MEASURE = "regret plus violation"


def violation_blocks(results: Results, labels: Mapping[Group, str]) -> list[Block]:
    """Empty without a constrained problem whose optimum is known."""
    rated = tables.with_violation(results)
    if not rated.runs:
        return []
    panels = [
        replace(convergence_panel(labels[group], group, methods), y_label=MEASURE)
        for group, methods in rated.runs.items()
    ]
    found: list[Block] = [
        _table(rated, labels),
        Figure(
            "violation",
            "The lowest so far: median over seeds and the band between the quartiles; the dotted "
            "line ends the common start.",
            panels,
        ),
    ]
    duels = contests.duels(rated)
    return [*found, *duel_blocks(duels, labels)] if duels else found


def _table(rated: Results, labels: Mapping[Group, str]) -> Table:
    rows: list[list[Cell | str]] = []
    for group, methods in rated.runs.items():
        means = {name: _mean(found) for name, found in tables.scores(methods).items()}
        near = contests.not_worse(methods)
        best = min(mean for mean, _ in means.values())
        row: list[Cell | str] = [labels[group]]
        for name in rated.methods:
            if name not in means:
                row.append("")
                continue
            mean, error = means[name]
            mark = NEAR + " " if name in near and mean != best else ""
            shown = number(mean) + (f" ± {number(error, 2)}" if np.isfinite(error) else "")
            row.append(Cell(mark + shown, bold=mean == best))
        rows.append(row)
    return Table(
        ["mean of log10", *rated.methods],
        rows,
        "For each run the lowest, over its evaluations, of the value's excess over the optimum (0 "
        "where it is lower) plus all broken constraints, both without noise and in the problem's "
        "own units, so that a constraint in large units counts most. Mean ± standard error of its "
        f"logarithm over seeds; bold: the best; {NEAR}: not significantly worse than the method "
        "with the best median. Empty: the method cannot handle the problem or was not run.",
    )


def _mean(found: Mapping[int, float]) -> tuple[float, float]:
    return stats.mean_and_error(np.array(list(found.values())))
