"""Memory of a whole run: every trial's, and at the end by what it is taken.

python benchmarks/memory.py [--trials 800] [--parameters 6]            # a quarter of an hour
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optuna

import neurobo
from neurobo.compilation import programs
from neurobo.data.content_cache import CACHE

RESULTS = Path("results/memory")
MB = 2**20


def f(x: np.ndarray) -> float:
    """Ackley's function around (0.1, …, 0.1)."""
    z = 3 * (x - 0.1)
    far = 20 * np.exp(-0.2 * np.sqrt(np.mean(z**2)))
    return float(20 - far + np.e - np.exp(np.mean(np.cos(2 * np.pi * z))))


def resident() -> int:
    """Bytes of memory that this process takes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _trimmed() -> float:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return resident() / MB


def parts() -> dict[str, float]:
    """Megabytes that are freed by giving up one thing after the other."""
    found, before = {"all": resident() / MB}, resident() / MB
    steps: dict[str, Any] = {
        "free memory that the allocator keeps": lambda: None,
        "results in the cache": CACHE.clear,
        "our programs": programs.forget,
        "other compiled code": jax.clear_caches,
    }
    for name, give_up in steps.items():
        give_up()
        now = _trimmed()
        found[name], before = before - now, now
    return {**found, "the rest (Python, JAX, data)": before}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", default="auto")
    parser.add_argument("--trials", type=int, default=800)
    parser.add_argument("--parameters", type=int, default=6)
    given = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    memory = [resident() / MB]
    neurobo.minimize(
        f, [(-1.0, 1.0)] * given.parameters, given.trials, algorithm=given.algorithm, seed=0,
        callbacks=[lambda *_: memory.append(resident() / MB)], progress=False,
    )  # fmt: skip
    taken = parts()
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{given.algorithm}.json").write_text(json.dumps({"memory": memory, "parts": taken}))
    last = memory[len(memory) // 2 :]
    print(f"imported {memory[0]:.0f} MB; highest {max(memory):.0f} MB; second half of the run: "
          f"median {np.median(last):.0f} MB, highest {max(last):.0f} MB")  # fmt: skip
    for what, size in taken.items():
        print(f"{what}: {size:.0f} MB")


if __name__ == "__main__":
    main()
