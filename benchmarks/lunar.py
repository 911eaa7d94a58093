"""STO-BNTS on Lunar-Lander-12, beside the curves that its authors published.

    python benchmarks/lunar.py --batch 1 --iterations 100       # resumable; about ten minutes
    python benchmarks/lunar.py --batch 4 --iterations 50
    python benchmarks/lunar.py --table                          # what there is

Every run begins at the authors' own 20 points. The best of many noisy values is partly luck, so the
best point of each run is evaluated again, with other episodes. Needs the bench extra.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import neurobo
from neurobo.algorithm.registry import build
from neurobo.bench.peers.base import split_options
from neurobo.bench.problems import problem

REFERENCE = Path("benchmarks/reference/lunar/published.json")
RESULTS = Path("results/lunar/runs.jsonl")
BOX = [(0.0, 1.0)] * 12
AGAIN = 10
"""Fresh evaluations of the best point, of 20 episodes each."""


def run(algorithm: str, batch: int, iterations: int, number: int) -> dict[str, Any]:
    task = problem("lunar-lander-12", number)
    name, options = split_options(algorithm)
    rng = np.random.default_rng([number, batch])
    history: list[tuple[Any, float]] = []

    def evaluate(points: Any) -> None:
        for x in points:
            history.append((x, task.evaluate(task.space.params(x), rng).value))

    evaluate(np.array(json.loads(REFERENCE.read_text())["init_X"][number]))
    best, seconds = [], []
    for _ in range(iterations):
        began = time.perf_counter()
        points = neurobo.suggest(
            BOX, history, batch, algorithm=build(name, **options), seed=number, n_startup_trials=0
        )
        seconds.append((time.perf_counter() - began) / batch)
        evaluate(points)
        best.append(-min(value for _, value in history))
    x, _ = min(history, key=lambda entry: entry[1])
    again = [-task.evaluate(task.space.params(x), rng).value for _ in range(AGAIN)]
    return {
        "algorithm": algorithm, "batch": batch, "run": number, "iterations": iterations,
        "best": best, "again": again, "seconds": seconds,
    }  # fmt: skip


def records() -> list[dict[str, Any]]:
    return (
        [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    )


def table() -> None:
    published = json.loads(REFERENCE.read_text())["methods"]
    done = records()
    print("| method | iterations | published best | our best | ours, evaluated again | s a point |")
    print("|---|---|---|---|---|---|")
    for algorithm, batch, iterations in sorted(
        {(r["algorithm"], r["batch"], r["iterations"]) for r in done}
    ):
        group = [
            r
            for r in done
            if (r["algorithm"], r["batch"], r["iterations"]) == (algorithm, batch, iterations)
        ]
        name = {"sto-bnts": "STO-BNTS", "sto-bnts-linear": "STO-BNTS-Linear"}.get(
            algorithm.split(":")[0]
        )
        theirs = published[f"{name} B={batch}"] if name else None
        at = theirs["iteration"].index(iterations) if theirs else 0
        shown = f"{theirs['mean'][at]:.0f} ± {theirs['se'][at]:.0f}" if theirs else ""
        final = [r["best"][-1] for r in group]
        again = [float(np.mean(r["again"])) for r in group]
        seconds = np.median(np.concatenate([r["seconds"] for r in group]))
        print(f"| {algorithm}, B = {batch} ({len(group)} runs) | {iterations} | {shown} | "
              f"{_mean(final)} | {_mean(again)} | {seconds:.2f} |")  # fmt: skip


def _mean(values: list[float]) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.0f} ± {error:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", default="sto-bnts")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    for number in range(0 if given.table else given.runs):
        about = {
            "algorithm": given.algorithm,
            "batch": given.batch,
            "run": number,
            "iterations": given.iterations,
        }
        if any(
            about.items() <= {k: v for k, v in r.items() if k in about}.items() for r in records()
        ):
            continue
        found = run(given.algorithm, given.batch, given.iterations, number)
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        with RESULTS.open("a") as file:
            file.write(json.dumps(found) + "\n")
        print(
            f"run {number}: best {found['best'][-1]:.0f}, again {np.mean(found['again']):.0f}",
            flush=True,
        )
    table()


if __name__ == "__main__":
    main()
