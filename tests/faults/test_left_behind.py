"""What a runner leaves behind when somebody kills it: nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from studies.made import NEUROBO, environment, read, study

from neurobo.integrations.optuna import storage as storages
from neurobo.running.progress import Silent
from neurobo.studies.runner import shared_run as runner

SLEEP = "import time\ndef f(p):\n    open('mark', 'w').close()\n    time.sleep(60)\n"


def _wait(until: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    "objective", ['python = "goal:f"', 'command = ["sh", "-c", "touch mark; sleep 60"]']
)
def test_kill_9_leaves_no_folder_and_no_process(objective: str, tmp_path: Path) -> None:
    path = study(tmp_path / "study", objective, trials=5, goal=SLEEP, top="n_startup_trials = 9\n")
    places = tmp_path / "temporary"
    places.mkdir()
    env = environment() | {"TMPDIR": str(places)}
    run = subprocess.Popen([NEUROBO, "run", str(path)], env=env, stdout=subprocess.DEVNULL)
    try:
        _wait(lambda: list(places.glob("neurobo-trial-*/mark")))
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    _wait(lambda: not list(places.glob("neurobo-trial-*")), 10)
    _wait(lambda: not _working_in(places), 10)


def _working_in(folder: Path) -> list[str]:
    """Processes whose temporary files go to the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"TMPDIR={folder}\0".encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return [pid for pid in found if int(pid) != os.getpid()]


def test_a_trial_takes_at_most_25_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With six parameters and the `BEGIN` of every transaction; it was 90."""
    statements: Counter[str] = Counter()
    turns = storages._take_turns

    def count(storage: Any) -> None:
        turns(storage)
        event.listen(
            storage.engine, "before_cursor_execute",
            lambda c, cursor, text, *_: statements.update([text.split()[0]]),
        )  # fmt: skip

    monkeypatch.setattr(storages, "_take_turns", count)
    space = "\n".join(f"x{i} = {{ low = 0.0, high = 1.0 }}" for i in range(6))
    goal = "def f(p):\n    return sum(p.values())\n"
    file = read(tmp_path, trials=25, space=space, goal=goal, top="n_startup_trials = 99\n")
    runner.run(file, display=lambda _: Silent(), note=lambda _: None)
    assert sum(statements.values()) / 25 <= 25, statements
