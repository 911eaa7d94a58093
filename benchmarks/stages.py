"""Where the time of a suggestion goes, beside the least that a Gaussian process needs.

    python benchmarks/stages.py                 # a quarter of an hour; writes docs/how-fast.md
    python benchmarks/stages.py --only 2 --most 256

Every row is a process of its own on one thread: n observations of Levy's function with 1 % noise,
half of them near the best. Another history of that size makes all programs; the first suggestion
looks for hyper-parameters; then the mean of five suggestions with the same hyper-parameters is
taken, because the members of `auto` take turns. A
search for hyper-parameters is timed as a whole, from where the one before ended: there is one
whenever the history has grown by a tenth, and on at most 256 observations.
The limit is one Gram matrix of the same kernel and its Cholesky factor. The table is kept in
benchmarks/reference/stages.csv.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from latency import f

FILE = Path("benchmarks/reference/stages.csv")
PAGE = Path("docs/how-fast.md")
MARKS = "<!-- stages: begin -->", "<!-- stages: end -->"
METHODS = ("ntk-gp", "auto")
COLUMNS = (2, 15, 100)
SIZES = (20, 100, 256, 1024, 4096, 10_000)
STAGES = ("encode", "fit", "search", "hyper-parameters", "limit")
ASKED = 6
"""Suggestions for each history; all but the first are timed."""
REPEATS = 5


class Stopwatch:
    """Processor seconds spent inside some functions."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def around(self, owner: Any, name: str, stage: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            import jax

            began = time.process_time()
            try:
                return jax.block_until_ready(function(*args, **kwargs))
            finally:
                self.seconds[stage] += time.process_time() - began

        setattr(owner, name, staticmethod(timed) if isinstance(owner, type) else timed)

    def take(self) -> dict[str, float]:
        found = dict(self.seconds)
        self.seconds.clear()
        return found


def measure(method: str, columns: int, n: int) -> dict[str, float]:
    """In this process."""
    import neurobo
    from neurobo import suggestion
    from neurobo.data.observations import Data
    from neurobo.surrogates import refit_schedule

    space = [(-1.0, 1.0)] * columns

    def history(seed: int) -> list[tuple[np.ndarray, float]]:
        """With the suggestions that follow it, all fit in n rows."""
        rng, many = np.random.default_rng(seed), n - ASKED
        anywhere = rng.uniform(-1, 1, (many - many // 2, columns))
        near = np.clip(0.1 + 0.15 * rng.normal(size=(many // 2, columns)), -1, 1)
        return [(x, f(x) + 0.1 * rng.normal()) for x in np.concatenate([anywhere, near])]

    def ask(points: list[tuple[np.ndarray, float]]) -> None:
        (point,) = neurobo.suggest(space, points, algorithm=method, seed=0, n_startup_trials=5)
        points.append((point, f(point) + 0.1 * np.random.default_rng(len(points)).normal()))

    for points in [history(n + 1)] * ASKED:  # compiles what every member needs
        ask(points)
    points = history(n)
    ask(points)  # looks for hyper-parameters
    stopwatch = Stopwatch()
    stopwatch.around(Data, "of", "encode")
    stopwatch.around(suggestion, "decide", "fit")
    stopwatch.around(suggestion, "best_points", "search")
    # No search for hyper-parameters and no choice of kernels and warpings meanwhile: what they were
    # for the first suggestion stays.
    known = len(points) - 1
    stays, chosen_from = refit_schedule.update_sizes(known), refit_schedule.choice_rows
    refit_schedule.update_sizes = lambda n, growth=1.1: stays
    refit_schedule.choice_rows = lambda n, *given, **named: chosen_from(known, *given, **named)
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(ASKED - 1):
        began = time.process_time()
        ask(points)
        total = time.process_time() - began
        for stage, seconds in {"encode": 0.0, **stopwatch.take(), "total": total}.items():
            found[stage].append(seconds)
    return {stage: float(np.mean(seconds)) for stage, seconds in found.items()} | _floor(points, n)


def _floor(points: list[Any], n: int) -> dict[str, float]:
    """One search for hyper-parameters, and one Gram matrix with its Cholesky factor."""
    import jax
    import jax.numpy as jnp

    from neurobo.data.observations import Data
    from neurobo.networks.infinite_width import InfiniteWidthMLP
    from neurobo.surrogates.marginal_likelihood import search
    from neurobo.surrogates.refit_schedule import even_share

    wide = InfiniteWidthMLP(activation="erf", sphere=True)
    with jax.enable_x64(True):
        x = np.array([point for point, _ in points[:n]])
        y = np.array([value for _, value in points[:n]])
        rows = even_share(n, 256)
        some = Data.pad(x[rows], (y[rows] - y[rows].mean()) / y[rows].std())
        # ARD as soon as there are three observations for each column.
        ard = len(rows) >= 3 * x.shape[1]
        start = search(some, wide, ard=ard)
        moved = start + np.random.default_rng(0).normal(0, 0.1, len(start))
        refit = _fastest(lambda: search(some, wide, ard=ard, start=moved))

        @jax.jit
        def least(x: Any) -> Any:
            scales = jnp.ones(x.shape[1])
            gram = wide.between(x, x, jnp.array([1.5, 0.5]), scales)
            return jnp.linalg.cholesky(gram + 0.01 * jnp.eye(len(x)))

        limit = _fastest(lambda: jax.block_until_ready(least(x)))
    return {"hyper-parameters": refit, "limit": limit}


def _fastest(function: Callable[[], Any]) -> float:
    """Median processor seconds."""
    function()
    seconds = []
    for _ in range(REPEATS):
        began = time.process_time()
        function()
        seconds.append(time.process_time() - began)
    return float(np.median(seconds))


def in_a_process(method: str, columns: int, n: int) -> dict[str, float]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--one", method, str(columns), str(n)]
    done = subprocess.run(
        command, env=dict(os.environ) | threads, stdout=subprocess.PIPE, text=True, check=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def write_page(rows: list[dict[str, str]]) -> None:
    header = [
        "algorithm", "parameters", "observations", "encode", "fit and acquisition", "search",
        "whole suggestion", "Gram and Cholesky", "ratio", "hyper-parameters",
    ]  # fmt: skip
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    for row in rows:
        times = [_ms(row[c]) for c in ("encode", "fit", "search", "total", "limit")]
        ratio = _short(float(row["total"]) / float(row["limit"]))
        cells = [f"`{row['method']}`", row["columns"], f"{int(row['n']):,}", *times, ratio]
        lines.append(f"| {' | '.join([*cells, _ms(row['hyper-parameters'])])} |")
    head, _, rest = PAGE.read_text().partition(MARKS[0])
    _, _, tail = rest.partition(MARKS[1])
    PAGE.write_text("\n".join([head + MARKS[0], *lines, MARKS[1] + tail]))


def _ms(seconds: str) -> str:
    return _short(1000 * float(seconds))


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", action="append", type=int, choices=COLUMNS, help="parameters")
    options.add_argument("--most", type=int, default=max(SIZES), help="observations")
    options.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one:
        # One core, so that seconds of the processor are those of one thread.
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        method, columns, n = given.one
        print(json.dumps(measure(method, int(columns), int(n))))
        return
    kept: dict[tuple[str, str, str], dict[str, str]] = {}
    if FILE.exists():
        with FILE.open(newline="") as file:
            kept = {(r["method"], r["columns"], r["n"]): r for r in csv.DictReader(file)}
    for method in METHODS:
        for columns in given.only or COLUMNS:
            for n in (n for n in SIZES if n <= given.most):
                found = in_a_process(method, columns, n)
                row = {"method": method, "columns": str(columns), "n": str(n)}
                row |= {stage: f"{found[stage]:.4g}" for stage in (*STAGES, "total")}
                kept[method, str(columns), str(n)] = row
                print(*row.values(), flush=True)
                rows = [
                    kept[m, str(d), str(size)]
                    for m in METHODS for d in COLUMNS for size in SIZES
                    if (m, str(d), str(size)) in kept
                ]  # fmt: skip
                with FILE.open("w", newline="") as file:
                    writer = csv.DictWriter(file, list(row), lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(rows)
                write_page(rows)


if __name__ == "__main__":
    main()
