"""Seconds and memory of one suggestion as the history grows: ours and peers on the same data.

    python benchmarks/latency.py                 # about an hour; `make bench-latency`
    python benchmarks/latency.py --table         # table and picture of what there is

Every measurement is a process of its own that is told n observations of a function with 15
parameters (half of them anywhere, half near the best; 1 % noise), asks once to warm up, and then
asks and tells five times, or twice where the first took more than a minute. A method stops where a
suggestion would take more than five minutes.
"Single" is one thread on one core, in seconds of the processor, so that a busy machine matters
little; "default" is whatever the method takes, in seconds of the clock. Needs the bench extra.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path("results/latency/runs.jsonl")
TABLE = Path("benchmarks/reference/latency.csv")
PICTURE = Path("docs/pictures/latency.png")
OURS = ("neural-bo", "neural-greedy", "sto-bnts-linear", "ntk-gp", "auto")
PEERS = ("botorch-logei", "optuna-gp", "optuna-tpe")
SIZES = (50, 100, 200, 500, 1000, 2000, 5000, 10_000)
D = 15
REPEATS = 5
SLOW = 60.0
"""Seconds of a suggestion from which on two of them must do."""
PATIENCE = 300.0
"""Seconds for one suggestion beyond which larger histories are not tried."""


def f(x: np.ndarray) -> float:
    """Levy's function on [-1, 1]^d, in units of about 1."""
    w = 1 + (10 * x - 1) / 4
    inner = np.sum((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2))
    return float(np.sin(np.pi * w[0]) ** 2 + inner + (w[-1] - 1) ** 2) / 100


def measure(name: str, n: int) -> dict[str, Any]:
    """In this process."""
    import optuna

    from neurobo.bench.peers import Task, method
    from neurobo.bench.problem import Evaluation
    from neurobo.space.search_space import Space

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = Space.of({f"x{i}": (-1.0, 1.0) for i in range(D)})
    rng = np.random.default_rng(n)
    task = Task(space, budget=n + REPEATS + 1, n_start=n, seed=0, noisy=True)
    optimiser = method(name).start(task)

    def tell(params: Any) -> None:
        value = f(np.array(list(params.values()))) + 0.1 * rng.normal()
        optimiser.tell(params, Evaluation(value))

    anywhere = rng.uniform(-1, 1, (n - n // 2, D))
    near = np.clip(0.1 + 0.15 * rng.normal(size=(n // 2, D)), -1, 1)
    for x in np.concatenate([anywhere, near]):
        tell({f"x{i}": float(v) for i, v in enumerate(x)})
    seconds: list[float] = []
    cpu: list[float] = []
    while len(seconds) < 1 + (REPEATS if not seconds or seconds[0] < SLOW else 2):
        began = time.perf_counter(), time.process_time()
        params = optimiser.ask()
        seconds.append(time.perf_counter() - began[0])
        cpu.append(time.process_time() - began[1])
        tell(params)
    status = Path("/proc/self/status").read_text()
    return {
        "first": seconds[0], "seconds": float(np.median(seconds[1:])),
        "cpu": float(np.median(cpu[1:])), "all": seconds[1:],
        "peak_gb": int(status.split("VmHWM:")[1].split()[0]) / 2**20,
    }  # fmt: skip


def measured(name: str, n: int, threads: str) -> dict[str, Any]:
    """In a process of its own."""
    environment = dict(os.environ)
    command = [sys.executable, __file__, "--one", name, str(n)]
    if threads == "single":
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        command.append("--pin")
    out = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=3600
    )
    if out.returncode:
        raise SystemExit(f"{name} at n = {n} failed:\n{out.stderr[-2000:]}")
    return dict(json.loads(out.stdout.splitlines()[-1]))


def shown(record: dict[str, Any]) -> float:
    return float(record["cpu" if record["threads"] == "single" else "seconds"])


def records() -> list[dict[str, Any]]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def kept() -> list[dict[str, Any]]:
    """What was measured here and, where it was not, on earlier days."""
    rows: dict[tuple[str, str, int], dict[str, Any]] = {}
    if TABLE.exists():
        with TABLE.open(newline="") as file:
            for row in csv.DictReader(file):
                numbers = {c: float(row[c]) for c in ("seconds", "cpu", "first", "peak_gb")}
                rows[row["threads"], row["method"], int(row["n"])] = {
                    **row, **numbers, "n": int(row["n"]),
                }  # fmt: skip
    for r in records():
        rows[r["threads"], r["method"], r["n"]] = r
    return list(rows.values())


def found(done: list[dict[str, Any]], name: str, n: int, threads: str) -> dict[str, Any] | None:
    wanted = {"method": name, "n": n, "threads": threads}
    return next((r for r in done if wanted.items() <= r.items()), None)


def run(names: list[str], sizes: list[int], threads: list[str]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    for mode in threads:
        for name in names:
            last = 0.0
            for n in sizes:
                if last > PATIENCE / 4:
                    break
                got = found(records(), name, n, mode)
                if got is None:
                    got = {"method": name, "n": n, "threads": mode, **measured(name, n, mode)}
                    with RESULTS.open("a") as file:
                        file.write(json.dumps(got) + "\n")
                last = got["seconds"]
                print(
                    f"{mode:8} {name:16} n = {n:6}: {last:8.3f} s, cpu {got['cpu']:8.3f} s, "
                    f"first {got['first']:6.1f} s, {got['peak_gb']:.2f} GB",
                    flush=True,
                )


def slope(done: list[dict[str, Any]], name: str, threads: str, least: int) -> float | None:
    """Of log seconds over log n."""
    points = [(r["n"], shown(r)) for r in done
              if r["method"] == name and r["threads"] == threads and r["n"] >= least]  # fmt: skip
    if len(points) < 2:
        return None
    n, seconds = np.log(np.array(points)).T
    return float(np.polyfit(n, seconds, 1)[0])


def table() -> None:
    done = kept()
    names = [n for n in (*OURS, *PEERS) if any(r["method"] == n for r in done)]
    for threads in ("single", "default"):
        rows = [r for r in done if r["threads"] == threads]
        if not rows:
            continue
        sizes = sorted({r["n"] for r in rows})
        print(f"\n{threads} threads: seconds of a suggestion (peak memory in GB)\n")
        print("| method | " + " | ".join(f"n = {n}" for n in sizes) + " | slope from 1000 |")
        print("|---" * (len(sizes) + 2) + "|")
        for name in names:
            cells = []
            for n in sizes:
                r = found(rows, name, n, threads)
                cells.append(f"{shown(r):.2g} ({r['peak_gb']:.1f})" if r else "")
            s = slope(rows, name, threads, 1000)
            cells.append("" if s is None else f"{s:.1f}")
            print(f"| {name} | " + " | ".join(cells) + " |")
    with TABLE.open("w", newline="") as file:
        columns = ["threads", "method", "n", "seconds", "cpu", "first", "peak_gb"]
        writer = csv.writer(file)
        writer.writerow(columns)
        for r in sorted(done, key=lambda r: (r["threads"], r["method"], r["n"])):
            writer.writerow([f"{r[c]:.4g}" if isinstance(r[c], float) else r[c] for c in columns])
    picture(done, names)


def picture(done: list[dict[str, Any]], names: list[str]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(10, 5), layout="constrained")
    for i, name in enumerate(names):
        rows = sorted(
            (r["n"], shown(r)) for r in done if r["method"] == name and r["threads"] == "single"
        )
        if not rows:
            continue
        s = slope(done, name, "single", 1000)
        label = name if s is None else f"{name} (slope {s:.1f} from 1000)"
        style = "o-" if name in OURS else "s--"
        axes.loglog(*zip(*rows, strict=True), style, color=f"C{i}", label=label, markersize=4)
    axes.set_xlabel("observations")
    axes.set_ylabel("processor seconds for a suggestion, one thread")
    axes.set_title("15 parameters; median of 5 suggestions after a warm-up", fontsize=10)
    axes.grid(True, which="major", alpha=0.3)
    figure.legend(fontsize=8, loc="outside right upper")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=130)
    print(f"\nwrote {TABLE} and {PICTURE}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "N"), help="measure here, print JSON")
    parser.add_argument("--pin", action="store_true", help="on one core")
    parser.add_argument("--methods", default=",".join((*OURS, *PEERS)))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--threads", default="single,default")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.one:
        if given.pin:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(json.dumps(measure(given.one[0], int(given.one[1]))))
        return
    if not given.table:
        sizes = [int(n) for n in given.sizes.split(",")]
        run(given.methods.split(","), sizes, given.threads.split(","))
    table()


if __name__ == "__main__":
    main()
