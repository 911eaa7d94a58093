"""Ctrl-C at moments at which Python would crash, lose it, or leave modules half imported."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def _handler() -> Callable[..., Any] | None:
    """What answers Ctrl-C now, if this thread may replace it."""
    found = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    return found if main and callable(found) else None


@contextmanager
def deferred() -> Iterator[None]:
    """Ctrl-C waits until the block has ended; a second one does not.

    An interrupt inside JAX's compiler makes Python crash when it exits (seen with JAX 0.10.2), and
    one inside an import leaves modules behind that cannot be imported again.
    """
    previous = _handler()
    if previous is None:
        yield
        return
    caught: list[Any] = []

    def later(*about: Any) -> None:
        caught.append(about)
        if len(caught) > 1:
            previous(*about)

    signal.signal(signal.SIGINT, later)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if caught:
        previous(*caught[0])


@contextmanager
def remembered() -> Iterator[Callable[[], None]]:
    """Yields a function that raises a KeyboardInterrupt which was raised inside the block and lost.

    JAX has a function called at every garbage collection, and Python ignores what is raised there.
    """
    previous = _handler()
    if previous is None:
        yield lambda: None
        return
    lost: list[KeyboardInterrupt] = []

    def answer(*about: Any) -> None:
        try:
            previous(*about)
        except KeyboardInterrupt as interrupt:
            lost.append(interrupt)
            raise

    def raise_lost() -> None:
        if lost:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, answer)
    try:
        yield raise_lost
    finally:
        signal.signal(signal.SIGINT, previous)
