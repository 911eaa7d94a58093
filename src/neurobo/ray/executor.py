"""Evaluations as tasks of a Ray cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from neurobo.errors import InvalidInput, check_number, require

_OPTIONS = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
"""Resources that Ray takes as options of a task; it takes others by their names."""


class RayExecutor(Executor):
    """Runs calls as tasks of a Ray cluster: `neurobo.minimize(..., executor=RayExecutor())`.

    The objective is sent to the cluster once. Ray does not repeat a task whose node is gone:
    `minimize` does (`retries=`), so that the study knows.

    Args:
        address: As in `ray.init`: "auto" or "host:port" is a running cluster; None is the one of
            the variable RAY_ADDRESS, or else a new one on this machine.
        resources: What each evaluation needs, for instance `{"CPU": 2, "GPU": 1}`.
        **options: More arguments of `ray.init`, such as `runtime_env`.
    """

    def __init__(
        self,
        address: str | None = None,
        resources: Mapping[str, float] | None = None,
        **options: Any,
    ) -> None:
        self._needs = {"CPU": 1.0} if resources is None else dict(resources)
        for name, amount in self._needs.items():
            check_number(f"resources[{name!r}]", amount, above=0)
        if not self._needs:
            raise InvalidInput("resources must name what an evaluation needs, got {}")
        self._ray: Any = require("ray", extra="ray")
        self._started = not self._ray.is_initialized()
        if self._started:
            self._ray.init(address=address, **{"log_to_driver": False, **options})
        self._tasks: dict[Callable[..., Any], Any] = {}
        self._sent: dict[int, tuple[Any, Any]] = {}
        """Callables by id, and where they are in the cluster."""
        self._running: set[_Task] = set()

    @property
    def _max_workers(self) -> int:
        """How many evaluations the cluster can run at once now."""
        has = self._ray.cluster_resources()
        found = min(math.floor(has.get(name, 0) / need) for name, need in self._needs.items())
        if found < 1:
            raise InvalidInput(
                f"resources must fit the cluster, which has {_plain(has)}, got {self._needs}"
            )
        return found

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        arguments = [self._once(value) if callable(value) else value for value in args]
        task = _Task(self._ray, self._remote(fn).remote(*arguments, **kwargs))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def _remote(self, fn: Callable[..., Any]) -> Any:
        if fn not in self._tasks:
            options = {
                _OPTIONS[name]: self._needs[name] for name in self._needs if name in _OPTIONS
            }
            options.setdefault("num_cpus", 0)
            others = {name: self._needs[name] for name in self._needs if name not in _OPTIONS}
            made = self._ray.remote(fn)
            self._tasks[fn] = made.options(**options, resources=others or None, max_retries=0)
        return self._tasks[fn]

    def _once(self, value: Any) -> Any:
        """A callable is put into the cluster's store the first time; a task gets it from there."""
        if id(value) not in self._sent:
            self._sent[id(value)] = (value, self._ray.put(value))
        return self._sent[id(value)][1]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnects from the cluster if this object has connected to it."""
        for task in list(self._running):
            if cancel_futures:
                task.cancel()
            elif wait:
                task.exception()
        self._sent.clear()
        if self._started and self._ray.is_initialized():
            self._ray.shutdown()


class _Task(Future[Any]):
    """A task's future. Ray's own cannot cancel the task."""

    def __init__(self, ray: Any, ref: Any) -> None:
        super().__init__()
        self._ray, self._ref = ray, ref
        ref.future().add_done_callback(self._end)

    def _end(self, told: Future[Any]) -> None:
        error = None if told.cancelled() else told.exception()
        if self.done():
            return
        if told.cancelled() or isinstance(error, self._ray.exceptions.TaskCancelledError):
            super().cancel()
            self.set_running_or_notify_cancel()
        elif error is not None:
            self.set_exception(error)
        else:
            self.set_result(told.result())

    def cancel(self) -> bool:
        if not self.done():
            self._ray.cancel(self._ref, force=True)
        return super().cancel()


def _plain(resources: Mapping[str, float]) -> dict[str, float]:
    """Without the addresses that Ray lists as resources."""
    return {name: amount for name, amount in resources.items() if ":" not in name}
