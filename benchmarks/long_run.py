"""A run of 2000 trials with 20 parameters: time and memory of its suggestions, and compilations.

python benchmarks/long_run.py [--algorithm neural-bo] [--trials 2000]     # about half an hour
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optuna

import neurobo

RESULTS = Path("results/long-run")
D = 20


def f(x: np.ndarray) -> float:
    """Ackley's function around (0.1, …, 0.1)."""
    z = 3 * (x - 0.1)
    far = 20 * np.exp(-0.2 * np.sqrt(np.mean(z**2)))
    return float(20 - far + np.e - np.exp(np.mean(np.cos(2 * np.pi * z))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", default="neural-bo")
    parser.add_argument("--trials", type=int, default=2000)
    given = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    compiled: Counter[str] = Counter()

    def count(event: str, duration_secs: float, **kwargs: Any) -> None:
        compiled.update([event])

    jax.monitoring.register_event_duration_secs_listener(count)
    ends: list[float] = [time.perf_counter()]
    memory: list[float] = []

    def note(study: Any, trial: Any) -> None:
        ends.append(time.perf_counter())
        status = Path("/proc/self/status").read_text()
        memory.append(int(status.split("VmRSS:")[1].split()[0]) / 2**20)

    study = neurobo.minimize(
        f, [(-1.0, 1.0)] * D, given.trials, algorithm=given.algorithm, seed=0, callbacks=[note]
    )
    seconds = np.diff(ends)
    best = np.minimum.accumulate([float(t.value or 0.0) for t in study.trials])
    traces = {k: n for k, n in compiled.items() if "trace" in k or "backend_compile" in k}
    RESULTS.mkdir(parents=True, exist_ok=True)
    out = {"seconds": seconds.tolist(), "memory": memory, "best": best.tolist(), "events": traces}
    (RESULTS / f"{given.algorithm}.json").write_text(json.dumps(out))
    print("| trials | median s a suggestion | slowest | memory, GB | best |\n|---|---|---|---|---|")
    for low, high in [(0, 100), (100, 500), (500, 1000), (1000, 1500), (1500, 2000)]:
        part = seconds[low:high]
        if len(part):
            most, lowest = max(memory[low:high]), best[low + len(part) - 1]
            print(f"| {low} to {high} | {np.median(part):.2f} | {part.max():.1f} | "
                  f"{most:.2f} | {lowest:.3f} |")  # fmt: skip
    print(traces)


if __name__ == "__main__":
    main()
