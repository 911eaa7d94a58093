"""Evaluations side by side, in any executor; suggestions stay in the main thread.

Workers import this module and what it imports: neither JAX nor the numeric core.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from neurobo.errors import EvaluationFailed, InvalidInput, short_repr
from neurobo.running.executors import Processes, first_done, is_lost, size_of, submitted


class Outcome(NamedTuple):
    """What an evaluation gave: a value, or why there is none."""

    value: float = math.nan
    failure: str = ""
    lost: bool = False
    """Whether the failure says nothing about the point: its worker was ended from outside, or its
    machine is gone."""
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
        if timeout == 0 or not self._waiting:  # nothing ends by itself in the caller's own thread
            return {}
        ((name, point),) = self._waiting.items()
        self._waiting.clear()
        return {name: evaluate(self._objective, point, self._catch)}


class ExecutorWorkers:
    """At most `count` evaluations at once in an executor, which is shut down here only if it is
    `owned`. `sent`: they run in other processes."""

    def __init__(
        self,
        objective: Objective,
        executor: Executor,
        count: int,
        catch: Caught,
        *,
        sent: bool = True,
        owned: bool = False,
    ) -> None:
        self.count = count
        self._objective, self._catch, self._executor = objective, catch, executor
        self._evaluate = _evaluate_and_send if sent else evaluate
        self._owned = owned
        self._running: dict[Future[Outcome], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._running:
            future.cancel()
        if self._owned:
            self._executor.shutdown(wait=False, cancel_futures=True)

    @property
    def free(self) -> int:
        return self.count - len(self._running)

    def start(self, point: Any, name: int) -> None:
        future = submitted(self._executor, self._evaluate, self._objective, point, self._catch)
        self._running[future] = name

    def finished(self, timeout: float | None = None) -> dict[int, Outcome]:
        ended = first_done(self._running, timeout)
        return {self._running.pop(future): outcome_of(future) for future in ended}


def outcome_of(future: Future[Outcome]) -> Outcome:
    """What an evaluation gave that has ended. `evaluate` returns what the objective raises, so that
    an exception is the executor's."""
    from neurobo.integrations.optuna.attributes import CANCELLED  # workers import this module

    error = CancelledError() if future.cancelled() else future.exception()
    if error is None:
        return future.result()
    if isinstance(error, CancelledError):
        return Outcome(failure=CANCELLED)
    text = _first_line(error)
    return Outcome(
        failure=f"the worker died: {text}", lost=is_lost(error), output=_traceback(error)
    )


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


def _first_line(error: BaseException) -> str:
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


def workers_for(
    objective: Objective,
    count: int | None,
    catch: Caught,
    *,
    threads: bool = False,
    executor: Executor | None = None,
) -> Workers:
    """Where the evaluations of a run take place."""
    if executor is not None:
        if not callable(getattr(executor, "submit", None)):
            raise InvalidInput(
                "executor must have the method submit, as those of concurrent.futures, got "
                f"{short_repr(executor)}"
            )
        if threads:
            raise InvalidInput("threads=True must stand without executor, got both")
        sent = not isinstance(executor, ThreadPoolExecutor)
        return ExecutorWorkers(objective, executor, count or size_of(executor), catch, sent=sent)
    count = count or 1
    if count == 1:
        return InlineWorker(objective, catch)
    if threads:
        pool = ThreadPoolExecutor(count, thread_name_prefix="neurobo-worker")
        return ExecutorWorkers(objective, pool, count, catch, sent=False, owned=True)
    _check_sendable(objective)
    return ExecutorWorkers(objective, Processes(count), count, catch, owned=True)
