"""One run: a method on a problem with a seed, start to finish, in this process."""

from __future__ import annotations

import math
import platform
import resource
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from neurobo.bench.peers import Method, Task, method
from neurobo.bench.problem import Evaluation, Problem
from neurobo.bench.problems import bbob, problem
from neurobo.bench.records import Job, Record
from neurobo.bench.source import latest, source
from neurobo.errors import InvalidInput, MissingPackage, NeuroboError
from neurobo.search.initial_design import start_point
from neurobo.space.search_space import Params, Space

SOURCE = "neurobo source"
"""Among the versions of a run of ours: the state of our source."""
RECHECKS = 10
"""Fresh evaluations of the best point where noise hides how good it is."""


def run(job: Job, folder: Path, progress: Callable[[int], None] = lambda done: None) -> Record:
    """Evaluate the common start design, then what the method asks for, to the budget's end.

    COCO's problems log to `folder` in COCO's own format, too.
    """
    with bbob.logged(problem(job.problem, job.seed), job.method, folder) as found:
        return run_on(found, method(job.method), job, progress)


def run_on(
    problem: Problem,
    method: Method,
    job: Job,
    progress: Callable[[int], None] = lambda done: None,
) -> Record:
    space = problem.space
    optimiser = method.start(
        Task(
            space=space,
            budget=job.budget,
            n_start=job.n_start,
            seed=job.seed,
            noisy=problem.noisy,
            constraints=problem.constraints,
            laws=problem.laws,
            pool=None if problem.pool is None else problem.pool(),
        )
    )
    published = () if problem.start is None else problem.start(job.seed)
    start = start_design(space, job.n_start, job.seed, published)
    points: list[Params] = []
    outcomes: list[Evaluation] = []
    clock = _Clock()
    objective_seconds = 0.0
    asked: list[Params] = []
    for number in range(job.budget):
        with clock.next():
            if number >= len(start) and not asked:
                size = min(problem.batch, job.budget - number)
                asked = [optimiser.ask() for _ in range(size)]
            params = start[number] if number < len(start) else asked.pop(0)
        try:
            problem.check(params)
        except InvalidInput as error:
            raise NeuroboError(
                f"a method must ask for points of the space, got {params}: {error}"
            ) from None
        began = time.perf_counter()
        outcome = _evaluate(problem, params, np.random.default_rng([job.seed, number]))
        objective_seconds += time.perf_counter() - began
        with clock.more():
            optimiser.tell(params, outcome)
        points.append(params)
        outcomes.append(outcome)
        progress(number + 1)
    best = _best(outcomes)
    return Record(
        job=job,
        values=[o.value for o in outcomes],
        truths=[o.noiseless for o in outcomes] if _knows_truth(outcomes) else None,
        violations=[o.violation for o in outcomes] if problem.constraints else None,
        true_violations=[o.true_violation for o in outcomes]
        if any(o.true_constraints is not None for o in outcomes)
        else None,
        failures=[o.failure for o in outcomes if o.failure],
        seconds=clock.wall,
        cpu_seconds=clock.cpu,
        objective_seconds=objective_seconds,
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        optimum=problem.optimum,
        best=None if best is None else points[best],
        rechecked=_recheck(problem, points[best], job.seed)
        if best is not None and problem.noisy and not _knows_truth(outcomes)
        else None,
        centred=problem.centred,
        versions={**versions(method), **getattr(optimiser, "versions", {})},
        machine=machine(),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def start_design(space: Space, n: int, seed: int, published: Sequence[Params] = ()) -> list[Params]:
    """The first points of every method's run with this seed: those that published runs began with,
    then Sobol, no point twice."""
    points = list(published[:n])
    for number in range(len(points), n):
        taken = space.encode(points)
        x = start_point(space, taken, design="sobol", size=n, seed=seed, number=number)
        points.append(space.decode(x))
    return points


def versions(method: Method) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in method.packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # a package in an environment of its own
            found[package] = "unknown"
    if method.ours:
        found[SOURCE] = source()
    return found


def comparable(versions: dict[str, str]) -> dict[str, str]:
    """Versions that are equal if their runs may be put together."""
    state = versions.get(SOURCE)
    return versions if state is None else {**versions, SOURCE: latest(state)}


def machine() -> dict[str, Any]:
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "threads": 1,
        "implementation": sys.implementation.name,
    }


class _Clock:
    """Wall and processor time of the method for each evaluation."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def next(self) -> _Clock:
        self.wall.append(0.0)
        self.cpu.append(0.0)
        return self

    def more(self) -> _Clock:
        return self

    def __enter__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.wall[-1] += time.perf_counter() - self._began[0]
        self.cpu[-1] += time.process_time() - self._began[1]


def _evaluate(problem: Problem, params: Params, rng: np.random.Generator) -> Evaluation:
    try:
        outcome = problem.evaluate(params, rng)
    except MissingPackage:
        raise
    except Exception as error:  # a simulator may raise anything; the run goes on
        return Evaluation(math.nan, failure=repr(error))
    if not math.isfinite(outcome.value) and not outcome.failure:
        return Evaluation(math.nan, outcome.constraints, failure=f"the value is {outcome.value}")
    return outcome


def _knows_truth(outcomes: list[Evaluation]) -> bool:
    return any(o.truth is not None for o in outcomes)


def _best(outcomes: list[Evaluation]) -> int | None:
    """The feasible point with the lowest value that the method was told."""
    values = [math.inf if o.failure or o.violation > 0 else o.value for o in outcomes]
    best = int(np.argmin(values))
    return best if math.isfinite(values[best]) else None


def _recheck(problem: Problem, params: Params, seed: int) -> list[float]:
    again = [np.random.default_rng([seed, 10**6 + i]) for i in range(RECHECKS)]
    return [_evaluate(problem, params, rng).value for rng in again]
