"""Simulated records for tests of statistics and reports. No optimiser was run for them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from neurobo.bench.records import Job, Record

SPEED = {"auto": 6.0, "neural-greedy": 5.0, "botorch-logei": 4.0, "optuna-tpe": 2.0, "random": 0.6}
"""How much of the regret a method removes: decades, roughly, over a run."""


def simulated_record(
    problem: str = "branin-2+shift",
    method: str = "random",
    seed: int = 0,
    *,
    budget: int = 40,
    n_start: int = 5,
    speed: float | None = None,
    optimum: float | None = 0.4,
    constrained: bool = False,
    centred: bool = False,
    slowness: float = 1.0,
) -> Record:
    """A run with a plausible falling trace; the start is the same for every method."""
    start = _rng(problem, seed).lognormal(1.0, 1.0, n_start) * 10
    rng = _rng(problem, method, seed)
    rate = (SPEED.get(method, 1.5) if speed is None else speed) * rng.lognormal(0, 0.25)
    progress = np.linspace(0, 1, budget - n_start)
    level = start.min() * 10 ** (-rate * progress**0.8)
    values = np.concatenate([start, level * rng.lognormal(0.3, 0.8, budget - n_start)])
    seconds = 0.02 * slowness * (1 + np.arange(budget) / 20) * rng.lognormal(0, 0.2, budget)
    seconds[:n_start] = 1e-4
    violations = np.where(rng.random(budget) < 0.5, rng.random(budget), 0.0)
    return Record(
        job=Job(problem, method, seed, budget, n_start),
        values=(values + (optimum or 0.0)).tolist(),
        violations=violations.tolist() if constrained else None,
        seconds=(1.1 * seconds).tolist(),
        cpu_seconds=seconds.tolist(),
        objective_seconds=0.5,
        peak_mib=float(rng.uniform(200, 900)),
        optimum=optimum,
        centred=centred,
        versions={"python": "3.11.7", "simulated": "0"},
        machine={"system": "Linux", "processor": "simulated", "threads": 1},
        finished=f"2026-01-01T00:00:{seed % 60:02d}+00:00",
    )


def simulated_experiment(
    problems: Sequence[str], methods: Sequence[str] = tuple(SPEED), seeds: int = 5, **how: object
) -> list[Record]:
    return [
        simulated_record(problem, method, seed, **how)  # type: ignore[arg-type]
        for problem in problems
        for method in methods
        for seed in range(seeds)
    ]


def _rng(*key: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(key).encode()))
