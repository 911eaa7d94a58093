"""How soon is one of the best 1 % of 1797 images found, without and with a surrogate?

    python benchmarks/digits_pool.py --algorithm neural-greedy --seeds 20    # resumable; minutes
    python benchmarks/digits_pool.py --score similarity --algorithm neural-greedy

The score of an image is how surely a classifier takes it for an 8 (the problem `digits-pool`), or
how similar it is to a hidden one: the root mean square of the pixels' differences to an image that
is another one for each seed and not in the pool.
Random choice needs no simulation: the number of draws until the first of 18 among 1797 has a known
distribution. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import neurobo
from neurobo.algorithm.registry import build
from neurobo.bench.peers.base import split_options
from neurobo.bench.problems import images, problem

RESULTS = Path("results/digits-pool/runs.jsonl")
SHARE = 0.01
MOST = 100
"""Evaluations after which a run gives up."""


def confidence(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """All images and their values; lower is better."""
    task, rng, pool = problem("digits-pool", 0), np.random.default_rng(0), images.digits()
    found = [task.evaluate({"candidate": i}, rng).value for i in range(len(pool))]
    return pool, np.array(found)


def similarity(seed: int) -> tuple[np.ndarray, np.ndarray]:
    every = images.digits()
    hidden = int(np.random.default_rng(seed).integers(len(every)))
    pool = np.delete(every, hidden, axis=0)
    away = (pool - every[hidden]).reshape(len(pool), -1)
    return pool, np.sqrt(np.mean(away**2, axis=1))


SCORES = {"confidence": confidence, "similarity": similarity}


def needed_by_chance(count: int, good: int) -> int:
    """The median number of draws without replacement until the first good one."""
    missed = np.cumprod(1 - good / (count - np.arange(count - good)))
    return int(np.argmax(missed <= 0.5)) + 1


def good_ones(scores: np.ndarray) -> set[int]:
    return set(np.argsort(scores)[: round(SHARE * len(scores))].tolist())


def run(algorithm: str, score: str, seed: int) -> int:
    """Evaluations until the first good image."""
    candidates, scores = SCORES[score](seed)
    pool, good = neurobo.Pool(candidates), good_ones(scores)
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
    parser.add_argument("--score", choices=list(SCORES), default="confidence")
    given = parser.parse_args()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.touch()
    done = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    about = {"algorithm": given.algorithm, "score": given.score}
    needed = {r["seed"]: r["needed"] for r in done if about.items() <= r.items()}
    for seed in range(given.seeds):
        if seed in needed:
            continue
        needed[seed] = run(given.algorithm, given.score, seed)
        with RESULTS.open("a") as file:
            file.write(json.dumps({**about, "seed": seed, "needed": needed[seed]}) + "\n")
    found = [needed[seed] for seed in range(given.seeds)]
    _, scores = SCORES[given.score](0)
    chance = needed_by_chance(len(scores), len(good_ones(scores)))
    print(f"{given.algorithm}, {given.score}: {sorted(found)}")
    print(
        f"median {np.median(found):g} evaluations, by chance {chance}: "
        f"{np.median(found) / chance:.0%} of them"
    )


if __name__ == "__main__":
    main()
