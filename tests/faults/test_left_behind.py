"""What a runner leaves behind when somebody kills it: nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from studies.made import NEUROBO, environment, study

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
