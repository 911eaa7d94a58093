"""Finished runs as lines of JSON: appended only, whole or not at all, never read back as code."""

from __future__ import annotations

import csv
import fcntl
import json
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from neurobo.errors import InvalidInput, NeuroboError, NeuroboWarning

FILE = "runs.jsonl"
SCHEMA = 1


@dataclass(frozen=True)
class Job:
    """What one run is; two runs with the same job are the same run."""

    problem: str
    """Name with wrappers."""
    method: str
    """Name with options."""
    seed: int
    budget: int
    """Evaluations, the start included."""
    n_start: int


@dataclass(frozen=True)
class Record:
    """A finished run. Sequences have one entry for each evaluation."""

    job: Job
    values: Sequence[float] = ()
    """What the method was told; NaN where the evaluation failed."""
    truths: Sequence[float] | None = None
    """Values without noise, for a noisy problem that knows them."""
    violations: Sequence[float] | None = None
    """Summed broken constraints as told, for a constrained problem; 0 where feasible."""
    true_violations: Sequence[float] | None = None
    """The same without noise, where constraints are noisy."""
    failures: Sequence[str] = ()
    """Why evaluations failed."""
    seconds: Sequence[float] = ()
    """Wall time of the method (ask and tell) for each evaluation; the start costs no ask."""
    cpu_seconds: Sequence[float] = ()
    """The same in processor time, which other work on the machine does not increase."""
    objective_seconds: float = 0.0
    peak_mib: float = math.nan
    """Largest resident memory of the run's process."""
    optimum: float | None = None
    best: dict[str, Any] | None = None
    """The best feasible point told."""
    rechecked: Sequence[float] | None = None
    """Fresh evaluations of the best point, for a noisy problem without known truth."""
    centred: bool = False
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    finished: str = ""
    error: str = ""
    """Why the run broke off, empty for a whole one."""

    @property
    def true_values(self) -> np.ndarray:
        return np.asarray(self.values if self.truths is None else self.truths, dtype=float)

    @property
    def broken(self) -> np.ndarray:
        """Summed broken constraints without noise; 0 without constraints."""
        known = self.violations if self.true_violations is None else self.true_violations
        return np.zeros(len(self.values)) if known is None else np.asarray(known, dtype=float)

    def regret_and_violation(self) -> np.ndarray:
        """Of each evaluation: what its true value exceeds the optimum by, 0 where it is lower,
        plus its summed broken constraints."""
        if self.optimum is None:
            raise InvalidInput(f"a regret needs a known optimum, got none for {self.job.problem!r}")
        return np.maximum(self.true_values - self.optimum, 0.0) + self.broken

    def cumulative_regrets(self) -> np.ndarray:
        """R_t, what all evaluations so far have cost: the sum of their regrets, where constraints
        are broken with the violation. A failed evaluation adds nothing."""
        return np.nancumsum(self.regret_and_violation())

    def best_so_far(self) -> np.ndarray:
        """The lowest true value among feasible points evaluated so far; NaN before the first."""
        return np.fmin.accumulate(np.where(self.broken > 0, np.nan, self.true_values))

    def regrets(self) -> np.ndarray:
        """Simple regret after each evaluation; the best value itself where no optimum is known."""
        return self.best_so_far() - (self.optimum or 0.0)


def write_line(record: Record) -> str:
    return json.dumps({"schema": SCHEMA, **asdict(record)}, allow_nan=True)


def read_line(text: str) -> Record:
    entries = json.loads(text)
    schema = entries.pop("schema")
    if schema != SCHEMA:
        raise InvalidInput(f"a record's schema must be {SCHEMA}, got {schema}")
    known = {f.name for f in fields(Record)}
    entries = {name: value for name, value in entries.items() if name in known}
    return Record(**{**entries, "job": Job(**entries["job"])})


def listed(path: Path) -> list[tuple[Job, str]]:
    """The jobs of a CSV file with the fields of `Job` as columns, and the state of our source that
    each was run with ("" for a peer, or if unknown)."""
    numbers = ("seed", "budget", "n_start")
    try:
        with path.open(newline="") as file:
            return [
                (
                    Job(row["problem"], row["method"], **{n: int(row[n]) for n in numbers}),
                    row.get("source") or "",
                )
                for row in csv.DictReader(file)
            ]
    except (OSError, KeyError, ValueError) as error:
        raise InvalidInput(
            f"{path} must be a CSV file with the columns problem, method, seed, budget and "
            f"n_start, got {error!r}"
        ) from None


class Store:
    """The finished runs of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILE

    def read(self) -> list[Record]:
        """All whole records; a line torn by a crash is left out, any other bad one is an error."""
        if not self.path.exists():
            return []
        lines = self.path.read_text().split("\n")
        records = []
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            try:
                records.append(read_line(line))
            except json.JSONDecodeError:
                warnings.warn(
                    f"{self.path} line {number} is torn and is left out", NeuroboWarning, 2
                )
            except (KeyError, TypeError, AttributeError, InvalidInput) as error:
                raise NeuroboError(f"{self.path} line {number} is no record: {error}") from error
        return records

    def append(self, record: Record) -> None:
        """Add one record; when this returns it survives any crash."""
        torn = self.path.exists() and not self.path.read_bytes().endswith(b"\n")
        with self.path.open("ab") as file:
            if torn and file.tell():
                file.write(b"\n")
            file.write(write_line(record).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Refuse a second writer: it would repeat our runs."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise NeuroboError(
                    f"only one `bench run` may write to a folder, another one is at {self.folder}"
                ) from None
            yield
