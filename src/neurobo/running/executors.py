"""Executors: the processes that `minimize` starts itself, and what it needs to know of others.

Workers import this module, too: only the standard library.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any

from neurobo.errors import InvalidInput, NeuroboError

POLL = 0.5
"""Seconds between two looks at jobs that do not tell when they have ended."""
_OF_THE_PROGRAM = {
    "AttributeError", "FailedJobError", "ImportError", "ModuleNotFoundError", "NameError",
    "PicklingError", "RayTaskError", "SyntaxError", "TypeError", "UnpicklingError",
}  # fmt: skip
"""Exceptions by which a worker says that it cannot read the objective; FailedJobError is
submitit's, RayTaskError Ray's."""


class Processes(Executor):
    """Processes of this machine, each of which dies alone, with its own evaluation."""

    def __init__(self, count: int) -> None:
        self._max_workers = count
        self._pools: list[Executor | None] = [None] * count
        self._last: list[Future[Any] | None] = [None] * count

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        idle = (i for i, future in enumerate(self._last) if future is None or future.done())
        place = next(idle, None)
        if place is None:
            raise NeuroboError(f"{self._max_workers} processes take no more work at once")
        self._remove_broken(place)
        pool = self._pools[place] or _process()
        future = pool.submit(fn, *args, **kwargs)
        self._pools[place], self._last[place] = pool, future
        return future

    def _remove_broken(self, place: int) -> None:
        last, pool = self._last[place], self._pools[place]
        if last is not None and pool is not None and not last.cancelled() and last.exception():
            _kill(pool)
            self._pools[place] = None

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes at once."""
        for pool in self._pools:
            if pool is not None:
                _kill(pool)


def _process() -> Executor:
    from loky import ProcessPoolExecutor  # type: ignore[import-untyped]

    pool: Executor = ProcessPoolExecutor(1, initializer=_ignore_interrupts)
    return pool


def _ignore_interrupts() -> None:
    """Ctrl-C reaches the whole process group; only the main process shall answer it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _kill(pool: Executor) -> None:
    pool.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]


def size_of(executor: Executor) -> int:
    """How many evaluations an executor runs at once, if it tells."""
    found = getattr(executor, "_max_workers", None)
    if not isinstance(found, int) or found < 1:
        raise InvalidInput(
            f"workers must be given with {type(executor).__name__}, which does not tell how many "
            "evaluations it can run at once, got workers=None"
        )
    return found


class Job(Future[Any]):
    """A job of an executor that returns no futures, such as those of submitit."""

    def __init__(self, job: Any) -> None:
        super().__init__()
        self._job = job

    def poll(self) -> None:
        if self.done() or not self._job.done():
            return
        try:
            self.set_result(self._job.result())
        except Exception as error:
            self.set_exception(error)

    def cancel(self) -> bool:
        self._job.cancel()
        return super().cancel()


def submitted(executor: Executor, fn: Callable[..., Any], *args: Any) -> Future[Any]:
    """The call as a future, whatever kind of job the executor makes of it."""
    try:
        job = executor.submit(fn, *args)
    except RuntimeError as error:  # it was shut down, or is broken
        raise NeuroboError(
            f"the executor {type(executor).__name__} must take work until the run ends, got {error}"
        ) from error
    return job if isinstance(job, Future) else Job(job)


def first_done(futures: Collection[Future[Any]], timeout: float | None) -> list[Future[Any]]:
    """Those that have ended; waits for at least one, but not longer than `timeout` seconds."""
    jobs = [future for future in futures if isinstance(future, Job)]
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        for job in jobs:
            job.poll()
        left = None if end is None else max(end - time.monotonic(), 0.0)
        some = left if not jobs else POLL if left is None else min(left, POLL)
        done, _ = wait(futures, timeout=some, return_when=FIRST_COMPLETED)
        if done or left == 0.0 or not jobs:
            return list(done)


def is_lost(error: BaseException) -> bool:
    """Whether an executor's exception says that a worker or its machine is gone, so that the same
    evaluation may succeed elsewhere: not that the program cannot be read there."""
    if any(kind.__name__ in _OF_THE_PROGRAM for kind in type(error).__mro__):
        return False
    text = str(error)
    if "un-serialize" in text:  # loky
        return False
    # A process that ends by itself, by an error in C or by os._exit, does so again.
    return "exit codes of the workers" not in text or "SIGKILL" in text
