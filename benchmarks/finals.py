"""What each run reached, one line a run: small enough to keep with the program.

    python benchmarks/finals.py cbo noisy      # take over what results/SUITE has

Whole records are large and stay where they were made. The tables of docs/results.md need only the
last figure of a run, and those of runs on several machines can be put together here. A run that is
in both counts as it was made last.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neurobo.bench import tables
from neurobo.bench.problems import problem
from neurobo.bench.records import Job, Record, Store, listed

RESULTS, KEPT = Path("results"), Path("benchmarks/reference/finals")
COLUMNS = ["problem", "method", "seed", "budget", "n_start", "reached", "cpu", "source"]


def update(suite: str) -> None:
    """Take over the whole runs of results/SUITE."""
    found = dict(zip(_jobs(suite), _rows(suite), strict=True))
    for record in Store(RESULTS / suite).read():
        if not record.error:
            found[record.job] = _row(record)
    KEPT.mkdir(parents=True, exist_ok=True)
    with path(suite).open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for job in sorted(found, key=lambda j: (j.problem, j.method, j.seed)):
            writer.writerow(found[job])


def results(suite: str) -> tables.Results:
    """The kept runs as records of one evaluation, in which regret is all there is."""
    records = []
    for about, row in zip(_jobs(suite), _rows(suite), strict=True):
        reached = float(row["reached"])
        constrained = "constraints" in problem(about.problem, about.seed).kinds
        violations = [0.0] if constrained else None
        records.append(Record(about, [reached], violations=violations, optimum=0.0))
    return tables.gather(records)


def path(suite: str) -> Path:
    return KEPT / f"{suite}.csv"


def _rows(suite: str) -> list[dict[str, Any]]:
    if not path(suite).exists():
        return []
    with path(suite).open(newline="") as file:
        return list(csv.DictReader(file))


def _jobs(suite: str) -> list[Job]:
    return [job for job, _ in listed(path(suite))] if path(suite).exists() else []


def _row(record: Record) -> dict[str, Any]:
    """With constraints what counts is regret plus violation."""
    constrained = record.violations is not None and record.optimum is not None
    reached = record.regret_and_violation().min() if constrained else tables.final(record)
    return {
        **asdict(record.job),
        "reached": f"{reached:.6g}",
        "cpu": f"{sum(record.cpu_seconds):.3g}",
        "source": record.versions.get("neurobo source", ""),
    }


if __name__ == "__main__":
    for name in sys.argv[1:]:
        update(name)
