"""The sections of a report that compare methods: results, tests, ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from neurobo.bench import tables
from neurobo.bench.records import Record
from neurobo.bench.report import contests
from neurobo.bench.report.blocks import (
    Block,
    Cell,
    Line,
    Panel,
    ProblemCard,
    ProblemCards,
    RankFigure,
    Table,
)
from neurobo.bench.report.words import SIGNS, count, few, number, p_value, percent
from neurobo.bench.tables import Group, Results, Runs, is_ours

NEAR, CENTRED = "≈", "◎"
MOST_RANKINGS = 4


def results_blocks(results: Results, labels: Mapping[Group, str]) -> list[Block]:
    cards = [_card(labels[group], group, methods) for group, methods in results.runs.items()]
    return [
        _overview(results, labels),
        ProblemCards(
            "convergence",
            "Regret after each evaluation (best value where no optimum is known): median over "
            "seeds and the band between the quartiles; the dotted line ends the common start. "
            "Names of our methods are bold.",
            cards,
        ),
    ]


def _overview(results: Results, labels: Mapping[Group, str]) -> Table:
    methods = results.methods
    rows = []
    for group, found in results.runs.items():
        near = contests.not_worse(found)
        medians = {name: tables.summary(runs).median for name, runs in found.items()}
        best = min(medians.values())
        row: list[Cell | str] = [_title(labels[group], found)]
        for name in methods:
            if name in found:
                mark = NEAR + " " if name in near and medians[name] != best else ""
                row.append(Cell(mark + number(medians[name]), bold=medians[name] == best))
            else:
                row.append("")
        rows.append(row)
    return Table(
        ["median", *methods],
        rows,
        f"Median regret, or best value where no optimum is known. Bold number: the best; {NEAR}: "
        "not significantly worse than the best. Empty: the method cannot handle the problem or "
        "was not run.",
    )


def _card(label: str, group: Group, methods: Mapping[str, Runs]) -> ProblemCard:
    summaries = {name: tables.summary(runs) for name, runs in methods.items()}
    near = contests.not_worse(methods)
    best_mean = min(s.mean for s in summaries.values())
    best_median = min(s.median for s in summaries.values())
    rows: list[list[Cell | str]] = []
    for name in sorted(methods, key=lambda m: (summaries[m].median, summaries[m].mean, m)):
        s = summaries[name]
        mark = NEAR + " " if name in near and s.median != best_median else ""
        rows.append(
            [
                Cell(mark + name, bold=is_ours(name)),
                Cell(_mean(s), bold=s.mean == best_mean and math.isfinite(s.mean)),
                Cell(number(s.median), bold=s.median == best_median),
                str(s.n),
                number(s.cpu_seconds, 2),
            ]
        )
    title = _title(label, methods)
    table = Table(["method", "mean ± se", "median", "runs", "CPU s"], rows)
    panel = convergence_panel(title, group, methods)
    return ProblemCard(title, _note(group, methods), panel, table)


def _mean(s: tables.Summary) -> str:
    if s.infeasible:
        return f"{s.infeasible} of {s.n} infeasible"
    error = "" if math.isnan(s.error) else f" ± {number(s.error, 2)}"
    return number(s.mean) + error


def _title(label: str, methods: Mapping[str, Runs]) -> str:
    return f"{label} {CENTRED}" if _any_record(methods).centred else label


def _note(group: Group, methods: Mapping[str, Runs]) -> str:
    record = _any_record(methods)
    common = tables.common_seeds(methods.values())
    text = (
        f"{group.budget} evaluations, {group.n_start} at the start; "
        f"{count(common, 'seed')} common to all methods"
    )
    if record.optimum is None:
        text += "; optimum not known: best value"
    if record.rechecked:
        text += ", re-evaluated for the table, as told (noisy) in the plot"
    return text + "."


def _any_record(methods: Mapping[str, Runs]) -> Record:
    return next(iter(next(iter(methods.values())).values()))


def convergence_panel(title: str, group: Group, methods: Mapping[str, Runs]) -> Panel:
    known = _any_record(methods).optimum is not None
    curves = {name: tables.convergence(runs, group.budget) for name, runs in methods.items()}
    every = np.concatenate([np.concatenate([c.y, c.low, c.high]) for c in curves.values()])
    positive = every[every > 0]
    log = known and len(positive) > 0
    # An exact optimum has no logarithm: it is drawn below everything else.
    floor = positive.min() / 2 if log else -np.inf
    return Panel(
        title,
        [
            Line(name, c.x, *(np.maximum(y, floor) for y in (c.y, c.low, c.high)))
            for name, c in curves.items()
        ],
        "evaluations",
        "regret" if known else "best value",
        log_y=log,
        start=group.n_start or None,
        y_range=None
        if log
        else _visible(every, [c.y[c.x >= group.n_start] for c in curves.values()]),
    )


def _visible(every: np.ndarray, medians: Sequence[np.ndarray]) -> tuple[float, float] | None:
    """From the lowest of all to the highest median after the start: bad first values would
    flatten everything else."""
    later = np.concatenate(medians)
    if not np.isfinite(later).any():
        return None
    low, high = float(np.nanmin(every)), float(np.nanmax(later))
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def duel_blocks(duels: Sequence[contests.Duel], labels: Mapping[Group, str]) -> list[Block]:
    found: list[Block] = [
        "Each cell: ▲ ours is significantly better, ▼ significantly worse, · neither; the "
        "share of seeds in which ours was lower; the corrected p-value of the more likely "
        "direction and the test behind it with its number of pairs."
    ]
    for ours in sorted({d.ours for d in duels}):
        mine = [d for d in duels if d.ours == ours]
        peers = sorted({d.peer for d in mine})
        rows: list[list[Cell | str]] = []
        for group in dict.fromkeys(d.group for d in mine):
            cells = {d.peer: _duel_cell(d) for d in mine if d.group == group}
            rows.append([labels[group], *(cells.get(peer, "") for peer in peers)])
        totals = [[d.verdict for d in mine if d.peer == peer] for peer in peers]
        counts = [f"{t.count(1)} ▲ {t.count(0)} · {t.count(-1)} ▼" for t in totals]
        rows.append([Cell("count", bold=True), *counts])
        wholes = {o.peer: o for o in contests.overall(duels) if o.ours == ours}
        rows.append([Cell("over all problems", bold=True), *(_whole(wholes[p]) for p in peers)])
        found.append(Table([f"{ours} against", *peers], rows))
    found.append(
        "Over all problems: Wilcoxon's signed-rank test with problems as pairs, on the share of "
        "seeds in which ours was lower; its number of pairs is the number of problems."
    )
    return found


def _whole(whole: contests.Overall) -> Cell:
    sign = SIGNS[whole.verdict]
    p = min(whole.p_better, whole.p_worse)
    won = f"{sign} {percent(whole.superiority)}"
    return Cell(won, bold=True, verdict=whole.verdict, detail=f"p {p_value(p)} W{whole.n}")


_LETTERS = {"t": "t", "Wilcoxon": "W", "Welch": "Welch", "Mann-Whitney": "U"}


def _duel_cell(duel: contests.Duel) -> Cell:
    likely = duel.better if duel.better.p <= duel.worse.p else duel.worse
    p = min(duel.p_better, duel.p_worse)
    won = f"{SIGNS[duel.verdict]} {percent(duel.superiority)}"
    detail = f"p {p_value(p)} {_LETTERS[likely.kind]}{likely.n}"
    return Cell(won, verdict=duel.verdict, detail=detail)


def telling(ranked: Sequence[contests.Ranking]) -> Sequence[contests.Ranking]:
    """The richest rankings; two methods are only ranked if there are no more."""
    return [r for r in ranked if r is ranked[0] or len(r.methods) > 2][:MOST_RANKINGS]


def rank_blocks(ranked: Sequence[contests.Ranking], name: str) -> list[Block]:
    found: list[Block] = []
    for place, ranking in enumerate(ranked, 1):
        friedman = (
            "" if math.isnan(ranking.friedman)
            else f" Friedman's test that all are equal: p {p_value(ranking.friedman)}."
        )  # fmt: skip
        found.append(
            RankFigure(
                f"{name}-{place}" if place > 1 else name,
                f"Mean rank of {count(ranking.methods, 'method')} over "
                f"{count(ranking.problems, 'problem')}: {few(ranking.problems)}. Ranks of the "
                "medians; whiskers: 95 % bootstrap interval over problems; bars on the right join "
                f"methods that do not differ significantly (Nemenyi, 5 %).{friedman}",
                ranking,
            )
        )
        rows: list[list[Cell | str]] = [
            [Cell(m, bold=is_ours(m)), f"{a:.2f}", f"{low:.2f} to {high:.2f}", _rank(b)]
            for m, a, low, high, b in zip(
                ranking.methods, ranking.mean_rank, ranking.low, ranking.high, ranking.seed_rank,
                strict=True,
            )
        ]  # fmt: skip
        header = ["method", "mean rank of medians", "95 % interval", "mean rank within seeds"]
        found.append(Table(header, rows))
    return found


def _rank(mean: float) -> str:
    return "no common seed" if math.isnan(mean) else f"{mean:.2f}"
