"""Evaluations side by side, in processes or threads; suggestions stay in the main thread."""

from __future__ import annotations

import math
import signal
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from neurobo.errors import EvaluationFailed, InvalidInput, short_repr


class Outcome(NamedTuple):
    """What an evaluation gave: a value, or why there is none."""

    value: float = math.nan
    failure: str = ""
    lost: bool = False
    """Whether the failure says nothing about the point: somebody ended the worker."""
    constraints: Mapping[str, float] | None = None
    attrs: Mapping[str, Any] | None = None
    output: str = ""
    """The end of what a failed evaluation printed, or its traceback."""
    uncaught: BaseException | None = None
    """What the objective raised, if it is to end the run."""


Objective = Callable[[Any], Any]
"""Returns a value, or a value and its constraints by name."""
Caught = tuple[type[BaseException], ...]
"""Exceptions that make a failed evaluation; others end the run."""
LONGEST = 2000
"""Characters of a reason and of a traceback."""


def evaluate(objective: Objective, point: Any, catch: Caught = (Exception,)) -> Outcome:
    try:
        result = objective(point)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the user's code may raise anything
        failed = Outcome(failure=short_repr(error, LONGEST), output=_traceback(error))
        return failed if isinstance(error, catch) else failed._replace(uncaught=error)
    return _outcome(result)


def _traceback(error: BaseException) -> str:
    """Of the user's code, without the frame of `evaluate`."""
    trace = error.__traceback__ and error.__traceback__.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))[-LONGEST:].strip()


def _outcome(result: Any) -> Outcome:
    """A failed evaluation keeps the constraints that are good."""
    value, given = result, {}
    rule = "the objective must return a finite number"
    if isinstance(result, tuple | list) and len(result) == 2:
        if isinstance(result[1], Mapping):
            value, given = result
        else:
            rule += " or (value, {name: constraint})"
    numbers: dict[str, float] = {}
    number, why = _finite(value, rule)
    failures = [why]
    for name, limit in given.items():
        if not isinstance(name, str) or not name:
            failures.append(
                f"the name of a constraint must be text, got {short_repr(name, LONGEST)}"
            )
            continue
        found, why = _finite(limit, f"the constraint {name!r} must be a finite number")
        failures.append(why)
        if not why:
            numbers[name] = found
    if failure := next(filter(None, failures), ""):
        return Outcome(failure=failure, constraints=numbers)
    return Outcome(number, constraints=numbers)


def _finite(value: Any, rule: str) -> tuple[float, str]:
    """What an objective returned as a float, and why it is none."""
    try:
        number = _as_float(value)
    except OverflowError:
        number = math.inf
    except Exception:  # anything may be returned, and its methods may raise anything
        return math.nan, f"{rule}, got {short_repr(value, LONGEST)}"
    return number, "" if math.isfinite(number) else f"{rule}, got {number}"


def _as_float(value: Any) -> float:
    """A number, or an array or a list that holds one."""
    if isinstance(value, list | tuple):
        value = np.asarray(value)
    if hasattr(value, "item"):  # NumPy's, JAX's, PyTorch's, pandas's
        value = value.item()
    if isinstance(value, str | bytes | bytearray):
        raise TypeError
    return float(value)


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


class InlineWorker:
    """One evaluation at a time in the caller's own thread."""

    count = 1

    def __init__(self, objective: Objective, catch: Caught) -> None:
        self._objective, self._catch = objective, catch
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
        return {name: evaluate(self._objective, point, self._catch)}


class ExecutorWorkers:
    """An executor for each worker, so that one that dies takes only its own evaluation along."""

    def __init__(self, objective: Objective, count: int, catch: Caught, *, threads: bool) -> None:
        self.count = count
        self._objective, self._catch = objective, catch
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
        work = evaluate if self._threads else _evaluate_and_send
        future = executor.submit(work, self._objective, point, self._catch)
        self._running[future] = (place, name)

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


def _evaluate_and_send(objective: Objective, point: Any, catch: Caught) -> Outcome:
    """In a process: an exception arrives without its traceback, if it can be sent at all."""
    outcome = evaluate(objective, point, catch)
    if outcome.uncaught is None:
        return outcome
    from cloudpickle import dumps, loads  # type: ignore[import-untyped]

    error = outcome.uncaught
    error.add_note(f"In the worker process:\n{outcome.output}")
    try:
        loads(dumps(error))
    except Exception:
        error = EvaluationFailed(f"{outcome.failure}\n{outcome.output}")
    return outcome._replace(uncaught=error)


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
    from cloudpickle import dumps  # loky's way

    try:
        dumps(objective)
    except Exception as error:
        raise InvalidInput(
            "an objective for several processes must be one that can be sent to them; use "
            f"threads=True for this one, got {error!r}"
        ) from None


def workers_for(objective: Objective, count: int, catch: Caught, *, threads: bool) -> Workers:
    if count == 1:
        return InlineWorker(objective, catch)
    return ExecutorWorkers(objective, count, catch, threads=threads)
