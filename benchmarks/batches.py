"""Batches: how far apart their points are, and what drawing them together saves.

    python benchmarks/batches.py        # a few minutes

A history of 40 points of Hartmann-6, then one batch of 16, for 5 seeds. Distances are in the box
[-1, 1]^6, whose diagonal is 4.9.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

import neurobo
from neurobo.bench.problems import problem

ALGORITHMS = (
    "neural-greedy", "sto-bnts", "sto-bnts-linear", "neural-bo", "ntk-gp", "neural-ucb",
    "deep-ensemble",
)  # fmt: skip
SIZE, SEEDS = 16, 5


def history(seed: int) -> tuple[Any, list[tuple[Any, float]]]:
    task = problem("hartmann-6", seed)
    rng = np.random.default_rng(seed)
    points = neurobo.suggest(task.space.distributions, n=40, seed=seed, n_startup_trials=40)
    return task.space, [(p, task.evaluate(p, rng).value) for p in points]


def main() -> None:
    rng = np.random.default_rng(0)
    chance = np.median([pdist(rng.uniform(-1, 1, (SIZE, 6))).min() for _ in range(200)])
    print(f"least distance among {SIZE} random points: {chance:.2f} in the median\n")
    print("| algorithm | least distance in a batch of 16 | mean distance | s, together "
          "| s, one by one |\n|---|---|---|---|---|")  # fmt: skip
    for name in ALGORITHMS:
        least, mean, together, single = [], [], [], []
        for seed in range(SEEDS + 1):  # the first warms up
            space, told = history(seed)
            began = time.perf_counter()
            points = neurobo.suggest(
                space.distributions, told, SIZE, algorithm=name, seed=seed, n_startup_trials=0
            )
            together.append(time.perf_counter() - began)
            began, pending = time.perf_counter(), list[Any]()
            for _ in range(SIZE):
                pending += neurobo.suggest(
                    space.distributions, told, algorithm=name, seed=seed, pending=pending,
                    n_startup_trials=0,
                )  # fmt: skip
            single.append(time.perf_counter() - began)
            distances = pdist(space.encode(points))
            least.append(distances.min())
            mean.append(distances.mean())
        print(f"| {name} | {np.median(least[1:]):.2g} (lowest {min(least[1:]):.2g}) | "
              f"{np.median(mean[1:]):.2f} | {np.median(together[1:]):.1f} | "
              f"{np.median(single[1:]):.1f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
