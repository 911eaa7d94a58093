"""CPU seconds of a suggestion by `auto`, with the searches for hyper-parameters.

    python benchmarks/suggestion_cost.py [kernel=false,warp=false]

After 50, 200 and 1000 evaluations of a function of six parameters: a suggestion between two
searches (the mean over all members' turns), one that searches anew, and the mean over a stretch of
the run from one search to the next. Options are those of `auto`. One thread; the time for
compilation is left out. To compare with another state of the source, put its `src` on PYTHONPATH.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OMP_NUM_THREADS"] = "1"

import sys
import time
from typing import Any

import numpy as np
from scipy.stats import qmc

import neurobo
from neurobo.surrogates.refit_schedule import update_sizes

D, TURNS = 6, 3
CENTRE = np.linspace(-0.4, 0.5, D)


def history(n: int) -> list[tuple[Any, ...]]:
    """Half of the points all over the box, half near the optimum, as in a run."""
    x = 2 * qmc.Sobol(D, rng=0).random(2048)[:n] - 1
    near = np.arange(n) % 2 == 1
    x[near] = np.clip(CENTRE + 0.2 * (x[near] - CENTRE), -1, 1)
    x[0] = 0.0  # the middle of the box has had its turn
    values = np.sum((x - CENTRE) ** 2, axis=1) + 0.3 * np.sin(5 * x[:, 0] * x[:, 1])
    names = [f"x{i}" for i in range(D)]
    pairs = zip(x.tolist(), values.tolist(), strict=True)
    return [(dict(zip(names, point, strict=True)), value) for point, value in pairs]


def seconds(n: int, algorithm: neurobo.Auto, seed: int = 0) -> float:
    told = history(n)
    space: Any = {f"x{i}": (-1.0, 1.0) for i in range(D)}
    start = time.process_time()
    neurobo.suggest(space, told, algorithm=algorithm, seed=seed)
    return time.process_time() - start


def costs(n: int, algorithm: neurobo.Auto) -> tuple[float, float, float]:
    size = update_sizes(n)[-1]
    length = int(size * 1.1) - size
    for turn in range(TURNS + 1):
        seconds(size - 1 - turn, algorithm)  # compiles, and leaves what a run would have left
    anew = seconds(size, algorithm)
    turns = [seconds(size + 1 + turn, algorithm) for turn in range(TURNS)]
    between = float(np.mean(turns))
    # The turn at the search is the member's whose turn it is after three more.
    search = max(anew - turns[TURNS - 1], 0.0)
    return between, search, between + search / length


def main() -> None:
    given = dict(pair.split("=") for pair in "".join(sys.argv[1:]).split(",") if pair)
    options: dict[str, Any] = {name: word == "true" for name, word in given.items()}
    algorithm = neurobo.Auto(**options)
    print(f"{'n':>5} {'between':>8} {'search':>8} {'mean':>8}   CPU seconds, {algorithm}")
    for n in (50, 200, 1000):
        print(f"{n:5d} " + " ".join(f"{v:8.3f}" for v in costs(n, algorithm)), flush=True)


if __name__ == "__main__":
    main()
