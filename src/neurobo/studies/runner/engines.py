"""Where `neurobo run` evaluates: processes of this machine, or the workers of an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, Self

from neurobo.errors import InvalidInput, check_choice, require
from neurobo.ray.executor import RayExecutor
from neurobo.running.executors import first_done, size_of, submitted
from neurobo.running.workers import Outcome, Workers, outcome_of
from neurobo.studies.file.schema import Engine
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.runner import engine_task
from neurobo.studies.runner.objective import Requests
from neurobo.studies.runner.programs import Programs


class Opened(NamedTuple):
    """An engine that was reached."""

    executor: Executor
    size: int
    """Evaluations that it can run at once."""
    where: str
    close: Callable[[], None]


class EngineWorkers:
    """At most `count` evaluations of a study file's objective at once on an engine."""

    def __init__(
        self, requests: Requests, opened: Opened, count: int, constraints: Sequence[str]
    ) -> None:
        self.count = count
        self._requests, self._opened, self._constraints = requests, opened, list(constraints)
        self._running: dict[Future[Outcome], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for future, name in self._running.items():
            future.cancel()
            self._requests.ended(name, failed=True)
        self._opened.close()

    @property
    def free(self) -> int:
        return self.count - len(self._running)

    def start(self, point: Any, name: int) -> None:
        request = self._requests.request(point, name)
        executor = self._opened.executor
        if isinstance(executor, ThreadPoolExecutor):
            future = submitted(executor, engine_task.call, request)
        else:
            future = submitted(executor, engine_task.answer, request, self._requests.timeout)
        self._running[future] = name

    def finished(self, timeout: float | None = None) -> dict[int, Outcome]:
        found = {}
        for future in first_done(self._running, timeout):
            name = self._running.pop(future)
            found[name] = self._read(outcome_of(future))
            self._requests.ended(name, failed=bool(found[name].failure))
        return found

    def _read(self, told: Outcome) -> Outcome:
        if told.failure or told.attrs is None:
            return told
        reply, printed = told.attrs[engine_task.REPLY], told.attrs[engine_task.PRINTED]
        return self._requests.outcome(reply, self._constraints, printed)._replace(lost=told.lost)


def engine_named(file: StudyFile, kind: str | None) -> Engine:
    """The engine of the file, or another kind with its defaults."""
    if kind is None or kind == file.table.engine.kind:
        return file.table.engine
    check_choice("engine", kind, ("processes", *OPEN))
    return Engine.model_validate({"kind": kind})


def workers_of(file: StudyFile, engine: Engine, count: int | None) -> tuple[Workers, str]:
    """The places of a run's evaluations, and where they are, in words."""
    table = file.table
    objective = table.objective
    assert objective is not None
    own = engine.kind == "processes" or (engine.kind == "threads" and objective.command is not None)
    if own:
        count = count or table.workers
        where = f"in processes of this machine, {count} at a time"
        return Programs(Requests(file), count, table.constraints), where
    if engine.kind == "threads" and objective.timeout is not None:
        raise InvalidInput(
            "objective.timeout must go with an engine that can end an evaluation, got threads"
        )
    given = table.workers if "workers" in table.model_fields_set else None
    opened = OPEN[engine.kind](file, engine, count or given)
    count = count or given or opened.size
    requests = Requests(file, shared=engine.kind != "threads")
    places = EngineWorkers(requests, opened, count, table.constraints)
    return places, f"{opened.where}, {count} at a time"


def _threads(file: StudyFile, engine: Engine, count: int | None) -> Opened:
    count = count or file.table.workers
    pool = ThreadPoolExecutor(count, thread_name_prefix="neurobo-worker")
    close = partial(pool.shutdown, wait=False, cancel_futures=True)
    return Opened(pool, count, "in threads of this process", close)


def _ray(file: StudyFile, engine: Engine, count: int | None) -> Opened:
    resources = {name: _amount(name, value) for name, value in engine.resources.items()}
    executor = RayExecutor(engine.address, resources or None)
    ray: Any = require("ray", extra="ray")
    where = f"on Ray at {ray.get_runtime_context().gcs_address}"
    close = partial(executor.shutdown, wait=False, cancel_futures=True)
    return Opened(executor, size_of(executor), where, close)


def _dask(file: StudyFile, engine: Engine, count: int | None) -> Opened:
    distributed: Any = require("distributed", extra="dask")
    resources = {name: _amount(name, value) for name, value in engine.resources.items()}
    client = distributed.Client(engine.address, set_as_default=False)
    options = {"resources": resources} if resources else {}
    executor = client.get_executor(pure=False, **options)
    size = sum(client.nthreads().values())
    if not size and count is None:
        client.close()
        raise InvalidInput("a Dask cluster must have workers, or `workers` be given, got neither")
    return Opened(executor, size, f"on Dask at {client.scheduler.address}", client.close)


def _slurm(file: StudyFile, engine: Engine, count: int | None) -> Opened:
    submitit: Any = require("submitit", extra="slurm")
    if count is None:
        raise InvalidInput("with Slurm `workers` must be given: jobs at a time, got none")
    folder = file.path.with_suffix(".jobs")
    executor = submitit.AutoExecutor(folder=str(folder), cluster=engine.address)
    executor.update_parameters(**{"name": file.table.name, **engine.resources})
    return Opened(executor, count, f"as jobs of {executor.cluster}", lambda: None)


OPEN: dict[str, Callable[[StudyFile, Engine, int | None], Opened]] = {
    "threads": _threads, "ray": _ray, "dask": _dask, "slurm": _slurm,
}  # fmt: skip


def _amount(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"engine.resources.{name} must be a number, got {value!r}")
    return float(value)
