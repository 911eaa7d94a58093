"""One call: minimise a Python function, with an Optuna study as the record."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import optuna
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import TrialState

from neurobo.algorithms import Algorithm, resolve
from neurobo.errors import InvalidInput, NeuroboWarning, check_count, check_number
from neurobo.laws import Physics
from neurobo.loop import Alone, Callback, Run, count_finished
from neurobo.progress import Progress, Silent, Terminal
from neurobo.sampler import NeuroSampler
from neurobo.space import Space, SpaceLike
from neurobo.start import start_size
from neurobo.trial_marks import FAILURE, INTERRUPTED, is_feasible, least_violating
from neurobo.workers import workers_for


def minimize(
    objective: Callable[[Any], Any],
    space: SpaceLike,
    n_trials: int,
    *,
    algorithm: str | Algorithm = "auto",
    seed: int | None = None,
    n_startup_trials: int | str | None = None,
    start: str = "sobol",
    storage: str | BaseStorage | None = None,
    study_name: str | None = None,
    timeout: float | None = None,
    workers: int = 1,
    threads: bool = False,
    batch: int = 1,
    learn_failures: bool | Literal["auto"] = "auto",
    progress: bool = True,
    callbacks: Sequence[Callback] = (),
    physics: Physics | None = None,
) -> Study:
    """Minimise `objective` over `space` and return the Optuna study.

    The objective gets a dict of parameters, a 1-D array when `space` is a list of (low, high), or
    a candidate's index or id when `space` is a Pool. An evaluation that raises, or returns anything
    but a finite number, is recorded as failed with its reason and the run goes on.

    With constraints the objective returns (value, {"stress": c1, "mass": c2}): a point is feasible
    where every c is at most 0, and `study.best_trial` is the best feasible one. With
    `learn_failures`, where evaluations fail is learned like a constraint.

    `n_trials` is the number of trials the study shall have in the end: the same call with the same
    `storage` and `study_name` after a stop goes on where it was. `timeout` is in seconds and is
    looked at between evaluations. Ctrl-C ends the run cleanly and returns what there is. A callback
    gets (study, trial) after each trial and may call `study.stop()`.

    With `workers` above 1 that many evaluations run at once, in processes of their own or, with
    `threads`, in threads; each worker gets a new point as soon as it is free. With `batch` above 1
    that many points are suggested together, and the next ones when all have ended.

    `physics` is a law that the objective obeys, a `neurobo.PDE`, or a list of them.
    """
    checked = Space.of(space)
    resolve(algorithm)
    if not callable(objective):
        raise InvalidInput(f"objective must be callable, got {type(objective).__name__}")
    for name, count in (("n_trials", n_trials), ("workers", workers), ("batch", batch)):
        check_count(name, count)
    places = workers_for(objective, workers, threads=threads)
    if timeout is not None:
        check_number("timeout", timeout, above=0)
    if storage is not None and study_name is None:
        raise InvalidInput("a study in a storage must have a name, got study_name=None")
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
    study = optuna.create_study(
        sampler=sampler, storage=storage, study_name=study_name, load_if_exists=True
    )
    display: Progress = Terminal(n_trials) if progress else Silent()
    end = math.inf if timeout is None else time.monotonic() + timeout
    with stoppable(study), places, display:
        run = Run(checked, Alone(study), places, n_trials, batch)
        ended_early = run.go(end, callbacks, display)
    # After the bar, not across it.
    for message in (ended_early, _failures(study), _infeasible(study)):
        if message:
            warnings.warn(message, NeuroboWarning, stacklevel=2)
    return study


@contextmanager
def stoppable(study: Study) -> Iterator[None]:
    """Let callbacks call `study.stop()`, which Optuna allows only inside its own loop."""
    study._stop_flag = False
    study._thread_local.in_optimize_loop = True
    try:
        yield
    finally:
        study._thread_local.in_optimize_loop = False


def _failures(study: Study) -> str:
    reasons = [
        t.user_attrs.get(FAILURE, "no reason is known")
        for t in study.get_trials(deepcopy=False, states=(TrialState.FAIL,))
    ]
    reasons = [reason for reason in reasons if reason != INTERRUPTED]
    if not reasons:
        return ""
    total = count_finished(study)
    return f"{len(reasons)} of {total} evaluations failed; the last one: {reasons[-1]}"


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
