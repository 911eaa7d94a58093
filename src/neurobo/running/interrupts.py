"""Ctrl-C and SIGTERM at moments at which Python would crash, lose them, or leave modules half
imported."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self


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


class StopFlags:
    """While entered, Ctrl-C and SIGTERM only set flags: nothing is raised from a signal handler,
    where an exception may be lost. Whoever works looks at the flags between two steps.
    """

    def __init__(self) -> None:
        self.soon = False
        """Ctrl-C: finish what runs, begin nothing."""
        self.now = False
        """A second Ctrl-C, or SIGTERM."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            signs = (signal.SIGINT, signal.SIGTERM)
            self._before = {sign: signal.signal(sign, self._answer) for sign in signs}
        return self

    def __exit__(self, *_: object) -> None:
        for sign, handler in self._before.items():
            signal.signal(sign, handler)

    def _answer(self, sign: int, _: Any) -> None:
        if self.now:  # nobody has looked for long: the next one ends the process
            signal.signal(sign, signal.SIG_DFL)
        self.now = self.now or self.soon or sign == signal.SIGTERM
        self.soon = True

    def check(self) -> None:
        """Raise KeyboardInterrupt, outside of any handler, if the work is to stop now."""
        if self.now:
            raise KeyboardInterrupt
