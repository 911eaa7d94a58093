"""The process that evaluates: `python -m neurobo.studies.runner.evaluator FD`.

It reads requests from standard input and writes replies to the pipe FD, one JSON object in a line
each. It is the leader of a process group of its own, which its runner kills at a time-out; and it
ends, with everything that it has started, when its runner is gone. Only the standard library is
imported: it begins in a few hundredths of a second.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import mmap
import os
import select
import selectors
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from typing import IO, Any, NoReturn

OUT, ERR = 1 << 20, 1 << 16
"""Bytes of standard output and of standard error that are remembered."""
TRACE = 20
"""Lines of a traceback."""


def main() -> None:
    replies = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8")
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    with open(os.devnull, "rb") as nothing:  # the objective shall not read our requests
        os.dup2(nothing.fileno(), 0)
    folder = _Folder()
    if os.fork() == 0:  # nothing is loaded and no thread runs yet: this is safe
        _guard(requests.fileno(), folder)
    functions = Functions()
    while line := _line(requests):
        request = json.loads(line)
        folder.set(request.get("remove") or "")
        if request["kind"] == "command":
            reply = run_command(request, requests, lambda pid: _say(replies, {"group": pid}))
        else:
            reply = functions.call(request)
        _say(replies, reply)
    folder.remove()
    os.killpg(0, signal.SIGKILL)  # the runner is gone, or wants no more


def _say(replies: IO[str], message: dict[str, Any]) -> None:
    replies.write(json.dumps(message) + "\n")
    replies.flush()


def _line(requests: IO[bytes]) -> bytes:
    """One request. Byte by byte, so that nothing is taken that `select` should still see."""
    found = bytearray()
    while (byte := requests.read(1)) not in (b"", None, b"\n"):
        found += byte
    return bytes(found)


class _Folder:
    """The folder that goes with the evaluation, in memory that the guard sees, too."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 4096)

    def set(self, path: str) -> None:
        text = os.fsencode(path)
        self._memory.seek(0)
        # A path that is too long is none: better a folder that stays than another one that goes.
        self._memory.write((text if len(text) < 4096 else b"").ljust(4096, b"\0"))

    def remove(self) -> None:
        path = self._memory[:].rstrip(b"\0")
        if path:
            shutil.rmtree(path, ignore_errors=True)


def _guard(requests: int, folder: _Folder) -> NoReturn:
    """Wait for the end of the runner, then end this group, because a function that hangs cannot,
    and remove the folder of the evaluation.

    It keeps nothing open but the pipe of the requests, so that the runner sees our end, too.
    """
    os.closerange(0, requests)
    os.closerange(requests + 1, 256)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # politeness is for the objective
    hang_up = select.poll()
    hang_up.register(requests, 0)
    hang_up.poll()
    time.sleep(1.0)  # the evaluator itself ends the program that it runs, if it can
    guard = os.getpid()
    if os.fork() == 0:  # in a group of its own it outlives this one
        os.setpgid(0, 0)
        while os.getppid() == guard:
            time.sleep(0.02)
        folder.remove()
        os._exit(0)
    time.sleep(0.1)
    os.killpg(0, signal.SIGKILL)
    os._exit(0)


def die_with_parent() -> None:
    """Ask Linux to end this process with its parent, should somebody kill that."""
    if sys.platform.startswith("linux"):
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


# Programs -----------------------------------------------------------------------------------------


def run_command(
    request: dict[str, Any], requests: IO[bytes], started: Callable[[int], None]
) -> dict[str, Any]:
    """Run a program to its end; kill it and stop if the runner goes away meanwhile."""
    try:
        process = subprocess.Popen(
            request["args"],
            cwd=request["cwd"],
            env=os.environ | request["env"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=die_with_parent,  # safe: this process has no other thread
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return {"error": f"the program {request['args'][0]!r} cannot be started: {why}"}
    started(process.pid)
    out, err = _Tail(OUT), _Tail(ERR)
    text = (request["input"] or "").encode()
    assert process.stdin and process.stdout and process.stderr  # noqa: PT018
    with selectors.DefaultSelector() as ready, contextlib.ExitStack() as closing:
        for pipe in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(pipe.fileno(), False)
            closing.callback(pipe.close)
        ready.register(requests, selectors.EVENT_READ)
        ready.register(process.stdout, selectors.EVENT_READ, out)
        ready.register(process.stderr, selectors.EVENT_READ, err)
        if text:
            ready.register(process.stdin, selectors.EVENT_WRITE)
        else:
            process.stdin.close()
        wait = 0.001
        while process.poll() is None:
            events = ready.select(wait)
            wait = 0.001 if events else min(2 * wait, 0.02)
            for key, _ in events:
                if key.fileobj is requests:  # nothing is sent meanwhile: this is its end
                    _kill(process.pid)
                    shutil.rmtree(request.get("remove") or "", ignore_errors=True)
                    os.killpg(0, signal.SIGKILL)
                elif key.fileobj is process.stdin:
                    text = _write(process.stdin, text)
                    if not text:
                        ready.unregister(process.stdin)
                        process.stdin.close()
                elif not key.data.read(key.fileobj):
                    ready.unregister(key.fileobj)
        _kill(process.pid)  # children that were left behind
        for pipe, end in ((process.stdout, out), (process.stderr, err)):
            while end.read(pipe):
                pass
    return {"code": process.returncode, "out": str(out), "err": str(err)}


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _write(pipe: IO[bytes], text: bytes) -> bytes:
    """What is still to be written afterwards."""
    try:
        return text[os.write(pipe.fileno(), text) :]
    except BlockingIOError:
        return text
    except OSError:  # the program does not want to read
        return b""


class _Tail:
    """The end of what a program prints."""

    def __init__(self, most: int) -> None:
        self._most, self._kept = most, bytearray()

    def read(self, pipe: Any) -> bool:
        """Take what is there; False at the end, or if there is nothing now."""
        try:
            found = os.read(pipe.fileno(), 1 << 16)
        except OSError:
            return False
        self._kept += found
        if len(self._kept) > 2 * self._most:
            del self._kept[: -self._most]
        return bool(found)

    def __str__(self) -> str:
        return self._kept[-self._most :].decode(errors="replace")


# Functions ----------------------------------------------------------------------------------------


class Functions:
    """Python objectives, imported once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Callable[[Any], Any]] = {}

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            if request["cwd"]:
                os.chdir(request["cwd"])
            function = self._function(request)
            return {"result": json.loads(json.dumps(function(request["params"]), default=_plain))}
        except (Exception, SystemExit) as error:
            trace = traceback.format_exception(error)
            return {"error": repr(error), "trace": "".join(trace[-TRACE:])}
        finally:
            sys.stdout.flush()
            sys.stderr.flush()

    def _function(self, request: dict[str, Any]) -> Callable[[Any], Any]:
        name = request["module"], request["function"]
        if name not in self._known:
            if request["path"] not in sys.path:
                sys.path.insert(0, request["path"])
            found: Any = importlib.import_module(name[0])
            for part in name[1].split("."):
                found = getattr(found, part)
            if not callable(found):
                raise TypeError(f"{':'.join(name)} must be a function, got {found!r}")
            self._known[name] = found
        return self._known[name]


def _plain(value: Any) -> Any:
    """NumPy's and JAX's numbers and arrays as Python's."""
    for method in ("item", "tolist"):
        with contextlib.suppress(Exception):
            return getattr(value, method)()
    raise TypeError(f"the objective must return a number or a dict, got {value!r}")


if __name__ == "__main__":
    main()
