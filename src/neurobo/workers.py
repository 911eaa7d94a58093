"""Evaluations side by side, in processes or threads; suggestions stay in the main thread."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from neurobo.errors import EvaluationFailed, InvalidInput


class Outcome(NamedTuple):
    """What an evaluation gave: a value, or why there is none."""

    value: float = math.nan
    failure: str = ""
    lost: bool = False
    """Whether the failure says nothing about the point: somebody ended the worker."""
    constraints: Mapping[str, float] | None = None
    attrs: Mapping[str, Any] | None = None
    output: str = ""
    """The end of what a failed evaluation printed."""


Objective = Callable[[Any], Any]
"""Returns a value, or a value and its constraints by name."""


def evaluate(objective: Objective, point: Any) -> Outcome:
    try:
        result = objective(point)
    except EvaluationFailed as error:
        return Outcome(failure=str(error))
    except Exception as error:  # the user's code may raise anything
        return Outcome(failure=repr(error))
    return _outcome(result)


def _outcome(result: Any) -> Outcome:
    """A failed evaluation keeps the constraints that are good."""
    value, given = result, {}
    if isinstance(result, tuple | list) and len(result) == 2 and isinstance(result[1], Mapping):
        value, given = result
    constraints, failures = {}, []
    try:
        number = _finite(value, "the objective must return a finite number")
    except EvaluationFailed as error:
        number = math.nan
        failures.append(str(error))
    for name, limit in given.items():
        if not isinstance(name, str) or not name:
            failures.append(f"the name of a constraint must be text, got {name!r}")
            continue
        try:
            constraints[name] = _finite(limit, f"the constraint {name!r} must be a finite number")
        except EvaluationFailed as error:
            failures.append(str(error))
    if failures:
        return Outcome(failure=failures[0], constraints=constraints)
    return Outcome(number, constraints=constraints)


def _finite(value: Any, rule: str) -> float:
    """A number as a float, or why it is none."""
    if isinstance(value, str | bytes) or np.size(value) != 1:
        raise EvaluationFailed(f"{rule}, got {value!r}")
    try:
        number = float(np.asarray(value).item())
    except (TypeError, ValueError):
        raise EvaluationFailed(f"{rule}, got {value!r}") from None
    if not math.isfinite(number):
        raise EvaluationFailed(f"{rule}, got {number}")
    return number


@runtime_checkable
class Workers(Protocol):
    """Places where evaluations run, each one at a time."""

    count: int

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def start(self, point: Any, name: int) -> None:
        """Begin an evaluation; there must be a free worker."""
        ...

    def finished(self, timeout: float | None = None) -> dict[int, Outcome]:
        """What ended since the last call, by name; waits for at least one, but not longer than
        `timeout` seconds."""
        ...

    @property
    def free(self) -> int: ...


class Here:
    """One evaluation at a time in the caller's own thread."""

    count = 1

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._waiting: dict[int, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def free(self) -> int:
        return 1 - len(self._waiting)

    def start(self, point: Any, name: int) -> None:
        self._waiting[name] = point

    def finished(self, timeout: float | None = None) -> dict[int, Outcome]:
        ((name, point),) = self._waiting.items()
        self._waiting.clear()
        return {name: evaluate(self._objective, point)}


class SideBySide:
    """An executor for each worker, so that one that dies takes only its own evaluation along."""

    def __init__(self, objective: Objective, count: int, *, threads: bool) -> None:
        self.count = count
        self._objective = objective
        self._threads = threads
        self._executors: list[Executor | None] = [None] * count
        self._running: dict[Future[Outcome], tuple[int, int]] = {}
        if not threads:
            _check_sendable(objective)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for executor in self._executors:
            if executor is not None:
                _stop(executor)

    @property
    def free(self) -> int:
        return self.count - len(self._running)

    def start(self, point: Any, name: int) -> None:
        busy = {place for place, _ in self._running.values()}
        place = next(i for i in range(self.count) if i not in busy)
        executor = self._executors[place] or self._new()
        self._executors[place] = executor
        self._running[executor.submit(evaluate, self._objective, point)] = (place, name)

    def finished(self, timeout: float | None = None) -> dict[int, Outcome]:
        done, _ = wait(self._running, timeout=timeout, return_when=FIRST_COMPLETED)
        found = {}
        for future in done:
            place, name = self._running.pop(future)
            try:
                found[name] = future.result()
            except Exception as error:  # the worker is gone, or what it sent cannot be read
                found[name] = Outcome(failure=f"the worker died: {_first_line(error)}")
                broken = self._executors[place]
                self._executors[place] = None
                if broken is not None:
                    _stop(broken)
        return found

    def _new(self) -> Executor:
        if self._threads:
            return ThreadPoolExecutor(1, thread_name_prefix="neurobo-worker")
        from loky import ProcessPoolExecutor  # type: ignore[import-untyped]

        executor: Executor = ProcessPoolExecutor(1, initializer=_ignore_interrupts)
        return executor


def _ignore_interrupts() -> None:
    """Ctrl-C reaches the whole process group; only the main process shall answer it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _stop(executor: Executor) -> None:
    if isinstance(executor, ThreadPoolExecutor):
        executor.shutdown(wait=False, cancel_futures=True)
    else:
        executor.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _check_sendable(objective: Objective) -> None:
    from cloudpickle import dumps  # type: ignore[import-untyped]  # loky's way

    try:
        dumps(objective)
    except Exception as error:
        raise InvalidInput(
            "an objective for several processes must be one that can be sent to them; use "
            f"threads=True for this one, got {error!r}"
        ) from None


def workers_for(objective: Objective, count: int, *, threads: bool) -> Workers:
    return Here(objective) if count == 1 else SideBySide(objective, count, threads=threads)
