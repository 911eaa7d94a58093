"""Are suggestions from thousands of observations as good with landmarks as with whole matrices?

    python benchmarks/many.py            # resumable; about an hour
    python benchmarks/many.py --table

Each seed is another history of 3000 noisy observations, half of them anywhere and half near the
best. Both ways suggest 4 points from it, whose true values are compared: the mean of the 4 in
standard deviations of the history's values.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

import neurobo
from neurobo.bench.problems import problem
from neurobo.training import landmarks

RESULTS = Path("results/many/runs.jsonl")
PROBLEMS = ("levy-15", "ackley-10")
ALGORITHMS = ("neural-greedy", "neural-bo")
N, POINTS, SEEDS = 3000, 4, 10
WAYS = {"landmarks": landmarks.DENSE, "dense": 10**6}


def history(name: str, seed: int) -> tuple[Any, list[tuple[Any, float]], Any]:
    task = problem(name, seed)
    rng = np.random.default_rng(seed)
    d = task.space.n_parameters
    anywhere = task.space.from_unit(rng.random((N // 2, d)))

    def value(x: Any) -> float:
        return task.evaluate(task.space.decode(x), rng).noiseless

    values = np.array([value(x) for x in anywhere])
    best = anywhere[np.argmin(values)]
    near = np.clip(best + 0.2 * rng.normal(size=(N - N // 2, d)), -1, 1)
    every = np.concatenate([anywhere, near])
    values = np.array([value(x) for x in every])
    noisy = values + 0.1 * values.std() * rng.normal(size=N)
    points = [task.space.decode(x) for x in every]
    return task, list(zip(points, noisy.tolist(), strict=True)), (values, value)


def run(name: str, algorithm: str, seed: int) -> dict[str, Any]:
    task, told, (values, value) = history(name, seed)
    found: dict[str, Any] = {"problem": name, "algorithm": algorithm, "seed": seed}
    for way, rows in WAYS.items():
        landmarks.DENSE = rows
        points = neurobo.suggest(
            task.space.distributions, told, POINTS, algorithm=algorithm, seed=seed
        )
        true = [value(task.space.encode([p])[0]) for p in points]
        found[way] = float((np.mean(true) - values.mean()) / values.std())
    return found


def table() -> None:
    done = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    print("| problem | algorithm | seeds | landmarks | whole matrix | landmarks better in | p |")
    print("|---|---|---|---|---|---|---|")
    for name in PROBLEMS:
        for algorithm in ALGORITHMS:
            rows = [r for r in done if (r["problem"], r["algorithm"]) == (name, algorithm)]
            if not rows:
                continue
            a, b = (np.array([r[way] for r in rows]) for way in WAYS)
            p = wilcoxon(a, b).pvalue
            print(f"| {name} | {algorithm} | {len(rows)} | {a.mean():.2f} ± {_error(a):.2f} | "
                  f"{b.mean():.2f} ± {_error(b):.2f} | {np.sum(a < b)} | {p:.2f} |")  # fmt: skip


def _error(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    given = parser.parse_args()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.touch()
    for seed in range(0 if given.table else given.seeds):
        for name in PROBLEMS:
            for algorithm in ALGORITHMS:
                done = [json.loads(line) for line in RESULTS.read_text().splitlines()]
                if any((r["problem"], r["algorithm"], r["seed"]) == (name, algorithm, seed)
                       for r in done):  # fmt: skip
                    continue
                found = run(name, algorithm, seed)
                with RESULTS.open("a") as file:
                    file.write(json.dumps(found) + "\n")
                print(found, flush=True)
    table()


if __name__ == "__main__":
    main()
