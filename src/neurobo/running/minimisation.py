"""One call: minimise a Python function, with an Optuna study as the record."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import optuna
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import TrialState

from neurobo.algorithm import Algorithm, resolve
from neurobo.errors import InvalidInput, NeuroboWarning, check_choice, check_count, check_number
from neurobo.integrations.optuna.attributes import FAILURE, counting, is_feasible, least_violating
from neurobo.integrations.optuna.compat import outage_of, stoppable
from neurobo.integrations.optuna.sampler import NeuroSampler
from neurobo.integrations.optuna.storage import check_same, opened, silent
from neurobo.integrations.optuna.storage_errors import StorageError, explained, file_of, public_url
from neurobo.physics.laws import Physics
from neurobo.running.backends import LocalBackend
from neurobo.running.failures import Failures, MaxFailures
from neurobo.running.initial_points import enqueue, initial_points
from neurobo.running.loop import Callback, Run
from neurobo.running.progress import Progress, Silent, Terminal
from neurobo.running.spool import Spool
from neurobo.running.workers import Caught, workers_for
from neurobo.search.initial_design import start_size
from neurobo.space.input_constraints import Where
from neurobo.space.search_space import Space, SpaceLike

NEXT = "the same call stores them once the storage is back"
Direction = Literal["minimize", "maximize"]


def minimize(
    objective: Callable[[Any], Any],
    space: SpaceLike,
    n_trials: int,
    *,
    direction: Direction = "minimize",
    initial: Sequence[Any] = (),
    algorithm: str | Algorithm = "auto",
    seed: int | None = None,
    n_startup_trials: int | str | None = None,
    start: str = "sobol",
    storage: str | BaseStorage | None = None,
    study_name: str | None = None,
    timeout: float | None = None,
    workers: int | None = None,
    threads: bool = False,
    executor: Executor | None = None,
    retries: int = 1,
    batch: int = 1,
    learn_failures: bool | Literal["auto"] = "auto",
    catch: type[BaseException] | Iterable[type[BaseException]] = (Exception,),
    max_failures: MaxFailures = "auto",
    progress: bool = True,
    callbacks: Sequence[Callback] = (),
    physics: Physics | None = None,
    where: Where | None = None,
) -> Study:
    """Minimise `objective` over `space` and return the Optuna study.

    The same call with the same `storage` and `study_name` after a stop goes on where it was. Ctrl-C
    ends the run cleanly and returns the study with the results so far. If the storage (SQLite or
    PostgreSQL) goes away, calls are repeated for ten minutes, and results wait in memory and in
    `STUDY_NAME.unwritten-PID.jsonl` beside the SQLite file or in the current folder.

    Args:
        objective: Gets a dict of the active parameters; a 1-D array when `space` is a list of
            bounds; a candidate's index or id when `space` is a Pool. It returns a number, or with
            constraints `(value, {"stress": c1, "mass": c2})`: a point is feasible where every c is
            at most 0, and `study.best_trial` is the best feasible trial. An evaluation that raises,
            or returns anything but a finite number, is recorded as failed with its reason.
        space: A dict of name and `(low, high)`, `neurobo.Float`, `neurobo.Int`,
            `neurobo.Categorical` or `neurobo.Ordinal`, or a `neurobo.Conditional` of one of these;
            a list of `(low, high)` or a `scipy.optimize.Bounds`; or a `neurobo.Pool`.
        n_trials: How many trials the study has in the end, including those it has already.
        direction: "minimize", or "maximize" to look for the highest value. Constraints mean the
            same in both.
        initial: Points to evaluate first, for instance the settings in use today. They have the
            form that `objective` gets, with a value for every parameter. Points that a stored study
            has evaluated are not evaluated again.
        algorithm: One of `neurobo.algorithms()`, or an object such as `neurobo.NTKGP(beta=2.0)`.
        seed: The same seed gives the same suggestions; None makes every run different.
        n_startup_trials: Points of the initial design; None: the number of parameters plus
            two, between 5 and 20; "paper": 5 per parameter, between 2.5 and 7.5 % of `n_trials`.
        start: The initial design: "sobol", "lhs", "random" or "uncertainty".
        storage: A database URL such as "sqlite:///study.db" or "postgresql://user@host/db", or an
            Optuna storage; None keeps the study in memory.
        study_name: The study's name in its storage.
        timeout: Seconds after which no evaluation begins; running ones are awaited.
        workers: How many evaluations run at once. Each worker gets a new point as soon as it is
            free. None: one, or as many as `executor` says that it has.
        threads: Whether workers are threads instead of processes.
        executor: Where evaluations run, instead of processes or threads of this machine: any
            `concurrent.futures.Executor`, such as `neurobo.ray.RayExecutor()`, Dask's
            `client.get_executor()` or those of mpi4py and Parsl, or submitit's for Slurm. It stays
            open. Its workers import neither JAX nor the models.
        retries: How often an evaluation is retried whose worker was killed or whose machine is
            gone. What the objective itself raises is a result and is not retried.
        batch: How many points are suggested together; the next ones follow when all have ended.
        learn_failures: Whether to learn where evaluations fail, and to keep away. "auto" does so
            if the points explain the failures; failures at random change nothing.
        catch: Exceptions that count as a failed evaluation. Any other exception ends the run at
            once: its trial is recorded as failed, and the exception is raised.
        max_failures: When failed evaluations stop the run. "auto": when the first ones all fail
            with the same error at the same place, after 3 if it is an error of the program
            (`NameError`, `ImportError`, `KeyError`, ...), after 20 otherwise. A number: also when
            that many evaluations of this call have failed. None: never.
        progress: Whether to show a progress bar on standard error.
        callbacks: Each gets `(study, trial)` after each trial and may call `study.stop()`.
        physics: A law that the objective obeys, a `neurobo.PDE`, or a list of them.
        where: Known constraints between parameters, which every suggestion meets: texts such as
            "copper + tin == 1" or "2 * copper <= tin + 0.3" (linear, in your units),
            `neurobo.AtMost(3, names)`, and callables that get what `objective` gets and are at
            most 0 where a point is allowed. Constraints that only an evaluation can tell are
            returned by `objective` instead.

    Returns:
        The Optuna study, whose `best_params` and `best_value` are the best result.

    Raises:
        InvalidInput: An argument breaks a rule; nothing has run.
        StorageError: The storage cannot be used, or stayed away. Results that it did not take are
            in a file that the message names; the same call stores them.
        EvaluationFailed: `max_failures` stopped the run. The error has the study as `study`. Trials
            that failed by an error of the program do not count: the same call goes on after the
            repair with its whole budget.
    """
    checked = Space.of(space, where)
    resolve(algorithm)
    if not callable(objective):
        raise InvalidInput(f"objective must be callable, got {type(objective).__name__}")
    for name, count in (("n_trials", n_trials), ("workers", workers), ("batch", batch)):
        if count is not None:
            check_count(name, count)
    check_count("retries", retries, least=0)
    check_choice("direction", direction, ("minimize", "maximize"))
    first = initial_points(checked, initial, n_trials)
    failures = Failures(max_failures, receives=checked.described())
    places = workers_for(objective, workers, _caught(catch), threads=threads, executor=executor)
    if timeout is not None:
        check_number("timeout", timeout, above=0)
    sampler = NeuroSampler(
        algorithm,
        seed=seed,
        n_startup_trials=start_size(
            checked, n_startup_trials, n_trials, lawful=physics is not None
        ),
        search_space=checked,
        start=start,
        learn_failures=learn_failures,
        physics=physics,
    )
    study = _open(storage, study_name, direction, sampler)
    check_same(study, checked.distributions, direction)
    spool = _spool(storage, study)
    display: Progress = Terminal(n_trials) if progress else Silent()
    end = math.inf if timeout is None else time.monotonic() + timeout
    with _storage_explained(storage, study, spool):
        if spool is not None:
            spool.store_left_behind(study, _warn)
        enqueue(study, first)
        with stoppable(study), places, display:
            backend = LocalBackend(study, checked, retries, spool)
            run = Run(checked, backend, places, n_trials, batch, failures)
            ended_early = run.go(end, callbacks, display)
    # After the bar, not across it. A storage that is still away is not asked again.
    unwritten = spool.kept(NEXT) if spool else ""
    outage = outage_of(study)
    summary = () if outage is not None and outage.away else (_failures(study), _infeasible(study))
    for message in (ended_early, unwritten, *summary):
        if message:
            warnings.warn(message, NeuroboWarning, stacklevel=2)
    return study


def _caught(catch: Any) -> Caught:
    several = isinstance(catch, Iterable) and not isinstance(catch, str)
    found = tuple(catch) if several else (catch,)
    for kind in found:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise InvalidInput(f"catch must be exception classes, got {kind!r}")
    return found


def _open(
    storage: str | BaseStorage | None, name: str | None, direction: Direction, sampler: NeuroSampler
) -> Study:
    if storage is not None and not isinstance(storage, str | BaseStorage):
        raise InvalidInput(
            "storage must be a URL such as 'sqlite:///study.db' or an Optuna storage, got "
            f"{storage!r}"
        )
    if storage is not None and name is None:
        raise InvalidInput("a study in a storage must have a name, got study_name=None")
    with silent(), explained(_shown(storage)):
        study = optuna.create_study(
            storage=opened(storage) if isinstance(storage, str) else storage,
            study_name=name,
            direction=direction,
            sampler=sampler,
            load_if_exists=True,
        )
    outage = outage_of(study)
    if outage is not None:
        outage.note = _warn
    return study


def _spool(storage: str | BaseStorage | None, study: Study) -> Spool | None:
    """Beside an SQLite file; in the current folder if the storage is a server. None for a storage
    that does not wait when it is away."""
    if not isinstance(storage, str) or outage_of(study) is None:
        return None
    file = file_of(storage)
    return Spool(Path() if file is None else file.parent, study.study_name, study.study_name)


@contextmanager
def _storage_explained(
    storage: str | BaseStorage | None, study: Study, spool: Spool | None
) -> Iterator[None]:
    """Errors of the storage as one message, which also says where results wait that it did not
    take."""
    try:
        with explained(_shown(storage)):
            yield
    except StorageError as error:
        raise StorageError(f"{error}; {spool.kept(NEXT)}" if spool else str(error)) from error
    finally:
        outage = outage_of(study)
        if outage is not None:
            outage.meanwhile = lambda: None
            if outage.away:
                outage.seconds = 0.0  # whoever looks at the study now need not wait


def _shown(storage: str | BaseStorage | None) -> str:
    return public_url(storage) if isinstance(storage, str) else type(storage).__name__


def _warn(text: str) -> None:
    warnings.warn(text, NeuroboWarning, stacklevel=3)


def _failures(study: Study) -> str:
    ended = counting(study)
    reasons = [
        t.user_attrs.get(FAILURE, "no reason is known") for t in ended if t.state == TrialState.FAIL
    ]
    if not reasons:
        return ""
    return f"{len(reasons)} of {len(ended)} evaluations failed; the last one: {reasons[-1]}"


def _infeasible(study: Study) -> str:
    """Says so if there are constraints and no trial meets all of them."""
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if not trials or any(is_feasible(t) for t in trials):
        return ""
    nearest = least_violating(trials)
    assert nearest is not None
    broken = {name: c for name, c in nearest.constraints.items() if c > 0}
    return (
        f"none of {len(trials)} trials is feasible, so that the study has no best trial; trial "
        f"{nearest.number} is the nearest to it, where {broken} should be at most 0"
    )
