"""Programs that will be needed soon are compiled in the background.

While the first evaluations run, the processor has nothing to do for us: a rehearsal of the first
suggestions in a thread compiles what these will need. Whoever needs a program that is just being
compiled waits for it instead of compiling it again. `NEUROBO_COMPILE_AHEAD=off` switches it off.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable

VARIABLE = "NEUROBO_COMPILE_AHEAD"
_stop = threading.Event()
_background = threading.local()


class Stopped(BaseException):
    """The process ends: a rehearsal makes no further program."""


def rehearse(suggest: Callable[[], None]) -> threading.Thread | None:
    """Run this in the background for the programs that it compiles. Its errors are ignored."""
    if os.environ.get(VARIABLE, "").lower() == "off":
        return None
    thread = threading.Thread(target=_run, args=(suggest,), name="neurobo-compile", daemon=True)
    thread.start()
    # XLA must not be compiling when the interpreter goes away.
    atexit.register(_end, thread)
    return thread


def in_background() -> bool:
    """Whether this thread is a rehearsal."""
    return getattr(_background, "here", False)


def check_wanted() -> None:
    """Before a program is made: not for a rehearsal in a process that ends."""
    if in_background() and _stop.is_set():
        raise Stopped


def _run(suggest: Callable[[], None]) -> None:
    _background.here = True
    with contextlib.suppress(Exception, Stopped):  # the suggestion itself will say what is wrong
        suggest()


def _end(thread: threading.Thread) -> None:
    _stop.set()
    thread.join()
