"""How many workers can one driver keep busy? Simulated workers, the real loop, d = 20.

Workers are simulated: an evaluation ends when the clock of the simulation says so, and costs
nothing. That clock runs by the processor time of the driver while it suggests and stores, and jumps
to the next end of an evaluation while it waits, so that other programs on the machine do not count.
Compilation counts: run it twice with JAX_COMPILATION_CACHE_DIR set to see a warm start.

    python benchmarks/many_workers.py --workers 1000 --seconds 60 --trials 5000 --algorithm auto
    python benchmarks/many_workers.py --write

The first keeps its figures in results/many-workers, the second makes the table and the picture of
docs/cluster.md from all that are there: docs/pictures/many-workers.svg.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import resource
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import optuna

from neurobo.integrations.optuna.sampler import NeuroSampler
from neurobo.running import loop as loops
from neurobo.running.backends import LocalBackend
from neurobo.running.loop import Run
from neurobo.running.progress import Silent
from neurobo.running.workers import Outcome
from neurobo.space.search_space import Space

D = 20
ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
RESULTS = Path("results/many-workers")


class Clock:
    """Processor time of this process, and jumps."""

    def __init__(self) -> None:
        self.jumped = 0.0
        self._cpu, self._asked = time.process_time(), time.perf_counter()

    def cpu(self) -> float:
        """Asked for at most every half millisecond: on some machines that takes a tenth of one."""
        now = time.perf_counter()
        if now - self._asked > 5e-4:
            self._cpu, self._asked = time.process_time(), now
        return self._cpu

    def __call__(self) -> float:
        return self.cpu() + self.jumped

    def jump_to(self, moment: float) -> None:
        self.jumped += max(moment - self(), 0.0)


class Start(NamedTuple):
    """Of an evaluation."""

    idle: float
    """Seconds that the worker had waited."""
    busy: float
    """Seconds that it takes."""
    cpu: float
    """Processor seconds of the driver so far."""
    moment: float
    """Of the simulation."""
    memory_mb: float


@dataclass
class SimulatedWorkers:
    """Evaluations of `seconds` on average, between half and one and a half of it."""

    count: int
    seconds: float
    clock: Clock
    rng: np.random.Generator
    progress: bool = True
    ends: list[tuple[float, int, float]] = field(default_factory=list)
    free_since: list[float] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    memory_mb: float = 0.0

    def __enter__(self) -> Self:
        self.free_since = [self.clock()] * self.count
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def free(self) -> int:
        """As the loop knows it: a worker is free when its result was taken."""
        return len(self.free_since)

    def start(self, point: Any, name: int) -> None:
        now = self.clock()
        idle = now - heapq.heappop(self.free_since)
        took = self.seconds * self.rng.uniform(0.5, 1.5)
        if len(self.starts) % 50 == 0:
            self.memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        self.starts.append(Start(idle, took, self.clock.cpu(), now, self.memory_mb))
        if self.progress and len(self.starts) % 500 == 0:
            at = f"{len(self.starts)} {now:.0f} {self.memory_mb:.0f} MB"
            print(at, file=sys.stderr, flush=True)
        value = float(np.sum((np.asarray(point) - 0.3) ** 2))
        heapq.heappush(self.ends, (now + took, name, value))

    def finished(self, timeout: float | None = None) -> dict[int, Outcome]:
        if timeout is None and self.ends:
            self.clock.jump_to(self.ends[0][0])
        found, now = {}, self.clock()
        while self.ends and self.ends[0][0] <= now:
            end, name, value = heapq.heappop(self.ends)
            heapq.heappush(self.free_since, end)  # the worker waits from this moment on
            found[name] = Outcome(value)
        return found


def simulate(
    workers: int, seconds: float, trials: int, algorithm: str, *, n_start: int | None = None
) -> list[dict[str, float]]:
    """One row for each tenth of the evaluations, in the order in which they begin. Ctrl-C ends
    it early."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = Space.of([(-1.0, 1.0)] * D)
    sampler = NeuroSampler(algorithm, seed=0, search_space=space, n_startup_trials=n_start)
    study = optuna.create_study(sampler=sampler)
    clock = Clock()
    with SimulatedWorkers(workers, seconds, clock, np.random.default_rng(0)) as places:
        run = Run(space, LocalBackend(study, space, 0), places, trials, 1)
        began, real = (time.process_time(), clock()), vars(loops)["time"]
        vars(loops)["time"] = _Time(clock)
        try:
            run.go(math.inf, [], Silent())
        finally:
            vars(loops)["time"] = real
    values = [t.values[0] for t in study.get_trials(deepcopy=False) if t.values]
    rows = []
    for part in np.array_split(np.arange(len(places.starts)), 10):
        starts = [places.starts[i] for i in part]
        idle, busy = sum(s.idle for s in starts), sum(s.busy for s in starts)
        rows.append({
            "n": int(part[-1]) + 1,
            "evaluations": len(starts),
            "idle": idle / (idle + busy),
            "per_second": len(starts) / max(starts[-1].cpu - began[0], 1e-9),
            "load": (starts[-1].cpu - began[0]) / max(starts[-1].moment - began[1], 1e-9),
            "best": min(values[: part[-1] + 1]),
            "memory_mb": starts[-1].memory_mb,
        })  # fmt: skip
        began = starts[-1].cpu, starts[-1].moment
    return rows


class _Time:
    """The loop's clock."""

    def __init__(self, clock: Clock) -> None:
        self.perf_counter = clock
        self.monotonic = clock


def write() -> None:
    """The table and the picture of docs/cluster.md."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    lines = ["| run | n | workers idle | suggestions per CPU second | memory |",
             "|---|---|---|---|---|"]  # fmt: skip
    picture, places = plt.subplots(1, 3, figsize=(11, 3.4))
    for path in sorted(RESULTS.glob("*.json")):
        algorithm, seconds = path.stem.rsplit("-", 1)
        rows, name = json.loads(path.read_text()), f"{algorithm}, {seconds} s"
        for row in rows[1::2]:
            lines.append(
                f"| {name} | {row['n']:.0f} | {100 * row['idle']:.1f} % "
                f"| {row['per_second']:.0f} | {row['memory_mb']:.0f} MB |"
            )
        n = [row["n"] for row in rows]
        for place, key, unit in zip(places, ("idle", "per_second", "memory_mb"), (100, 1, 1),
                                    strict=True):  # fmt: skip
            place.plot(n, [unit * row[key] for row in rows], marker="o", markersize=3, label=name)
    left, middle, right = places
    left.axhline(10, color="grey", linestyle=":")
    left.set(ylabel="idle share of 1000 workers (%)", ylim=(0, None))
    middle.set(ylabel="suggestions per CPU second", yscale="log")
    right.set(ylabel="highest memory so far (MB)", ylim=(0, None))
    for place in places:
        place.set(xlabel="evaluations")
    left.legend(frameon=False, fontsize=8)
    picture.tight_layout()
    picture.savefig(PICTURES / "many-workers.svg", metadata={"Date": None})
    print("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--trials", type=int, default=5000)
    parser.add_argument("--algorithm", default="ntk-gp")
    parser.add_argument("--start", type=int, default=None)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.write:
        write()
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells switch it off behind an "&"
    rows = simulate(
        given.workers, given.seconds, given.trials, given.algorithm, n_start=given.start
    )
    for row in rows:
        print(*(f"{name}={number:.4g}" for name, number in row.items()))
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{given.algorithm}-{given.seconds:g}.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
