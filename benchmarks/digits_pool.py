"""How soon is one of the best 1 % of 1797 images found, without and with a surrogate?

    python benchmarks/digits_pool.py                        # resumable; minutes
    python benchmarks/digits_pool.py --algorithm neural-greedy --seeds 20

The score of an image is how surely a classifier takes it for an 8 (the problem `digits-pool`).
Random choice needs no simulation: the number of draws until the first of 18 among 1797 has a known
distribution. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import neurobo
from neurobo.algorithms.base import build
from neurobo.bench.peers.base import split_options
from neurobo.bench.problems import images, problem

RESULTS = Path("results/digits-pool/runs.jsonl")
SHARE = 0.01
MOST = 100
"""Evaluations after which a run gives up."""


def values() -> np.ndarray:
    task, rng = problem("digits-pool", 0), np.random.default_rng(0)
    return np.array(
        [task.evaluate({"candidate": i}, rng).value for i in range(len(images.digits()))]
    )


def needed_by_chance(count: int, good: int) -> int:
    """The median number of draws without replacement until the first good one."""
    missed = np.cumprod(1 - good / (count - np.arange(count - good)))
    return int(np.argmax(missed <= 0.5)) + 1


def run(algorithm: str, scores: np.ndarray, good: set[int], seed: int) -> int:
    """Evaluations until the first good image."""
    pool = neurobo.Pool(images.digits())
    name, options = split_options(algorithm)
    history: list[tuple[int, float]] = []
    while len(history) < MOST:
        (found,) = neurobo.suggest(pool, history, algorithm=build(name, **options), seed=seed)
        history.append((found, float(scores[found])))
        if found in good:
            break
    return len(history)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", default="sto-bnts")
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    scores = values()
    good = set(np.argsort(scores)[: round(SHARE * len(scores))].tolist())
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.touch()
    done = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    needed = {r["seed"]: r["needed"] for r in done if r["algorithm"] == given.algorithm}
    for seed in range(given.seeds):
        if seed in needed:
            continue
        needed[seed] = run(given.algorithm, scores, good, seed)
        with RESULTS.open("a") as file:
            line = {"algorithm": given.algorithm, "seed": seed, "needed": needed[seed]}
            file.write(json.dumps(line) + "\n")
    found = [needed[seed] for seed in range(given.seeds)]
    chance = needed_by_chance(len(scores), len(good))
    print(f"{given.algorithm}: {sorted(found)}")
    print(
        f"median {np.median(found):g} evaluations, by chance {chance}: "
        f"{np.median(found) / chance:.0%} of them"
    )


if __name__ == "__main__":
    main()
