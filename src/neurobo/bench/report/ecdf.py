"""COCO's measure: the share of (function, target) pairs solved after so many evaluations.

Targets are regrets from 100 down to 1e-8. Nothing is extrapolated: a target that a run did not
reach within its budget counts as not solved. COCO's own post-processing simulates restarts instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from neurobo.bench import stats
from neurobo.bench.records import Record
from neurobo.bench.tables import Group, Results, bbob_function, common_seeds, is_ours

Vector = Float[np.ndarray, " n"]
TARGETS: Vector = np.logspace(2, -8, 51)

Hits = Mapping[int, Sequence[Vector]]
"""By function, for each run: evaluations for each dimension until each target, or infinity."""


@dataclass(frozen=True)
class Solved:
    """Hits of each method in one dimension, on the functions, instances and seeds that all have."""

    dim: int
    budget: float
    """Evaluations for each dimension."""
    hits: Mapping[str, Hits]

    @property
    def functions(self) -> list[int]:
        return sorted(next(iter(self.hits.values())))

    @property
    def n_runs(self) -> int:
        return sum(len(runs) for runs in next(iter(self.hits.values())).values())

    def by_function(self, method: str, budget: float = np.inf) -> Vector:
        """Share of targets solved for each function."""
        hits, limit = self.hits[method], min(budget, self.budget)
        return np.array([np.mean(np.array(hits[f]) <= limit) for f in self.functions])


def first_hits(record: Record, dim: int) -> Vector:
    """Evaluations for each dimension until each target was reached."""
    regret = np.nan_to_num(record.regrets(), nan=np.inf)
    reached = regret[:, None] <= TARGETS  # regrets never rise, so the columns are 0 0 1 1
    return np.where(reached.any(axis=0), (reached.argmax(axis=0) + 1) / dim, np.inf)


def solved(results: Results) -> list[Solved]:
    """One for each dimension, on what every method of that dimension ran."""
    by_dim: dict[int, list[tuple[int, Group]]] = {}
    for group in results.runs:
        if (found := bbob_function(group.problem)) is not None:
            by_dim.setdefault(found[1], []).append((found[0], group))
    return [_solved(results, dim, members) for dim, members in sorted(by_dim.items())]


def _solved(results: Results, dim: int, members: list[tuple[int, Group]]) -> Solved:
    methods = list(dict.fromkeys(m for _, group in members for m in results.runs[group]))
    hits: dict[str, dict[int, list[Vector]]] = {method: {} for method in methods}
    budgets = []
    for function, group in members:
        runs = results.runs[group]
        if set(runs) != set(methods):
            continue
        seeds = common_seeds(runs.values())
        if seeds:
            budgets.append(group.budget / dim)
        for method in methods if seeds else ():
            new = [first_hits(runs[method][seed], dim) for seed in seeds]
            hits[method].setdefault(function, []).extend(new)
    return Solved(dim, min(budgets, default=0.0), hits)


POINTS = 120
"""Of a curve."""


def curve(parts: Sequence[Solved], method: str) -> tuple[Vector, Vector]:
    """Evaluations for each dimension, and the share of pairs solved by then; functions count
    equally, whatever the number of their runs."""
    budget = min(part.budget for part in parts)
    x = np.geomspace(min(1 / part.dim for part in parts), budget, POINTS)
    return x, np.concatenate([_shares(part, method, x) for part in parts]).mean(axis=0)


def areas(part: Solved, method: str) -> Vector:
    """For each function the area under its curve over the logarithm of evaluations, at most 1."""
    return _shares(part, method, np.geomspace(1 / part.dim, part.budget, POINTS)).mean(axis=1)


def _shares(part: Solved, method: str, x: Vector) -> Float[np.ndarray, "functions points"]:
    """Of targets that are solved after so many evaluations for each dimension."""
    hits = part.hits[method]
    runs = (np.array(hits[f]) for f in part.functions)
    return np.array([np.mean(one[..., None] <= x, axis=(0, 1)) for one in runs])


@dataclass(frozen=True)
class Duel:
    """Our share of solved targets against a peer's in one dimension, functions as pairs."""

    dim: int
    ours: str
    peer: str
    difference: float
    """Mean over functions of our share minus the peer's."""
    n: int
    p_better: float
    """Both corrected for all of these tests."""
    p_worse: float


def duels(parts: Sequence[Solved]) -> list[Duel]:
    found = []
    p = []
    for part in parts:
        for ours in filter(is_ours, part.hits):
            for peer in part.hits:
                a, b = part.by_function(ours), part.by_function(peer)
                if not is_ours(peer) and len(a):
                    found.append((part.dim, ours, peer, float(np.mean(a - b)), len(a)))
                    p += [stats.lower(-a, -b).p, stats.lower(-b, -a).p]
    corrected = stats.adjusted(np.array(p)).reshape(-1, 2)
    return [Duel(*d, *map(float, c)) for d, c in zip(found, corrected, strict=True)]
