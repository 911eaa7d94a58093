"""Records as tables of numbers: which runs belong together, what they reached, what they cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from neurobo.bench import stats
from neurobo.bench.problems import bbob
from neurobo.bench.records import Record, Store
from neurobo.errors import InvalidInput, NeuroboError

Vector = Float[np.ndarray, " n"]
Runs = Mapping[int, Record]
"""The whole runs of one method in one group, by seed."""


class Group(NamedTuple):
    """Runs that may be compared: the same problem, budget and start."""

    problem: str
    budget: int
    n_start: int


@dataclass(frozen=True)
class Results:
    """The whole runs of an experiment, and the runs that broke off."""

    runs: Mapping[Group, Mapping[str, Runs]]
    failed: Sequence[Record]

    @property
    def records(self) -> list[Record]:
        return [
            record for group in self.runs.values() for runs in group.values()
            for record in runs.values()
        ]  # fmt: skip

    @property
    def methods(self) -> list[str]:
        """Ours first, then the others, each by name."""
        names = {method for group in self.runs.values() for method in group}
        return sorted(names, key=lambda name: (not is_ours(name), name))

    def labels(self) -> dict[Group, str]:
        """Names for people: the problem's, and what tells apart groups of one problem."""
        problems = [group.problem for group in self.runs]
        return {
            g: g.problem
            if problems.count(g.problem) == 1
            else f"{g.problem} ({g.budget} evaluations, {g.n_start} at the start)"
            for g in self.runs
        }

    def where(self, groups: Iterable[Group]) -> Results:
        return Results({group: self.runs[group] for group in groups}, ())


def read(folder: Path) -> Results:
    records = Store(folder).read()
    if not records:
        raise NeuroboError(f"a folder of benchmark records was expected, got none in {folder}")
    return gather(records)


def gather(records: Iterable[Record]) -> Results:
    """Sort records by group, method and seed; of two records of one job the later whole one."""
    runs: dict[Group, dict[str, dict[int, Record]]] = {}
    failed = {}
    for record in records:
        job = record.job
        if record.error or not len(record.values):
            failed[job] = record
            continue
        group = Group(job.problem, job.budget, job.n_start)
        runs.setdefault(group, {}).setdefault(job.method, {})[job.seed] = record
    whole = {r.job for group in runs.values() for seeds in group.values() for r in seeds.values()}
    return Results(runs, [record for job, record in failed.items() if job not in whole])


@cache
def is_ours(method: str) -> bool:
    """Whether a method is one of our algorithms rather than a peer."""
    from neurobo.algorithm.registry import algorithms
    from neurobo.bench.peers import method as find

    try:
        return find(method).ours
    except NeuroboError:  # an option or a peer that this version does not know
        return method.partition(":")[0] in algorithms()


def bbob_dim(problem: str) -> int | None:
    """The dimension of a COCO problem, None for any other."""
    function = bbob_function(problem)
    return None if function is None else function[1]


def bbob_function(problem: str) -> tuple[int, int] | None:
    """Function and dimension of a COCO problem, None for any other."""
    try:
        found = bbob.parse(problem.partition("+")[0])
    except InvalidInput:  # a name that only looks like one
        return None
    return None if found is None else found[:2]


# What was reached -----------------------------------------------------------------------------


def final(record: Record) -> float:
    """Regret in the end (best value where no optimum is known); +inf if nothing was feasible.

    Where noise hides the truth it is the mean of the fresh evaluations of the best point.
    """
    if record.rechecked:
        known = [value for value in record.rechecked if math.isfinite(value)]
        return float(np.mean(known)) - (record.optimum or 0.0) if known else math.inf
    last = float(record.regrets()[-1])
    return math.inf if math.isnan(last) else last


def with_violation(results: Results) -> Results:
    """The constrained problems with a known optimum, as if the sum of positive regret and violation
    were what is minimised: everything that compares regrets then compares this."""
    return Results(
        {
            group: {
                name: {seed: _with_violation(record) for seed, record in runs.items()}
                for name, runs in methods.items()
            }
            for group, methods in results.runs.items()
            if all(_has_violation(r) for runs in methods.values() for r in runs.values())
        },
        (),
    )


def _has_violation(record: Record) -> bool:
    return record.violations is not None and _regret_is_known(record)


def _with_violation(record: Record) -> Record:
    return replace(
        record,
        values=record.regret_and_violation().tolist(),
        truths=None,
        violations=None,
        true_violations=None,
        optimum=0.0,
    )


def with_known_regret(results: Results) -> Results:
    """The problems whose every evaluation has a known regret: no noise hides the truth."""
    return results.where(
        group
        for group, methods in results.runs.items()
        if all(_regret_is_known(r) for runs in methods.values() for r in runs.values())
    )


def _regret_is_known(record: Record) -> bool:
    return record.optimum is not None and not record.rechecked


def finals(runs: Runs) -> Vector:
    return np.array([final(runs[seed]) for seed in sorted(runs)])


def common_seeds(runs: Iterable[Runs]) -> list[int]:
    return sorted(set.intersection(*(set(seeds) for seeds in runs)))


SOLVED = 1e-8
"""Regrets below this share of the start's are equally good: rounding, not search, decides there."""


def scores(methods: Mapping[str, Runs]) -> dict[str, dict[int, float]]:
    """Results of a group as tests compare them, by method and seed.

    The logarithm of the regret, because regrets spread over orders of magnitude; the best value
    itself where no optimum is known.
    """
    found = {name: {s: final(r) for s, r in sorted(runs.items())} for name, runs in methods.items()}
    if next(iter(next(iter(methods.values())).values())).optimum is None:
        return found
    floor = SOLVED * start_regret(methods)
    return {
        name: {seed: math.log10(max(regret, floor)) for seed, regret in results.items()}
        for name, results in found.items()
    }


def start_regret(methods: Mapping[str, Runs]) -> float:
    """Median over runs of what the start reached; 1 where it reached nothing."""
    every = [
        r.regrets()[: max(1, r.job.n_start)] for runs in methods.values() for r in runs.values()
    ]
    reached = [float(np.fmin.reduce(start)) for start in every]
    positive = [regret for regret in reached if regret > 0]  # not NaN either
    return float(np.median(positive)) if positive else 1.0


@dataclass(frozen=True)
class Summary:
    """What one method reached in one group."""

    n: int
    mean: float
    error: float
    """Standard error of the mean."""
    median: float
    infeasible: int
    """Runs without any feasible point."""
    cpu_seconds: float
    """Median over runs."""


def summary(runs: Runs) -> Summary:
    results = finals(runs)
    mean, error = stats.mean_and_error(results)
    return Summary(
        n=len(results),
        mean=mean,
        error=error,
        median=float(np.median(results)),
        infeasible=int(np.isinf(results).sum()),
        cpu_seconds=float(np.median([np.sum(r.cpu_seconds) for r in runs.values()])),
    )


@dataclass(frozen=True)
class Curve:
    """Median and quartiles over runs; NaN where there is none."""

    x: Vector
    y: Vector
    low: Vector
    high: Vector


def convergence(
    runs: Runs,
    budget: int,
    points: int = 120,
    *,
    trace_of: Callable[[Record], Vector] = Record.regrets,
) -> Curve:
    """Regret, or best value, against evaluations; or another trace of records. A run that ended
    early keeps its last."""
    traces = np.full((len(runs), budget), np.inf)
    for row, record in zip(traces, runs.values(), strict=True):
        trace = np.nan_to_num(trace_of(record)[:budget], nan=np.inf)
        row[: len(trace)] = trace
        row[len(trace) :] = trace[-1]
    chosen = np.unique(np.linspace(0, budget - 1, min(budget, points)).round().astype(int))
    low, middle, high = _quartiles(traces[:, chosen])
    return Curve(chosen + 1.0, middle, low, high)


def _quartiles(values: Float[np.ndarray, "runs n"]) -> Float[np.ndarray, "3 n"]:
    """Quartiles over runs, NaN where one is not finite."""
    huge = 1e250  # infinity itself would spoil its finite neighbours
    found = np.quantile(np.minimum(values, huge), [0.25, 0.5, 0.75], axis=0)
    return np.where(found > 1e-3 * huge, np.nan, found)


def same_start(results: Results) -> tuple[int, int]:
    """How many (problem, seed) pairs were run by several methods, and how many of those pairs
    began with the same values for every method."""
    shared = same = 0
    for group, methods in results.runs.items():
        starts: dict[int, list[Vector]] = {}
        for runs in methods.values():
            for seed, record in runs.items():
                starts.setdefault(seed, []).append(record.true_values[: group.n_start])
        for first, *others in starts.values():
            shared += bool(others)
            same += bool(others) and all(
                len(first) == len(o) and np.allclose(first, o, rtol=1e-6, equal_nan=True)
                for o in others
            )
    return shared, same


# What it cost ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """Time and memory of one method over all its runs."""

    n: int
    per_suggestion: float
    """Median processor seconds of a suggestion."""
    slow_suggestion: float
    """95 % of the suggestions took less."""
    per_run: float
    """Median processor seconds of a run."""
    wall_per_run: float
    objective_per_run: float
    peak_mib: float
    """Largest of all runs."""


def cost(runs: Sequence[Record]) -> Cost:
    each = np.concatenate([suggestion_seconds(r) for r in runs])
    return Cost(
        n=len(runs),
        per_suggestion=float(np.median(each)) if len(each) else math.nan,
        slow_suggestion=float(np.quantile(each, 0.95)) if len(each) else math.nan,
        per_run=float(np.median([np.sum(r.cpu_seconds) for r in runs])),
        wall_per_run=float(np.median([np.sum(r.seconds) for r in runs])),
        objective_per_run=float(np.median([r.objective_seconds for r in runs])),
        peak_mib=max(r.peak_mib for r in runs),
    )


def suggestion_seconds(record: Record) -> Vector:
    """Processor seconds of each suggestion after the start."""
    return np.asarray(record.cpu_seconds[record.job.n_start :], dtype=float)


def times(runs: Sequence[Record], points: int = 60) -> tuple[Vector, Vector]:
    """Observations, and median processor seconds of a suggestion made from that many."""
    n = np.concatenate([r.job.n_start + np.arange(len(suggestion_seconds(r))) for r in runs])
    seconds = np.concatenate([suggestion_seconds(r) for r in runs])
    if not len(n):
        return n, seconds
    width = max(1, math.ceil((n.max() - n.min() + 1) / points))
    bins = (n - n.min()) // width
    kept = np.unique(bins)
    middles = [np.median(n[bins == b]) for b in kept]
    return np.array(middles), np.array([np.median(seconds[bins == b]) for b in kept])
