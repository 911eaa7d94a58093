"""What runs on a worker of an engine: one evaluation of a study file's objective.

Only the standard library and NumPy are imported, so that a worker needs little time and memory.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from neurobo.running.workers import Outcome
from neurobo.studies.runner.evaluator import Functions
from neurobo.studies.runner.programs import Programs

REPLY, PRINTED = "reply", "printed"


class _Given:
    """A request that the runner has made; its reply goes back as it is."""

    def __init__(self) -> None:
        self.current: dict[str, Any] = {}
        self.timeout = math.inf

    def request(self, params: Any, number: int) -> dict[str, Any]:
        return self.current

    def ended(self, number: int, *, failed: bool) -> None:
        pass  # the runner removes the folder

    def outcome(
        self, reply: Mapping[str, Any], constraints: Sequence[str], printed: str
    ) -> Outcome:
        return Outcome(attrs={REPLY: dict(reply), PRINTED: printed})


class _Here(threading.local):
    """Of each thread: an evaluator, which goes on with the next request."""

    def __init__(self) -> None:
        self.given = _Given()
        self.programs = Programs(self.given, 1, ())


_here = _Here()
_functions = Functions()


def answer(request: dict[str, Any], timeout: float) -> Outcome:
    """Evaluate in a process of its own, which is killed with its children at the time-out."""
    _here.given.current, _here.given.timeout = request, timeout
    number = request["trial"]
    _here.programs.start(None, number)
    return _here.programs.finished()[number]


def call(request: dict[str, Any]) -> Outcome:
    """Call a Python function in this thread, which cannot have a current folder of its own."""
    return Outcome(attrs={REPLY: _functions.call({**request, "cwd": ""}), PRINTED: ""})
