"""A fleet of runners on one study, an enemy that disturbs them, and a ledger that knows better."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studies.made import NEUROBO, environment, read

from neurobo.analysis.tally import Tally
from neurobo.integrations.optuna.attributes import RETRY_OF, failure_of
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.runner.store import open_study

LEASE = 4
"""Seconds."""
OBJECTIVE = """import json, os, random, time
FOLDER = os.path.dirname(os.path.abspath(__file__))
def f(p):
    time.sleep(random.random() * {seconds})
    value = (p["x"] - 1) ** 2 + (p["c"] == "a")
    line = json.dumps({{"point": [p["x"], p["n"], p["c"]], "value": value}}) + "\\n"
    ledger = os.open(FOLDER + "/ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(ledger, line.encode())
    os.close(ledger)
    return value
"""
START_DESIGN = "n_startup_trials = 1_000_000\n"
"""All suggestions are of the start design."""
SPACE = """x = { low = -5.0, high = 5.0 }
n = { type = "int", low = 0, high = 40 }
c = { choices = ["a", "b", "c"] }"""
# Time and clock of a runner may be off; only here, and only by what the environment says.
SKEW = """import os, time
_skew, _time = float(os.environ.get("CLOCK_SKEW", "0")), time.time
time.time = lambda: _time() + _skew
"""


@dataclass
class Runner:
    process: subprocess.Popen[bytes]
    log: Path
    expected: set[int] = field(default_factory=lambda: {0})
    """Exit codes that are no failure."""


@dataclass
class Fleet:
    """Runners of one study file, each with its output in a file."""

    file: StudyFile
    size: int
    rng: random.Random
    skew: float = 0.0
    far: Path | None = None
    """A second file of the same study, which every other runner uses."""
    awake: bool = False
    """Whether only runners that have stored a result are disturbed; the others are starting."""
    runners: list[Runner] = field(default_factory=list)
    retired: list[Runner] = field(default_factory=list)

    def start(self) -> None:
        number = len(self.runners) + len(self.retired)
        log = self.file.folder / f"log-{number}"
        env = environment() | {"CLOCK_SKEW": str(self.rng.uniform(-self.skew, self.skew))}
        env["PYTHONPATH"] = f"{self.file.folder}:{env.get('PYTHONPATH', '')}"
        path = self.far if self.far is not None and number % 2 else self.file.path
        with log.open("wb") as out:
            process = subprocess.Popen(
                [NEUROBO, "run", str(path)], stdout=out, stderr=out, env=env,
                start_new_session=True,
            )  # fmt: skip
        self.runners.append(Runner(process, log))

    def ledger(self) -> list[dict[str, Any]]:
        path = self.file.folder / "ledger"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def victim(self) -> Runner:
        while alive := [r for r in self.runners if r.process.poll() is None]:
            ready = [r for r in alive if not self.awake or "trial " in _text(r)]
            if ready:
                return self.rng.choice(ready)
            time.sleep(0.1)
        raise AssertionError(self.ends())

    def _replace(self, runner: Runner) -> None:
        self.runners.remove(runner)
        self.retired.append(runner)
        self.start()

    # What may happen to them

    def kill(self) -> None:
        runner = self.victim()
        runner.process.kill()
        runner.process.wait()
        runner.expected = {-signal.SIGKILL}
        self._replace(runner)

    def terminate(self) -> None:
        runner = self.victim()
        runner.process.terminate()
        runner.process.wait(timeout=60)  # it does not go on for ten minutes
        # 130, or the signal itself while it was still starting.
        runner.expected = {130, -signal.SIGTERM}
        self._replace(runner)

    def sleep_through_a_lease(self) -> None:
        runner = self.victim()
        runner.process.send_signal(signal.SIGSTOP)
        time.sleep(2.5 * LEASE)
        runner.process.send_signal(signal.SIGCONT)

    def run(self, trials: int, enemy: Sequence[Callable[[], None]], seconds: float) -> None:
        """Let something happen whenever another part of the trials has ended."""
        end = time.monotonic() + seconds
        for _ in range(self.size):
            self.start()
        for i, attack in enumerate(enemy):
            goal = trials * (i + 1) / (len(enemy) + 2)
            while len(self.ledger()) < goal:
                assert time.monotonic() < end, self.ends()
                assert any(r.process.poll() is None for r in self.runners), self.ends()
                time.sleep(0.1)
            attack()
        for runner in self.runners:
            runner.process.wait(timeout=max(end - time.monotonic(), 1))

    def stop(self) -> None:
        for runner in self.runners:
            if runner.process.poll() is None:
                runner.process.kill()
                runner.process.wait()

    def ends(self) -> str:
        """The end of every runner's output."""
        return "\n".join(f"--- {r.log.name}: {_text(r)[-500:]}" for r in self.runners)


def _text(runner: Runner) -> str:
    return runner.log.read_text(errors="replace")


def made(
    folder: Path, trials: int, size: int, *, seed: int, storage: str = "", skew: float = 0.0,
    seconds: float = 0.1, top: str = START_DESIGN, far: str = "",
) -> Fleet:  # fmt: skip
    """A study whose suggestions cost nothing, unless `top` says otherwise. `far` is the URL of the
    same storage that every other runner uses."""

    def study(storage: str, name: str) -> StudyFile:
        more = f"[lease]\nseconds = {LEASE}\n"
        return read(folder, trials=trials, space=SPACE, more=more, name=name,
                    top=f"{top}retries = 9\n{storage and f'storage = {storage!r}'}\n",
                    goal=OBJECTIVE.format(seconds=seconds))  # fmt: skip

    (folder / "sitecustomize.py").write_text(SKEW)
    return Fleet(study(storage, "study.toml"), size, random.Random(seed), skew,
                 far=study(far, "far.toml").path if far else None)  # fmt: skip


def check(fleet: Fleet, trials: int) -> Counter[str]:
    """Nothing lost, nothing twice unless marked, nothing left; returns what happened."""
    for runner in (*fleet.runners, *fleet.retired):
        code = runner.process.returncode
        assert code in runner.expected, (runner.log.name, code, _text(runner)[-2000:])
        assert "Traceback" not in _text(runner), _text(runner)[-3000:]
    study = open_study(fleet.file)
    trials_now, tally = study.trials, Tally.of(study)
    study._storage._backend.engine.dispose()  # type: ignore[attr-defined]
    states = Counter(t.state.name for t in trials_now)
    assert len(tally.trials) == trials
    assert (states["RUNNING"], states["WAITING"]) == (0, 0)
    ledger = fleet.ledger()
    values = {tuple(entry["point"]): entry["value"] for entry in ledger}
    by_point: dict[tuple[Any, ...], list[Any]] = {}
    for trial in trials_now:
        by_point.setdefault(_point(trial.params), []).append(trial)
    for trial in tally.complete:
        assert values[_point(trial.params)] == trial.value
    # Points that were evaluated twice are retries, which say so.
    evaluated = Counter(tuple(entry["point"]) for entry in ledger)
    twice = [point for point, count in evaluated.items() if count > 1]
    for point in evaluated:
        assert all(RETRY_OF in t.user_attrs for t in by_point[point][1:]), by_point[point]
    complete = Counter(_point(t.params) for t in tally.complete)
    assert max(complete.values()) == 1
    # What was evaluated and has no result belonged to a runner that was ended.
    for point in evaluated.keys() - complete.keys():
        reasons = [failure_of(t) for t in by_point[point]]
        assert all(r.startswith(("lost", "interrupted")) for r in reasons), reasons
    acknowledged = set()
    told = {t.number: t for t in trials_now}
    for runner in (*fleet.runners, *fleet.retired):
        for number, value in re.findall(r"trial (\d+): (-?[\d.e+-]+),", _text(runner)):
            trial = told[int(number)]
            assert f"{trial.value:.5g}" == value, (trial, value)
            acknowledged.add(int(number))
    return states + Counter(
        {"acknowledged": len(acknowledged), "retried": tally.retried, "void": tally.void,
         "evaluated twice": len(twice), "ledger": len(ledger)}
    )  # fmt: skip


def _point(params: dict[str, Any]) -> tuple[Any, ...]:
    return params.get("x"), params.get("n"), params.get("c")
