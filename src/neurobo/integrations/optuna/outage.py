"""A storage that is away for a while: calls are repeated until it is back."""

from __future__ import annotations

import itertools
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

T = TypeVar("T")

MINUTES = 10.0
"""How long calls are repeated, unless the user says otherwise."""
FIRST, LONGEST = 0.1, 5.0
"""Seconds between two attempts: doubled after each, with jitter, up to the longest."""
QUIET = 2
"""Attempts after which the user is told."""
SLICE = 0.2
"""Seconds between two looks at what else there is to do."""

_FULL = "disk is full"
"""What SQLite says then."""
_STAYS = ("readonly", "read-only", "malformed", "not a database", "no such table",
          "disk I/O error", "unable to open")  # fmt: skip
"""What SQLite says if waiting does not help."""


def is_away(error: BaseException) -> bool:
    """Whether a call failed because the storage cannot be reached now, so that it may be repeated:
    the server restarts, the connection broke, others keep the file locked, a deadlock."""
    cause = error.__cause__ if isinstance(error, StorageInternalError) else error
    if not isinstance(cause, DBAPIError):
        return False
    if cause.connection_invalidated:
        return True
    text = str(cause.orig)
    return isinstance(cause, OperationalError | InterfaceError) and not any(
        sign in text for sign in (*_STAYS, _FULL)
    )


def is_full(error: BaseException) -> bool:
    """Whether a call failed because an SQLite file cannot grow; reading still works."""
    cause = error.__cause__ if isinstance(error, StorageInternalError) else error
    return isinstance(cause, OperationalError) and _FULL in str(cause.orig)


class _Here(threading.local):
    calling = False


class Outage:
    """Repeats calls to a storage that is away, in any thread.

    `note` gets one line when the storage goes away and one when it is back. `meanwhile` is called
    between two attempts of the thread that made the object, which cannot do anything else then; it
    may raise to give up.
    """

    def __init__(self, minutes: float = MINUTES) -> None:
        self.seconds = 60 * minutes
        self.note: Callable[[str], None] = lambda text: None
        self.meanwhile: Callable[[], None] = lambda: None
        self.waits_for_space = False
        """Whether a full disk is waited for, too: in a run, which has results to lose."""
        self.back_since = -math.inf
        """When the last outage ended, by the monotonic clock."""
        self._main = threading.get_ident()
        self._lock = threading.Lock()
        self._away_since: float | None = None
        self._told = False
        self._here = _Here()
        self._random = random.Random()  # jitter only: no suggestion depends on it

    @property
    def away(self) -> bool:
        return self._away_since is not None

    def is_worth_waiting(self, error: Exception) -> bool:
        return is_away(error) or (self.waits_for_space and is_full(error))

    def patiently(self, call: Callable[[], T]) -> T:
        """The call's result, however often it takes; its error if the storage stays away."""
        if self._here.calling:  # a call of a call, which is repeated as a whole
            return call()
        self._here.calling = True
        try:
            return self._repeat(call)
        finally:
            self._here.calling = False

    def _repeat(self, call: Callable[[], T]) -> T:
        wait, end = FIRST, math.inf
        for attempt in itertools.count():
            try:
                found = call()
            except Exception as error:
                if not self.is_worth_waiting(error):
                    raise
                end = min(end, time.monotonic() + self.seconds)
                if time.monotonic() + wait > end:
                    raise
                self._went(error, tell=attempt >= QUIET)
                self._pause(wait * self._random.uniform(0.5, 1.0))
                wait = min(2 * wait, LONGEST)
            else:
                if self.away:
                    self._came_back()
                return found
        raise AssertionError  # the count has no end

    @contextmanager
    def impatient(self, seconds: float) -> Iterator[None]:
        """Wait for the storage no longer than this."""
        before, self.seconds = self.seconds, min(seconds, self.seconds)
        try:
            yield
        finally:
            self.seconds = before

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if threading.get_ident() == self._main:
                self.meanwhile()
            time.sleep(min(left, SLICE))

    def _went(self, error: Exception, *, tell: bool) -> None:
        with self._lock:
            if self._away_since is None:
                self._away_since = time.monotonic()
            if self._told or not tell:
                return
            self._told = True
        self.note(
            f"the storage is away ({_first_line(error)}); evaluations go on, results are kept, and "
            f"calls are repeated for {self.seconds / 60:g} minutes"
        )

    def _came_back(self) -> None:
        with self._lock:
            if self._away_since is None:
                return
            seconds, told = time.monotonic() - self._away_since, self._told
            self._away_since, self._told, self.back_since = None, False, time.monotonic()
        if told:
            self.note(f"the storage is back after {seconds:.0f} s")


def _first_line(error: Exception) -> str:
    cause = error.__cause__ if isinstance(error, StorageInternalError) else error
    text = str(getattr(cause, "orig", None) or cause).strip()
    return (text.splitlines() or [type(error).__name__])[0]
