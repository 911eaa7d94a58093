"""Who is better than whom: tests between methods, and mean ranks over problems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from neurobo.bench import stats
from neurobo.bench.tables import Group, Results, Runs, finals, is_ours, scores, summary

Vector = Float[np.ndarray, " methods"]
Scores = Mapping[int, float]
"""What tests compare, by seed."""


def best_method(methods: Mapping[str, Runs]) -> str:
    """The lowest median; the lower mean where medians are equal."""

    def quality(name: str) -> tuple[float, float, str]:
        found = summary(methods[name])
        return found.median, found.mean, name

    return min(methods, key=quality)


def not_worse(methods: Mapping[str, Runs]) -> set[str]:
    """The best method, and those that are not significantly worse on this problem."""
    best = best_method(methods)
    others = [name for name in methods if name != best]
    found = scores(methods)
    p = stats.adjusted(np.array([lower(found[best], found[name]).p for name in others]))
    return {best} | {name for name, value in zip(others, p, strict=True) if value > stats.LEVEL}


@dataclass(frozen=True)
class Duel:
    """One of our methods against a peer on one problem."""

    group: Group
    ours: str
    peer: str
    better: stats.Test
    """Whether ours is lower."""
    worse: stats.Test
    superiority: float
    """Share of pairs in which ours is lower."""
    ratio: float
    """Our median in units of the peer's."""
    p_better: float = math.nan
    """Corrected for all tests of the report."""
    p_worse: float = math.nan

    @property
    def verdict(self) -> int:
        """1 if ours is significantly better, -1 if it is worse, 0 if neither."""
        return int(self.p_better <= stats.LEVEL) - int(self.p_worse <= stats.LEVEL)


def duels(results: Results) -> list[Duel]:
    """Each of our methods against each peer on each problem; both directions of every test are
    one family for Benjamini and Hochberg."""
    found = []
    for group, methods in results.runs.items():
        compared = scores(methods)
        for ours in filter(is_ours, methods):
            for peer in methods:
                if not is_ours(peer):
                    found.append(_duel(group, methods, compared, ours, peer))
    p = stats.adjusted(np.array([d.better.p for d in found] + [d.worse.p for d in found]))
    return [
        replace(duel, p_better=float(p[i]), p_worse=float(p[i + len(found)]))
        for i, duel in enumerate(found)
    ]


def _duel(
    group: Group, methods: Mapping[str, Runs], found: Mapping[str, Scores], ours: str, peer: str
) -> Duel:
    known = next(iter(methods[ours].values())).optimum is not None
    a, b, paired = _samples(found[ours], found[peer])
    return Duel(
        group,
        ours,
        peer,
        better=lower(found[ours], found[peer]),
        worse=lower(found[peer], found[ours]),
        superiority=stats.superiority(a, b) if paired else (1 - stats.cliffs_delta(a, b)) / 2,
        ratio=stats.median_ratio(finals(methods[ours]), finals(methods[peer]))
        if known
        else math.nan,
    )


def _samples(a: Scores, b: Scores) -> tuple[Vector, Vector, bool]:
    """Pairs over the common seeds, or all values where there are fewer than two."""
    seeds = sorted(a.keys() & b.keys())
    if len(seeds) > 1:
        return np.array([a[s] for s in seeds]), np.array([b[s] for s in seeds]), True
    return np.array(list(a.values())), np.array(list(b.values())), False


def lower(a: Scores, b: Scores) -> stats.Test:
    """Whether the first method's results are lower, over common seeds if there are two."""
    x, y, paired = _samples(a, b)
    return stats.lower(x, y) if paired else stats.lower_unpaired(x, y)


@dataclass(frozen=True)
class Overall:
    """One of our methods against a peer over all problems that both ran on."""

    ours: str
    peer: str
    n: int
    """Problems."""
    superiority: float
    """Mean over problems of the share of seeds in which ours is lower."""
    p_better: float
    """Both corrected for all of these tests."""
    p_worse: float

    @property
    def verdict(self) -> int:
        return int(self.p_better <= stats.LEVEL) - int(self.p_worse <= stats.LEVEL)


def overall(found: Sequence[Duel]) -> list[Overall]:
    """Wilcoxon's test with problems as pairs: by how much each one's share of won seeds differs
    from a half. It sees what a few seeds on one problem cannot show."""
    shares: dict[tuple[str, str], list[float]] = {}
    for duel in found:
        shares.setdefault((duel.ours, duel.peer), []).append(duel.superiority)
    lost = [0.5 - np.array(won) for won in shares.values()]
    tests = [p for d in lost for p in (stats.signed_rank(d), stats.signed_rank(-d))]
    p = stats.adjusted(np.array(tests)).reshape(-1, 2)
    return [
        Overall(*pair, len(won), float(np.mean(won)), float(better), float(worse))
        for (pair, won), (better, worse) in zip(shares.items(), p, strict=True)
    ]


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of methods that all ran on the same problems; 1 is best."""

    methods: Sequence[str]
    """Ascending by mean rank."""
    problems: Sequence[str]
    mean_rank: Vector
    """Ranks of the medians, a mean over problems."""
    low: Vector
    """Bootstrap interval over problems, 95 %."""
    high: Vector
    seed_rank: Vector
    """Ranks within each seed, a mean over seeds, then over problems."""
    friedman: float
    critical_difference: float

    @property
    def cliques(self) -> list[tuple[int, int]]:
        """First and last place of methods that do not differ significantly."""
        return stats.cliques(self.mean_rank, self.critical_difference)


def rankings(results: Results, units: Mapping[Group, str]) -> list[Ranking]:
    """One ranking for each set of methods that some problem was run with, over all problems that
    have every one of them, the richest first. `units` names the problem that a group counts
    to: instances of one function count once."""
    sets = {frozenset(methods) for methods in results.runs.values()}
    if sets:
        sets.add(frozenset.intersection(*sets))
    found = []
    for chosen in sets:
        groups = [group for group, methods in results.runs.items() if chosen <= set(methods)]
        if len(chosen) > 1:
            found.append(_ranking(results, sorted(chosen), groups, units))
    return sorted(found, key=lambda r: (-len(r.problems) * (len(r.methods) - 1), r.methods))


def _ranking(
    results: Results, methods: list[str], groups: list[Group], units: Mapping[Group, str]
) -> Ranking:
    medians: dict[str, list[Vector]] = {}
    by_seed: dict[str, list[Vector]] = {}
    for group in groups:
        compared = scores({name: results.runs[group][name] for name in methods})
        middle = [np.median(list(compared[name].values())) for name in methods]
        medians.setdefault(units[group], []).append(np.array(middle))
        seeds = set.intersection(*(set(compared[name]) for name in methods))
        if seeds:
            table = stats.ranks(np.array([[compared[m][s] for m in methods] for s in seeds]))
            by_seed.setdefault(units[group], []).append(table.mean(axis=0))
    # Instances of one function differ in scale: ranks, not results, are averaged over them.
    table = np.array([stats.ranks(np.array(rows)).mean(axis=0) for rows in medians.values()])
    mean_rank = table.mean(axis=0)
    low, high = stats.interval(table)
    seed_rank = (
        np.array([np.mean(rows, axis=0) for rows in by_seed.values()]).mean(axis=0)
        if by_seed
        else np.full(len(methods), np.nan)
    )
    order = np.argsort(mean_rank, kind="stable")
    return Ranking(
        methods=[methods[i] for i in order],
        problems=list(medians),
        mean_rank=mean_rank[order],
        low=low[order],
        high=high[order],
        seed_rank=seed_rank[order],
        friedman=stats.friedman(table),
        critical_difference=stats.critical_difference(len(methods), len(medians)),
    )
