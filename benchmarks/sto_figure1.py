"""Figure 1 of the STO-BNTS paper again: smooth random curves in one dimension.

    python benchmarks/sto_figure1.py            # resumable; some minutes
    python benchmarks/sto_figure1.py --table    # what there is

Each seed is another draw from a Gaussian process (squared-exponential kernel, length scale 0.1) and
another three points to begin with. Networks have the paper's 8 layers of width 64 and its σ_w = 1.5
unless the name says otherwise. The figure compared is the simple regret after each iteration,
averaged over the iterations: it rewards arriving, and arriving early.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

import neurobo
from neurobo.algorithm.registry import build
from neurobo.bench.peers.base import split_options
from neurobo.bench.problems.synthetic import gp_curve

RESULTS = Path("results/sto-figure1/runs.jsonl")
ITERATIONS = 25
SEEDS = 12
MORE_SEEDS = 24
"""For claims that 12 seeds left open although the means agreed with them."""
PAPER = "gamma=1.5,depth=8,width=64"
ENSEMBLE = f"deep-ensemble:acquisition=draw,activation=relu,{PAPER}"
METHODS = (
    (f"sto-bnts:{PAPER}", 1),
    (f"sto-bnts:{PAPER}", 4),
    ("sto-bnts:gamma=1.5,depth=8,width=16", 1),
    (f"sto-bnts-linear:{PAPER}", 1),
    (f"sto-bnts-linear:{PAPER}", 4),
    ("sto-bnts-linear:gamma=1.5,depth=8,width=512", 1),
    ("sto-bnts-linear:gamma=1.5,depth=8,width=16", 1),
    (ENSEMBLE, 1),
)
OPEN = (METHODS[0], METHODS[5], METHODS[6], METHODS[7])
CLAIMS = (
    ("STO-BNTS beats the deep ensemble", METHODS[0], METHODS[7]),
    ("STO-BNTS: batches of 4 beat single points", METHODS[1], METHODS[0]),
    ("STO-BNTS-Linear: batches of 4 beat single points", METHODS[4], METHODS[3]),
    ("STO-BNTS-Linear: width 512 beats 16", METHODS[5], METHODS[6]),
    ("STO-BNTS: width 64 beats 16", METHODS[0], METHODS[2]),
)


def run(algorithm: str, batch: int, seed: int) -> list[float]:
    """The simple regret after each iteration."""
    grid, values = gp_curve(seed)
    lowest = float(values.min())

    def f(x: float) -> float:
        return float(np.interp(x, grid, values))

    name, options = split_options(algorithm)
    start = np.random.default_rng(seed).random(3)
    history: list[tuple[Any, float]] = [([x], f(x)) for x in start]
    regret = []
    for _ in range(ITERATIONS):
        points = neurobo.suggest(
            [(0.0, 1.0)], history, batch,
            algorithm=build(name, **options), seed=seed, n_startup_trials=0,
        )  # fmt: skip
        history += [(x, f(x[0])) for x in points]
        regret.append(min(value for _, value in history) - lowest)
    return regret


def records() -> dict[tuple[str, int, int], list[float]]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    found = [json.loads(line) for line in lines]
    return {(r["algorithm"], r["batch"], r["seed"]): r["regret"] for r in found}


def table() -> None:
    done = records()
    means: dict[tuple[str, int], np.ndarray] = {}
    print("| method | B | seeds | mean regret | after 5 | after 10 | after 25 |")
    print("|---|---|---|---|---|---|---|")
    for algorithm, batch in METHODS:
        keys = [(algorithm, batch, seed) for seed in range(MORE_SEEDS)]
        curves = np.array([done[k] for k in keys if k in done])
        if not len(curves):
            continue
        means[algorithm, batch] = curves.mean(1)
        after = " | ".join(f"{curves[:, t - 1].mean():.2g}" for t in (5, 10, 25))
        print(f"| `{algorithm}` | {batch} | {len(curves)} | {curves.mean():.3f} | {after} |")
    print("\n| claim | better in | p (Wilcoxon, one-sided) |\n|---|---|---|")
    for claim, better, worse in CLAIMS:
        if better in means and worse in means:
            seeds = min(len(means[better]), len(means[worse]))
            a, b = means[better][:seeds], means[worse][:seeds]
            p = wilcoxon(a, b, alternative="less").pvalue
            print(f"| {claim} | {np.sum(a < b)} of {len(a)} | {p:.2g} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    for seed in range(0 if given.table else MORE_SEEDS):
        for algorithm, batch in METHODS if seed < SEEDS else OPEN:
            if (algorithm, batch, seed) in records():
                continue
            regret = run(algorithm, batch, seed)
            about = {"algorithm": algorithm, "batch": batch, "seed": seed, "regret": regret}
            with RESULTS.open("a") as file:
                file.write(json.dumps(about) + "\n")
            print(f"seed {seed}: {algorithm} B={batch}: {np.mean(regret):.3f}", flush=True)
    table()


if __name__ == "__main__":
    main()
