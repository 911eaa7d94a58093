"""One Python process that runs many scripts, each in a fresh namespace and a folder of its own.

A script runs as `python -W error::UserWarning script.py` would run it, except that what the scripts
before it have imported and compiled is there already. `make test-wheel` and `make test-versions`
run the README and the quickstart in fresh processes.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path


class BlockProcess:
    """Starts at the first script; `close` ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, script: str, folder: Path) -> str:
        """What the script prints; its traceback is the message of an AssertionError."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"script": script, "folder": str(folder)}) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        assert answer, f"the process ended with code {process.wait()}"
        result = json.loads(answer)
        assert result["error"] is None, result["error"]
        return str(result["printed"])

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()  # closes its standard input, so it ends

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "error::UserWarning", __file__],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        return self._process


def main() -> None:
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what child processes print
    for line in sys.stdin:
        task = json.loads(line)
        os.chdir(task["folder"])
        answers.write(json.dumps(run(task["script"])) + "\n")
        answers.flush()


def run(script: str) -> dict[str, str | None]:
    printed, error = io.StringIO(), None
    with redirect_stdout(printed):
        try:
            exec(compile(script, "<blocks>", "exec"), {"__name__": "__main__"})
        except BaseException:
            error = traceback.format_exc()
    return {"printed": printed.getvalue(), "error": error}


if __name__ == "__main__":
    main()
