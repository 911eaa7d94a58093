"""What each run reached, one line a run: small enough to keep with the program.

    python benchmarks/finals.py auto-report      # take over what results/SUITE has

Whole records are large and stay where they were made. The tables of the pages need only what a run
reached, in the end and at each step on its way, and runs on several machines can be put
together here. A run that is in both counts as it was made last. `steps` are pairs of an evaluation
and the regret from there on, as in "1:20.3 7:4.1". `mean_regret` is R_T/T, the cumulative regret
over the number of evaluations, empty where it is not known.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from neurobo.bench import tables
from neurobo.bench.problems import problem, yahpo
from neurobo.bench.records import Job, Record, Store, listed
from neurobo.bench.run_one import SOURCE

RESULTS, KEPT = Path("results"), Path("benchmarks/reference/finals")
COLUMNS = [
    "problem", "method", "seed", "budget", "n_start", "reached", "mean_regret", "cpu", "source",
    "steps",
]  # fmt: skip


def update(suite: str) -> None:
    """Take over the whole runs of results/SUITE."""
    found = dict(zip(jobs(suite), rows(suite), strict=True))
    for record in Store(RESULTS / suite).read():
        if not record.error:
            found[record.job] = _row(record)
    path(suite).parent.mkdir(parents=True, exist_ok=True)
    with path(suite).open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for job in sorted(found, key=lambda j: (j.problem, j.method, j.seed)):
            writer.writerow(found[job])


def results(suite: str) -> tables.Results:
    """The kept runs as records in which regret is all there is: at every evaluation, or only the
    last if the steps are not known."""
    records = []
    for about, row in zip(jobs(suite), rows(suite), strict=True):
        values = curve(row["steps"] or f"1:{row['reached']}", about.budget if row["steps"] else 1)
        constrained, solvable = _known(about)
        violations = np.where(np.isfinite(values), 0.0, 1.0).tolist() if constrained else None
        optimum = 0.0 if solvable else None
        cpu = [float(row["cpu"]) / len(values)] * len(values)
        versions = {SOURCE: row["source"]} if row["source"] else {}
        records.append(
            Record(
                about,
                values,
                violations=violations,
                optimum=optimum,
                cpu_seconds=cpu,
                versions=versions,
            )
        )
    return tables.gather(records)


def curve(steps: str, length: int) -> list[float]:
    """Regret after each evaluation; infinite before the first step."""
    found = np.full(length, np.inf)
    for step in steps.split():
        at, _, value = step.partition(":")
        found[int(at) - 1 :] = float(value)
    return [float(v) for v in found]


def _steps(curve: np.ndarray) -> str:
    """Where a curve that never rises falls, to four digits."""
    words, last = [], ""
    for i, value in enumerate(curve):
        text = f"{value:.4g}"
        if np.isfinite(value) and text != last:
            words.append(f"{i + 1}:{text}")
            last = text
    return " ".join(words)


def path(suite: str) -> Path:
    return KEPT / f"{suite}.csv"


def rows(suite: str) -> list[dict[str, Any]]:
    """The kept runs as they are written."""
    if not path(suite).exists():
        return []
    with path(suite).open(newline="") as file:
        return [{"steps": "", **row} for row in csv.DictReader(file)]


def jobs(suite: str) -> list[Job]:
    """The jobs of the kept runs, row by row."""
    return [job for job, _ in listed(path(suite))] if path(suite).exists() else []


def _known(job: Job) -> tuple[bool, bool]:
    """Whether a problem has constraints, and whether its optimum is known."""
    if yahpo.parse(job.problem) is not None:  # no data are needed to say so
        return False, False
    given = problem(job.problem, job.seed)
    return "constraints" in given.kinds, given.optimum is not None


def _row(record: Record) -> dict[str, Any]:
    """With constraints what counts is regret plus violation."""
    constrained = record.violations is not None and record.optimum is not None
    measure = record.regret_and_violation() if constrained else record.regrets()
    curve = np.fmin.accumulate(np.nan_to_num(measure, nan=np.inf))
    reached = curve[-1] if constrained else tables.final(record)
    return {
        **asdict(record.job),
        "reached": f"{reached:.6g}",
        "mean_regret": _mean_regret(record),
        "cpu": f"{sum(record.cpu_seconds):.3g}",
        "source": record.versions.get(SOURCE, ""),
        "steps": _steps(curve),
    }


def _mean_regret(record: Record) -> str:
    if record.optimum is None or record.rechecked:
        return ""
    return f"{record.cumulative_regrets()[-1] / len(record.values):.6g}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        update(name)
