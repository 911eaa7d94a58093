"""Runners that share a study on PostgreSQL: trials a second, and what reading the history costs.

    git worktree add /tmp/before COMMIT
    python benchmarks/postgres_fleet.py --before /tmp/before/src --rounds 2
    python benchmarks/postgres_fleet.py --history 10000

The first starts 8 runners of one study file, whose objective and suggestions (initial design) cost
nothing, on a server of its own, with the given source and with today's by turns. Trials a second
are counted from the moment when a fifth of the trials has ended, so that the start of the processes
does not count. Each runner counts its SQL statements and the seconds that it waits for them.
Needs the extra `postgres` and the server's programs (Debian: postgresql).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import optuna
from faults.postgres import Server, missing, server
from sqlalchemy import create_engine, text

STUDY = """name = "fleet"
n_startup_trials = 1_000_000
storage = "{url}"

[budget]
trials = {trials}

[space]
{space}

[objective]
python = "goal:f"
"""
GOAL = "def f(p):\n    return p['x0'] ** 2\n"
COUNTER = """import atexit, json, os, time
from sqlalchemy import event
from sqlalchemy.engine import Engine
FOUND, BEGAN = {"statements": 0, "waiting": 0.0}, {}
@event.listens_for(Engine, "before_cursor_execute")
def before(connection, cursor, *_):
    BEGAN[id(cursor)] = time.perf_counter()
@event.listens_for(Engine, "after_cursor_execute")
def after(connection, cursor, *_):
    FOUND["statements"] += 1
    FOUND["waiting"] += time.perf_counter() - BEGAN.pop(id(cursor))
@atexit.register
def write():
    FOUND["cpu"] = time.process_time()
    with open(os.environ["COUNTED"], "w") as file:
        json.dump(FOUND, file)
"""
RUN = "from neurobo.cli import main; main()"


def fleet(source: Path, runners: int, trials: int, d: int) -> dict[str, float]:
    """Figures of one run."""
    with tempfile.TemporaryDirectory() as name, server() as postgres:
        folder = Path(name)
        space = "\n".join(f"x{i} = {{ low = -5.0, high = 5.0 }}" for i in range(d))
        study = STUDY.format(url=postgres.url, trials=trials, space=space)
        (folder / "study.toml").write_text(study)
        (folder / "goal.py").write_text(GOAL)
        (folder / "sitecustomize.py").write_text(COUNTER)
        processes = []
        for i in range(runners):
            env = os.environ | {"PYTHONPATH": f"{folder}:{source}",
                                "COUNTED": str(folder / f"counted-{i}")}  # fmt: skip
            with (folder / f"log-{i}").open("wb") as log:
                processes.append(subprocess.Popen(
                    [sys.executable, "-c", RUN, "run", str(folder / "study.toml")],
                    env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                ))  # fmt: skip
        try:
            codes = [process.wait(timeout=1500) for process in processes]
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
        if any(codes):
            raise SystemExit((folder / "log-0").read_text()[-2000:])
        ended = _ends(postgres)
        counted = [json.loads(path.read_text()) for path in folder.glob("counted-*")]
    first = ended[len(ended) // 5]
    seconds = ended[-1] - first
    return {
        "trials_per_second": (len(ended) - len(ended) // 5 - 1) / seconds,
        "statements_per_trial": sum(c["statements"] for c in counted) / len(ended),
        "storage_seconds_per_trial": sum(c["waiting"] for c in counted) / len(ended),
        "cpu_seconds_per_trial": sum(c["cpu"] for c in counted) / len(ended),
    }


def _ends(postgres: Server) -> list[float]:
    """When trials have ended, in seconds."""
    engine = create_engine(postgres.url.replace("postgresql:", "postgresql+psycopg:"))
    query = "SELECT extract(epoch FROM datetime_complete) FROM trials WHERE state = 'COMPLETE'"
    with engine.connect() as connection:
        found = sorted(float(row[0]) for row in connection.execute(text(query)))
    engine.dispose()
    return found


def history(n: int, d: int) -> dict[str, float]:
    """Seconds to read a study of `n` trials for a suggestion, after each new trial."""
    from neurobo.data.observations import Data
    from neurobo.integrations.optuna.history import ReadTrials, trials_of_study
    from neurobo.integrations.optuna.storage import opened
    from neurobo.running.suggesting import suggest_all
    from neurobo.space.search_space import Space

    space = Space.of({f"x{i}": (-5.0, 5.0) for i in range(d)})
    with server() as postgres:
        sampler = optuna.samplers.RandomSampler(seed=0)
        study = optuna.create_study(storage=opened(postgres.url), sampler=sampler)

        def another() -> None:
            trial = study.ask()
            suggest_all(trial, space)
            study.tell(trial, 1.0)

        another()
        _copy_trial(postgres, n)
        read, seconds, cpu = ReadTrials(), list[float](), list[float]()
        study = optuna.load_study(
            study_name=study.study_name, storage=opened(postgres.url), sampler=sampler
        )
        for _ in range(21):
            began, cpu_began = time.perf_counter(), time.process_time()
            data = Data.of(space, trials_of_study(study, space, read=read))
            seconds.append(time.perf_counter() - began)
            cpu.append(time.process_time() - cpu_began)
            another()
    return {
        "n": data.n, "first_seconds": seconds[0], "seconds": median(seconds[1:]),
        "cpu_seconds": median(cpu[1:]), "worst_seconds": max(seconds[1:]),
    }  # fmt: skip


def _copy_trial(postgres: Server, n: int) -> None:
    """Make `n` trials of the first one, each with its own values."""
    engine = create_engine(postgres.url.replace("postgresql:", "postgresql+psycopg:"))
    statements = (
        f"INSERT INTO trials (number, study_id, state, datetime_start, datetime_complete) "
        f"SELECT g, study_id, state, datetime_start, datetime_complete "
        f"FROM trials, generate_series(1, {n - 1}) g WHERE number = 0",
        "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) "
        "SELECT t.trial_id, p.param_name, random() * 10 - 5, p.distribution_json "
        "FROM trials t, trials o JOIN trial_params p ON p.trial_id = o.trial_id "
        "WHERE o.number = 0 AND t.number > 0",
        "INSERT INTO trial_values (trial_id, objective, value, value_type) "
        "SELECT trial_id, 0, random(), 'FINITE' FROM trials WHERE number > 0",
    )
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--before", type=Path, help="the source folder to compare with")
    parser.add_argument("--runners", type=int, default=8)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("-d", type=int, default=5)
    parser.add_argument("--history", type=int, help="only read a history of so many trials")
    given = parser.parse_args()
    if missing():
        raise SystemExit(missing())
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if given.history:
        print(_line(history(given.history, 20)))
        return
    sources = {"before": given.before, "today": ROOT / "src"}
    for _ in range(given.rounds):
        for name, source in sources.items():
            if source is not None:
                figures = fleet(source.resolve(), given.runners, given.trials, given.d)
                print(name, _line(figures), flush=True)


def _line(figures: dict[str, float]) -> str:
    return " ".join(f"{name}={number:.4g}" for name, number in figures.items())


if __name__ == "__main__":
    main()
