"""Workers that are processes of their own: see evaluator.py for the other end of the pipes.

Workers of an engine import this module, too: neither JAX nor the numeric core.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Protocol, Self

from neurobo.running.workers import Outcome

GRACE = 2.0
"""Seconds between asking a program to end (SIGTERM) and ending it (SIGKILL)."""
REMEMBERED = 1 << 16
"""Bytes of what a Python objective prints."""


class Requests(Protocol):
    """What is evaluated; `objective.Requests` makes it of a study file."""

    @property
    def timeout(self) -> float: ...

    def request(self, params: Any, number: int) -> dict[str, Any]: ...

    def ended(self, number: int, *, failed: bool) -> None: ...

    def outcome(
        self, reply: Mapping[str, Any], constraints: Sequence[str], printed: str
    ) -> Outcome: ...


@dataclass(eq=False)
class _Slot:
    """A place for one evaluation at a time, and the process that serves it."""

    process: subprocess.Popen[bytes]
    trial: int | None = None
    group: int | None = None
    """The process group of the program that runs."""
    deadline: float = math.inf
    overdue: int = 0
    """How far the stop at the time-out has come: 0 not begun, 1 asked to end, 2 killed."""
    printed: bytearray = field(default_factory=bytearray)

    def signal(self, sign: int) -> None:
        """To the evaluation with its children, not to an evaluator that could go on."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group or self.process.pid, sign)

    def destroy(self) -> int:
        """End everything; the evaluator's exit code."""
        for group in {self.group or self.process.pid, self.process.pid}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        if self.process.stdin:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        return self.process.wait()


class Programs:
    """Evaluates a study file's objective in `count` processes."""

    def __init__(self, requests: Requests, count: int, constraints: Sequence[str]) -> None:
        self.count = count
        self._requests, self._constraints = requests, list(constraints)
        self._slots: list[_Slot] = []
        self._news: queue.SimpleQueue[tuple[_Slot, dict[str, Any] | None]] = queue.SimpleQueue()
        """Replies by slot; None when its evaluator is gone."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for slot in self._slots:
            slot.destroy()
            if slot.trial is not None:
                self._requests.ended(slot.trial, failed=True)
        self._slots.clear()

    @property
    def free(self) -> int:
        return self.count - sum(slot.trial is not None for slot in self._slots)

    def start(self, point: Any, name: int) -> None:
        request = self._requests.request(point, name)
        slot = next((s for s in self._slots if s.trial is None), None) or self._new()
        slot.trial, slot.group, slot.overdue = name, None, 0
        slot.deadline = time.monotonic() + self._requests.timeout
        slot.printed.clear()
        assert slot.process.stdin
        with contextlib.suppress(BrokenPipeError):  # then `finished` hears that it is gone
            slot.process.stdin.write(json.dumps(request).encode() + b"\n")
            slot.process.stdin.flush()

    def finished(self, timeout: float | None = None) -> dict[int, Outcome]:
        end = math.inf if timeout is None else time.monotonic() + timeout
        found: dict[int, Outcome] = {}
        while not found or not self._news.empty():
            busy = [slot for slot in self._slots if slot.trial is not None]
            until = min([end, *(slot.deadline for slot in busy)])
            try:
                # Not for ever: Python answers Ctrl-C between two waits.
                wait = min(max(until - time.monotonic(), 0), 1.0)
                slot, news = self._news.get(timeout=wait)
            except queue.Empty:
                self._enforce(busy)
                if time.monotonic() >= end:
                    break
                continue
            if slot not in self._slots:
                continue
            if news is not None and "group" in news:
                slot.group = news["group"]
            elif slot.trial is None:  # it died between two evaluations
                self._slots.remove(slot)
                slot.destroy()
            else:
                trial = slot.trial
                found[trial] = self._outcome(slot, news)
                self._requests.ended(trial, failed=bool(found[trial].failure))
                slot.trial, slot.group, slot.deadline = None, None, math.inf
        return found

    def _outcome(self, slot: _Slot, reply: dict[str, Any] | None) -> Outcome:
        code = 0
        if reply is None:
            code = slot.destroy()
            self._slots.remove(slot)
        printed = slot.printed.decode(errors="replace")
        told = reply or {"error": _gone(code)}
        found = self._requests.outcome(told, self._constraints, printed)
        if slot.overdue:
            why = f"it must end within {self._requests.timeout:g} s, got no end"
            return Outcome(failure=why, output=found.output)
        # Whoever kills a worker from outside says nothing about the point.
        return found._replace(lost=reply is None and code == -signal.SIGKILL)

    def _enforce(self, busy: Sequence[_Slot]) -> None:
        """Stop what is overdue, first politely."""
        for slot in busy:
            if time.monotonic() < slot.deadline:
                continue
            if slot.overdue < 2:
                slot.signal(signal.SIGKILL if slot.overdue else signal.SIGTERM)
            else:
                slot.destroy()  # not even its evaluator answers
            slot.overdue += 1
            slot.deadline = time.monotonic() + GRACE

    def _new(self) -> _Slot:
        read, write = os.pipe()
        # Started from the main thread: Linux would end it together with any other one.
        process = subprocess.Popen(
            # -P: what happens to lie in the current folder is not imported.
            [sys.executable, "-P", "-m", "neurobo.studies.runner.evaluator", str(write)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[write],
            start_new_session=True,
        )
        os.close(write)
        slot = _Slot(process)
        self._slots.append(slot)
        replies = os.fdopen(read, "r", encoding="utf-8")
        threading.Thread(target=self._listen, args=(slot, replies), daemon=True).start()
        threading.Thread(target=_remember, args=(slot,), daemon=True).start()
        return slot

    def _listen(self, slot: _Slot, replies: IO[str]) -> None:
        with replies:
            for line in replies:
                if line.endswith("\n"):
                    self._news.put((slot, _reply(line)))
        self._news.put((slot, None))


def _reply(line: str) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError, RecursionError) as error:
        return {"error": f"the objective must return what JSON can hold, got {error}"}


def _remember(slot: _Slot) -> None:
    """Keep the end of what an evaluator prints, so that its pipe never fills."""
    assert slot.process.stdout
    with slot.process.stdout as pipe:
        while found := os.read(pipe.fileno(), REMEMBERED):
            slot.printed += found
            del slot.printed[:-REMEMBERED]


def _gone(code: int) -> str:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"the worker died ({how})"
