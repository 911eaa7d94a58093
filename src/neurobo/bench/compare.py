"""`neurobo bench compare`: has anything become worse between two folders of records?

Runs are paired by problem, method, seed, budget and start. The same code on another processor
differs in last digits, which grow over a run: the guard is a test, not an equality. A handful of
seeds on one problem cannot show much, so each method is also tested over all its runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from neurobo.bench import stats, tables
from neurobo.bench.records import Job, Record
from neurobo.bench.report.blocks import Cell, Table
from neurobo.bench.report.markdown import escape, table_text
from neurobo.bench.tables import Group, Results, Runs
from neurobo.errors import NeuroboError, check_number

Vector = Float[np.ndarray, " n"]

SAME = math.log10(1.01)
"""Regrets within 1 % are no change."""
STRIKING = math.log10(3)
"""If every seed is worse and the middle one by this much, somebody should look."""
MOST = 99.0
"""Decades between a run with and one without a feasible point."""
STAND_IN = 0.01
"""Without a known optimum the best value of both folders stands in for it; a regret then is at
least this share of what the start leaves to be gained."""


@dataclass(frozen=True)
class Change:
    """What became of one method, on one problem or on all."""

    where: str
    method: str
    n: int
    """Pairs of runs."""
    decades: float
    """Median of the logarithm of the regret after, divided by before: above 0 is worse."""
    worse_share: float
    """Share of pairs that are worse; equal ones count half."""
    test: str
    p_worse: float
    """Corrected, one-sided."""
    p_better: float
    always: bool
    """Whether every pair is worse."""

    @property
    def ratio(self) -> float:
        return 10.0**self.decades


@dataclass(frozen=True)
class Comparison:
    """Before (A) and after (B)."""

    changes: Sequence[Change]
    """Each method on each problem."""
    pooled: Sequence[Change]
    """Each method over all its problems."""
    slower: Mapping[str, float]
    """Processor time of a suggestion, after divided by before, by method."""
    broken: Sequence[Job]
    """Whole before, broken off after."""
    only_a: int
    only_b: int
    other_start: int
    """Pairs whose start values differ: the problem or the design has changed."""
    level: float

    @property
    def worse(self) -> list[str]:
        """What is significantly worse, in words; empty if nothing is."""
        found = [c for c in [*self.pooled, *self.changes] if c.p_worse <= self.level / 2]
        return [_sentence(c, "worse", c.p_worse) for c in found] + [
            f"{job.method} on {job.problem}, seed {job.seed}: the run breaks off now"
            for job in self.broken
        ]

    @property
    def better(self) -> list[str]:
        found = [c for c in [*self.pooled, *self.changes] if c.p_better <= self.level / 2]
        return [_sentence(c, "better", c.p_better) for c in found]

    @property
    def striking(self) -> list[str]:
        """What a test with so few pairs cannot show but a person should look at."""
        return [
            _sentence(c, "worse with every seed", c.p_worse)
            for c in self.changes
            if c.always and c.decades >= STRIKING and c.p_worse > self.level / 2
        ]

    def to_markdown(self) -> str:
        parts = ["# Comparison: A before, B after", _list("Significantly worse", self.worse)]
        if self.striking:
            parts.append(_list("Worth a look, though not significant", self.striking))
        if self.better:
            parts.append(_list("Significantly better", self.better))
        parts += [
            "## Each method over all its problems",
            table_text(self._pooled_table()),
            "## Each method on each problem",
            table_text(_table(self.changes)),
            "\n".join(f"- {escape(note)}" for note in self._notes()),
        ]
        return "\n\n".join(parts) + "\n"

    def _pooled_table(self) -> Table:
        table = _table(self.pooled)
        rows = [
            [*row, _times(self.slower.get(change.method, math.nan))]
            for row, change in zip(table.rows, self.pooled, strict=True)
        ]
        return Table([*table.header, "time of a suggestion"], rows)

    def _notes(self) -> list[str]:
        notes = [
            "Paired by problem, method, seed, budget and start. Ratio: median of regret after / "
            "before (without a known optimum: above the best value of both). A ratio within 1 % "
            "is no change.",
            "One-sided tests. On one problem: a t-test on log ratios, Wilcoxon's signed-rank test "
            "where they are not normal or fewer than 4; over all problems: Wilcoxon's.",
            f"p-values are corrected by Benjamini and Hochberg's method, each of the two tables "
            f"on its own at {self.level / 2:.3g}, so that unchanged code is called worse in at "
            f"most {100 * self.level:g} % of all comparisons.",
            "Processor time is shown, not judged: it depends on the machine.",
        ]
        if self.only_a or self.only_b:
            notes.append(f"Without a partner: {self.only_a} runs of A, {self.only_b} of B.")
        if self.other_start:
            notes.append(
                f"{self.other_start} pairs began with different values: the problem or the start "
                "design has changed, so they are no fair pairs."
            )
        return notes


def compare(a: Path, b: Path, level: float = stats.LEVEL) -> Comparison:
    """Compare the records of two folders. `level` is how often, at most, unchanged code may be
    called worse."""
    check_number("level", level, above=0)
    return compare_results(tables.read(a), tables.read(b), level)


def compare_results(a: Results, b: Results, level: float = stats.LEVEL) -> Comparison:
    before, after = _by_job(a.records), _by_job(b.records)
    common = before.keys() & after.keys()
    broken = [r.job for r in b.failed if r.job in before]
    if not common and not broken:
        raise NeuroboError(
            "two folders need runs with the same problem, method, seed, budget and start, got "
            f"{len(before)} and {len(after)} runs without a common one"
        )
    labels = {**b.labels(), **a.labels()}
    effects = _effects(a, b)
    by_method: dict[str, list[Vector]] = {}
    for (_, method), found in effects.items():
        by_method.setdefault(method, []).append(found)
    pooled = {method: np.concatenate(found) for method, found in by_method.items()}
    return Comparison(
        changes=_corrected(
            [_change(labels[group], method, d) for (group, method), d in effects.items()]
        ),
        pooled=_corrected([_pool(method, d) for method, d in pooled.items()]),
        slower={
            method: _slower([(before[j], after[j]) for j in common if j.method == method])
            for method in pooled
        },
        broken=broken,
        only_a=len(before) - len(common) - len(broken),
        only_b=len(after) - len(common),
        other_start=sum(not _same_start(before[job], after[job]) for job in common),
        level=level,
    )


def _by_job(records: Iterable[Record]) -> dict[Job, Record]:
    return {record.job: record for record in records}


def _effects(a: Results, b: Results) -> dict[tuple[Group, str], Vector]:
    """Log ratios of regrets, for each problem and method with a pair."""
    found = {}
    for group, methods in a.runs.items():
        for method, before in methods.items():
            after = b.runs.get(group, {}).get(method, {})
            seeds = sorted(before.keys() & after.keys())
            if seeds:
                chosen = [{seed: runs[seed] for seed in seeds} for runs in (before, after)]
                found[group, method] = log_ratios(*chosen)
    return found


def log_ratios(before: Runs, after: Runs) -> Vector:
    """log10 of the regret after, divided by before, for each common seed; 0 within 1 %, and
    ±99 where only one of the runs found a feasible point."""
    compared = tables.scores({"before": before, "after": after})
    x, y = (np.array(list(compared[name].values())) for name in ("before", "after"))
    if next(iter(before.values())).optimum is None:
        every = np.concatenate([x, y])
        best = every.min()
        if not math.isfinite(best):
            return np.zeros_like(x)  # nothing was ever feasible
        starts = [_start_value(r) for r in before.values()]
        room = max(float(np.median(starts)) - best, 1e-12 * max(1.0, abs(best)))
        x, y = (np.log10(v - best + STAND_IN * room) for v in (x, y))
    d = stats.differences(y, x)
    return np.where(np.abs(d) < SAME, 0.0, np.clip(d, -MOST, MOST))


def _start_value(record: Record) -> float:
    """The best value of the start, or the worst one told if nothing there was feasible."""
    start = record.best_so_far()[: max(1, record.job.n_start)]
    return float(start[-1]) if np.isfinite(start[-1]) else float(np.nanmax(record.values))


def _change(where: str, method: str, d: Vector) -> Change:
    none = np.zeros_like(d)
    worse, better = stats.lower(-d, none), stats.lower(d, none)
    return Change(
        where=where,
        method=method,
        n=len(d),
        decades=float(np.median(d)),
        worse_share=stats.superiority(-d, none),
        test=worse.kind,
        p_worse=worse.p,
        p_better=better.p,
        always=bool((d > 0).all()),
    )


def _pool(method: str, d: Vector) -> Change:
    """Problems differ, so no mean of log ratios: only ranks of them."""
    return replace(
        _change("all", method, d),
        test="Wilcoxon",
        p_worse=stats.signed_rank(-d),
        p_better=stats.signed_rank(d),
    )


def _corrected(changes: Sequence[Change]) -> list[Change]:
    worse = stats.adjusted(np.array([c.p_worse for c in changes]))
    better = stats.adjusted(np.array([c.p_better for c in changes]))
    return [
        replace(c, p_worse=float(w), p_better=float(b))
        for c, w, b in zip(changes, worse, better, strict=True)
    ]


def _slower(pairs: Sequence[tuple[Record, Record]]) -> float:
    ratios = []
    for before, after in pairs:
        a, b = tables.suggestion_seconds(before), tables.suggestion_seconds(after)
        if len(a) and len(b) and np.median(a) > 0:
            ratios.append(np.median(b) / np.median(a))
    return float(np.median(ratios)) if ratios else math.nan


def _same_start(a: Record, b: Record) -> bool:
    n = a.job.n_start
    x, y = a.true_values[:n], b.true_values[:n]
    return len(x) == len(y) and bool(np.allclose(x, y, rtol=1e-6, equal_nan=True))


# Words ----------------------------------------------------------------------------------------


def _table(changes: Sequence[Change]) -> Table:
    header = ["problem", "method", "pairs", "ratio", "worse in", "test", "p worse", "p better"]
    rows: list[list[Cell | str]] = [
        [
            c.where,
            c.method,
            str(c.n),
            _times(c.ratio),
            f"{100 * c.worse_share:.0f} %",
            c.test,
            f"{c.p_worse:.2g}",
            f"{c.p_better:.2g}",
        ]
        for c in changes
    ]
    return Table(header, rows)


def _sentence(change: Change, word: str, p: float) -> str:
    on = "over all problems" if change.where == "all" else f"on {change.where}"
    return (
        f"{change.method} {on}: {word}, regret {_times(change.ratio)}, {change.n} pairs, p {p:.2g}"
    )


def _times(ratio: float) -> str:
    if math.isnan(ratio):
        return ""
    return "× ∞" if ratio >= 10**MOST else f"× {ratio:.3g}"


def _list(title: str, items: Sequence[str]) -> str:
    body = "\n".join(f"- {escape(item)}" for item in items) or "Nothing."
    return f"## {title}\n\n{body}"
