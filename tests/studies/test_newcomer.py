"""The first half hour of somebody who has never seen neurobo, in a real terminal."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import DRAWN, Window

SESSION = f"neurobo-test-{os.getpid()}"


class Terminal:
    """tmux with a shell in a folder; every screen is kept in a file beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._screens = folder, folder.parent / "screens.txt"
        self._tmux("new-session", "-d", "-x", "110", "-y", "40", "-c", str(folder), "bash --norc")

    def _tmux(self, *arguments: str) -> str:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["tmux", "-L", SESSION, *arguments], capture_output=True, text=True, check=True,
            env={**os.environ, "PATH": path},
        )  # fmt: skip
        return done.stdout

    def type(self, text: str, *keys: str) -> None:
        self._tmux("send-keys", text, *(keys or ("Enter",)))

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait(self, pattern: str, seconds: float = 60) -> str:
        """The first screen on which the pattern stands."""
        end = time.monotonic() + seconds
        while not re.search(pattern, shown := self.screen()):
            assert time.monotonic() < end, shown
            time.sleep(0.2)
        with self._screens.open("a") as file:
            file.write(f"{shown.rstrip()}\n{'-' * 80}\n")
        return shown

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    folder = tmp_path / "empty"
    folder.mkdir()
    opened = Terminal(folder)
    yield opened
    opened.close()


@pytest.mark.slow
def test_from_an_empty_folder_to_a_report(terminal: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    terminal.type("PS1='$ '; clear; neurobo init")
    terminal.wait("wrote study_objective.py")
    text = (folder / "study.toml").read_text()
    edits = [("trials = 30", "trials = 14"), ("# workers = 1 ", "workers = 2 "),
             ("high = 90.0", "high = 80.0")]  # fmt: skip
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    (folder / "study.toml").write_text(text)
    goal = folder / "study_objective.py"
    goal.write_text(goal.read_text().replace("    speed =", "    time.sleep(1)\n    speed =", 1)
                    .replace("import math", "import math\nimport time"))  # fmt: skip
    terminal.type("clear; neurobo run")
    shown = terminal.wait(r" [3-6]/14 trials")
    assert "running" in shown
    terminal.type("C-c", "")
    shown = terminal.wait("stopped after .* of 14 trials; `neurobo run study.toml` continues")
    assert "will be finished; Ctrl-C again stops now" in shown
    terminal.type("clear; neurobo run")
    terminal.wait("14/14 trials(.|\n)*Best so far: trial (.|\n)*objective", 120)
    terminal.type("clear; neurobo report")
    terminal.wait("wrote .*study.html")
    with Window(tmp_path) as window:
        window.open(folder / "study.html", 1280)
        window.wait_for(DRAWN)
        assert not window.errors
        assert "14 of 14 trials have ended" in window.value("document.body.textContent")
