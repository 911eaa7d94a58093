"""Unknown constraints without noise: how soon a point is feasible, good, and at what cost.

python benchmarks/constraints.py islands    # Gardner's two islands, 2 % of the box; 15 seeds
python benchmarks/constraints.py reducer    # speed reducer, 11 constraints; 5 seeds
python benchmarks/constraints.py cost       # seconds a suggestion, 11 constraints against 1
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import neurobo
from neurobo.bench.problem import Problem
from neurobo.bench.problems import problem

NEAR = 0.01
"""Relative regret that counts as arrived."""


def evaluations(task: Problem, seed: int, most: int, near: float | None) -> int:
    """How many until a point is feasible and, if asked for, near the optimum; `most` if never."""
    found: list[int] = []

    def objective(p: dict[str, float]) -> tuple[float, dict[str, float]]:
        outcome = task.evaluate(p, np.random.default_rng(0))
        return outcome.value, dict(outcome.constraints)

    def stop(study: object, trial: object) -> None:
        limits, value = trial.constraints.values(), trial.value  # type: ignore[attr-defined]
        lowest = task.optimum or 0.0
        close = near is None or value <= lowest + near * abs(lowest)
        if all(c <= 0 for c in limits) and close:
            found.append(trial.number + 1)  # type: ignore[attr-defined]
            study.stop()  # type: ignore[attr-defined]

    neurobo.minimize(
        objective, task.space.distributions, most, algorithm="neural-cbo", seed=seed,
        progress=False, callbacks=[stop],
    )  # fmt: skip
    return found[0] if found else most


def report(name: str, seeds: int, most: int, near: float | None) -> None:
    counts = []
    for seed in range(seeds):
        counts.append(evaluations(problem(name, seed), seed, most, near))
        print(f"{name} seed {seed}: {counts[-1]}", flush=True)
    print(f"{name}: median {np.median(counts):.0f}, worst {max(counts)} of {most}")


def cost(rows: int = 100, repeats: int = 7) -> None:
    """The same history, with all constraints or the first one only; time of the clock and of the
    processor, after a warm-up."""
    task = problem("speed-reducer-7", 0)
    rng = np.random.default_rng(0)
    points = [task.space.decode(x) for x in task.space.from_unit(rng.random((rows, 7)))]
    outcomes = [task.evaluate(p, rng) for p in points]
    feasible = task.best or {}
    for names in (task.constraints[:1], task.constraints):
        history = [
            (p, o.value, {name: o.constraints[name] for name in names})
            for p, o in zip(points, outcomes, strict=True)
        ]
        at = task.evaluate(feasible, rng)
        history.append((feasible, at.value + 500, dict.fromkeys(names, -0.1)))
        seconds = []
        for seed in range(repeats + 2):
            began = np.array([time.perf_counter(), time.process_time()])
            neurobo.suggest(task.space.distributions, history, algorithm="neural-cbo", seed=seed)
            seconds.append(np.array([time.perf_counter(), time.process_time()]) - began)
        wall, cpu = np.median(seconds[2:], axis=0)
        print(f"{len(names)} constraints: {wall:.3f} s a suggestion, {cpu:.3f} s of processors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["islands", "reducer", "cost"])
    what = parser.parse_args().what
    if what == "islands":
        report("gardner-2", 15, 60, None)
    elif what == "reducer":
        report("speed-reducer-7", 5, 150, NEAR)
    else:
        cost()


if __name__ == "__main__":
    main()
