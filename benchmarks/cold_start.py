"""From the start of a process to its suggestions: processor and wall seconds, ours and others'.

    python benchmarks/cold_start.py                    # all cases, five times (an hour)
    python benchmarks/cold_start.py --repeat 1 --only first-6   # other rows stay as they are
    python benchmarks/cold_start.py --delay           # an objective of two seconds: two minutes

Every measurement is a process of its own; methods take turns, so that whatever else the machine
does meets all of them. "first ever": without programs of an earlier process; "again": with them.
The table is written to docs/how-fast.md, between its marks, from benchmarks/reference/cold.csv.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

FILE = Path("benchmarks/reference/cold.csv")
PAGE = Path("docs/how-fast.md")
MARKS = "<!-- cold: begin -->", "<!-- cold: end -->"
CASES = {
    "first-2": ("first three suggestions, 2 parameters", 2, 0, 3),
    "first-6": ("first three suggestions, 6 parameters", 6, 0, 3),
    "first-20": ("first three suggestions, 20 parameters", 20, 0, 3),
    "first-mixed": ("first three suggestions, 6 numbers and 4 switches", 6, 4, 3),
    "study-2": ("a study of 40 trials, 2 parameters", 2, 0, 40),
    "study-6": ("a study of 100 trials, 6 parameters", 6, 0, 100),
}
"""What it is, numbers, switches, and suggestions after (the first three) or from the start."""
Row = tuple[str, str, float, float, int]
METHODS = ("auto, first ever", "auto, again", "Optuna GP", "BoTorch", "Optuna TPE")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--only", action="append", choices=CASES)
    options.add_argument("--methods", action="append", choices=METHODS)
    options.add_argument("--delay", action="store_true")
    options.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child == ["delay", "auto"]:
        print(json.dumps(_gaps()))
        return
    if given.child:
        child(*given.child)
        return
    if given.delay:
        delays(given.repeat)
        return
    cases = given.only or list(CASES)
    rows = measured(cases, given.methods or list(METHODS), given.repeat)
    rows = [row for row in kept() if row[0] not in cases] + rows
    rows.sort(key=lambda row: list(CASES).index(row[0]))
    with FILE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("case", "method", "cpu", "wall", "programs"), *rows])
    write_page()
    print(table(rows))


def kept() -> list[Row]:
    """What was measured before."""
    if not FILE.exists():
        return []
    with FILE.open(newline="") as file:
        return [
            (r["case"], r["method"], float(r["cpu"]), float(r["wall"]), int(r["programs"]))
            for r in csv.DictReader(file)
        ]


# Measuring --------------------------------------------------------------------------------------


def measured(cases: list[str], methods: list[str], repeat: int) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for case in cases:
            for i in range(repeat):
                for method in methods:
                    kept = Path(scratch) / (f"{i}" if "first ever" in method else case)
                    if method == "auto, again" and i == 0:
                        run(case, "auto", kept)  # makes the programs
                    cpu, wall, programs = run(case, method.partition(",")[0], kept)
                    rows.append((case, method, round(cpu, 2), round(wall, 2), programs))
                    print(*rows[-1], flush=True)
            for entry in Path(scratch).iterdir():
                if entry.name.isdigit():
                    entry.rename(entry.with_name(f"{case}-{entry.name}-done"))
    return rows


def run(case: str, method: str, kept: Path) -> tuple[float, float, int]:
    """Processor and wall seconds of a fresh process, and how many programs it compiled."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have their bytecode
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, __file__, "--child", case, method],
        stdout=subprocess.PIPE, text=True,
        env=environment | {"NEUROBO_CACHE": str(kept), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{method} failed on {case}")
    seconds = usage.ru_utime + usage.ru_stime
    return seconds, time.perf_counter() - began, json.loads(said)["programs"]


def child(case: str, method: str) -> None:
    _, numbers, switches, count = CASES[case]
    names = [f"x{i}" for i in range(numbers)]
    flags = [f"s{i}" for i in range(switches)]
    counter = {"programs": 0}
    {"auto": _auto, "Optuna GP": _optuna, "Optuna TPE": _optuna, "BoTorch": _botorch}[method](
        case, method, names, flags, count, counter
    )
    print(json.dumps(counter))


START = 8 + 1
"""Points of the initial design in six parameters, and the middle of the space."""


def delays(repeat: int) -> None:
    """Wall seconds between an evaluation of two seconds and the next one, without programs of an
    earlier process: the first suggestion of a model, and the longest of the five after it."""
    found = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as kept:
            command = [sys.executable, __file__, "--child", "delay", "auto"]
            environment = dict(os.environ) | {"NEUROBO_CACHE": kept}
            said = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
        gaps = json.loads(said.stdout)[START - 1 :]
        found.append((gaps[0], max(gaps[1:])))
        print(*(f"{seconds:.2f}" for seconds in found[-1]), flush=True)
    first, later = (statistics.median(column) for column in zip(*found, strict=True))
    print(f"medians: first {first:.2f} s, longest of the next five {later:.2f} s")


def _gaps() -> list[float]:
    import neurobo

    times: list[tuple[float, float]] = []

    def objective(x: Any) -> float:
        began = time.perf_counter()
        time.sleep(2.0)
        found = value({str(i): float(v) for i, v in enumerate(x)})
        times.append((began, time.perf_counter()))
        return found

    neurobo.minimize(objective, [(-1.0, 1.0)] * 6, START + 6, seed=0, progress=False)
    return [after[0] - before[1] for before, after in itertools.pairwise(times)]


def value(point: dict[str, Any]) -> float:
    """A curved valley."""
    x = list(point.values())
    return sum(
        (b - a * a) ** 2 + 0.1 * (a - 0.3) ** 2 for a, b in zip(x, x[1:] + x[:1], strict=True)
    )


def _start(names: list[str], flags: list[str], case: str) -> list[dict[str, Any]]:
    """Twelve observations before the first suggestions, 24 if there are many parameters, so that
    the initial design is over; none before a study."""
    import random

    draw = random.Random(0)
    return [
        {name: draw.uniform(-1, 1) for name in names} | {flag: draw.randint(0, 1) for flag in flags}
        for _ in range(0 if case.startswith("study") else 24 if len(names) > 10 else 12)
    ]


def _auto(
    case: str, method: str, names: list[str], flags: list[str], count: int, counter: Any
) -> None:
    import neurobo

    space: Any = dict.fromkeys(names, (-1.0, 1.0)) | {f: neurobo.Int(0, 1) for f in flags}
    history = [(point, value(point)) for point in _start(names, flags, case)]
    import jax

    def listen(event: str, *_: Any, **__: Any) -> None:
        counter["programs"] += event == "/jax/core/compile/backend_compile_duration"

    jax.monitoring.register_event_duration_secs_listener(listen)
    for _ in range(count):
        (point,) = neurobo.suggest(space, history, seed=0)
        history.append((point, value(point)))


def _optuna(
    case: str, method: str, names: list[str], flags: list[str], count: int, counter: Any
) -> None:
    import warnings

    import optuna

    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space: dict[str, Any] = {n: optuna.distributions.FloatDistribution(-1, 1) for n in names}
    space |= {flag: optuna.distributions.IntDistribution(0, 1) for flag in flags}
    kinds = {"Optuna GP": optuna.samplers.GPSampler, "Optuna TPE": optuna.samplers.TPESampler}
    study = optuna.create_study(sampler=kinds[method](seed=0))
    for point in _start(names, flags, case):
        study.add_trial(
            optuna.trial.create_trial(params=point, distributions=space, value=value(point))
        )
    for _ in range(count):
        trial = study.ask(space)
        study.tell(trial, value(trial.params))


def _botorch(
    case: str, method: str, names: list[str], flags: list[str], count: int, counter: Any
) -> None:
    """The loop of BoTorch's tutorials; switches are relaxed to numbers."""
    import warnings

    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    every = [*names, *flags]
    low = torch.tensor([-1.0] * len(names) + [0.0] * len(flags), dtype=torch.double)
    bounds = torch.stack([low, torch.ones_like(low)])
    points = [list(p.values()) for p in _start(names, flags, case)]
    for _ in range(count):
        if len(points) < 10:
            drawn = low + (1 - low) * torch.rand(len(every), dtype=torch.double)
            points.append(drawn.tolist())
            continue
        x = torch.tensor(points, dtype=torch.double)
        y = torch.tensor(
            [[-value(dict(zip(every, p, strict=True)))] for p in points], dtype=torch.double
        )
        model = SingleTaskGP(
            x, y, input_transform=Normalize(len(every), bounds=bounds),
            outcome_transform=Standardize(1),
        )  # fmt: skip
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        found, _best = optimize_acqf(
            LogExpectedImprovement(model, y.max()), bounds=bounds, q=1,
            num_restarts=10, raw_samples=512,
        )  # fmt: skip
        points.append(found[0].tolist())


# The page ---------------------------------------------------------------------------------------


def table(rows: list[Row]) -> str:
    """Medians, and how many runs they are of."""
    found: dict[tuple[str, str], list[tuple[float, float, int]]] = defaultdict(list)
    for case, method, *numbers in rows:
        found[case, method].append(tuple(map(float, numbers)))  # type: ignore[arg-type]
    lines = [
        "| | " + " | ".join(METHODS) + " | programs: first ever, again | runs |",
        "|---" * (len(METHODS) + 3) + "|",
    ]
    for case in dict.fromkeys(case for case, _ in found):
        cells, programs, runs_of = [], [], found[case, METHODS[0]]
        for method in METHODS:
            runs = found[case, method]
            if not runs:
                cells.append("")
                continue
            cpu, wall = (statistics.median(run[i] for run in runs) for i in (0, 1))
            cells.append(f"{cpu:.1f} ({wall:.1f})")
            if "auto" in method:
                programs.append(f"{statistics.median(run[2] for run in runs):.0f}")
        lines.append(
            f"| {CASES[case][0]} | {' | '.join(cells)} | {', '.join(programs)} | {len(runs_of)} |"
        )
    return "\n".join(lines)


def write_page() -> None:
    rows = kept()
    text = PAGE.read_text()
    head, _, rest = text.partition(MARKS[0])
    _, _, tail = rest.partition(MARKS[1])
    PAGE.write_text(f"{head}{MARKS[0]}\n{table(rows)}\n{MARKS[1]}{tail}")


if __name__ == "__main__":
    main()
