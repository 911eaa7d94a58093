"""Runs of `auto` of today against those that are kept: has anything been lost?

    neurobo bench run auto-report --algorithms auto
    python benchmarks/before_after.py auto-report peers
    python benchmarks/before_after.py auto-report=results/before

Pairs of runs have the same problem, seed, budget and start. For each suite: the tests of
`neurobo bench compare`, and for COCO the areas under the curves of solved targets, paired by
function. Kept runs are those of benchmarks/reference/finals/SUITE.csv; or those of a folder that
another state of the source has written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import finals
import numpy as np

from neurobo.bench import stats, tables
from neurobo.bench.compare import compare_results
from neurobo.bench.report import ecdf
from neurobo.bench.report.blocks import Table
from neurobo.bench.report.markdown import table_text
from neurobo.bench.tables import Results

AUTO = "auto"


def paired(suite: str, folder: str = "") -> tuple[Results, Results]:
    """Kept runs, or those of a folder, and those of results/SUITE, of the jobs that both have."""
    after = [r for r in tables.read(Path("results") / suite).records if r.job.method == AUTO]
    jobs = {record.job for record in after}
    kept = tables.read(Path(folder)) if folder else finals.results(suite)
    before = [record for record in kept.records if record.job in jobs]
    common = {record.job for record in before}
    return tables.gather(before), tables.gather(r for r in after if r.job in common)


def pooled(before: Results, after: Results) -> list[str]:
    (change,) = compare_results(before, after).pooled
    return [
        str(change.n), f"{change.ratio:.3g}", f"{change.worse_share:.0%}",
        f"{change.p_worse:.2g}", f"{change.p_better:.2g}",
    ]  # fmt: skip


def areas(before: Results, after: Results) -> list[list[str]]:
    """Of COCO's dimensions: the mean areas, and a paired test of each direction."""
    rows = []
    for a, b in zip(ecdf.solved(before), ecdf.solved(after), strict=True):
        if a.functions:
            x, y = ecdf.areas(a, AUTO), ecdf.areas(b, AUTO)
            numbers = [f"{100 * np.mean(v):.1f} %" for v in (x, y)]
            p = [f"{stats.lower(*pair).p:.2g}" for pair in ((y, x), (x, y))]
            rows.append([str(a.dim), str(len(a.functions)), *numbers, *p])
    return rows


def main() -> None:
    rows, curves = [], []
    for given in sys.argv[1:]:
        suite, _, folder = given.partition("=")
        before, after = paired(suite, folder)
        rows.append([suite, *pooled(before, after)])
        curves += areas(before, after)
    header = ["suite", "pairs", "median ratio of regrets", "worse in", "p worse", "p better"]
    print(table_text(Table(header, rows)))
    if curves:
        header = ["d", "functions", "area before", "area after", "p lower", "p higher"]
        print("\n" + table_text(Table(header, curves)))


if __name__ == "__main__":
    main()
