"""One call: minimise a Python function, with an Optuna study as the record."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from neurobo.algorithms import Algorithm, resolve
from neurobo.errors import (
    EvaluationFailed,
    InvalidInput,
    NeuroboWarning,
    check_count,
    check_number,
)
from neurobo.progress import Progress, Silent, Terminal
from neurobo.sampler import NeuroSampler, trials_of_study
from neurobo.space import Params, Space, SpaceLike
from neurobo.start import start_size
from neurobo.suggest import is_exhausted

Callback = Callable[[Study, FrozenTrial], None]
FAILURE = "failure"
"""The user attribute in which a failed trial keeps its reason."""
INTERRUPTED = "interrupted"


def minimize(
    objective: Callable[[Any], float],
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
    progress: bool = True,
    callbacks: Sequence[Callback] = (),
) -> Study:
    """Minimise `objective` over `space` and return the Optuna study.

    The objective gets a dict of parameters, or a 1-D array when `space` is a list of (low, high).
    An evaluation that raises, or returns anything but a finite number, is recorded as failed with
    its reason and the run goes on.

    `n_trials` is the number of trials the study shall have in the end: the same call with the same
    `storage` and `study_name` after a stop goes on where it was. `timeout` is in seconds and is
    looked at between evaluations. Ctrl-C ends the run cleanly and returns what there is. A callback
    gets (study, trial) after each trial and may call `study.stop()`.
    """
    checked = Space.of(space)
    resolve(algorithm)
    if not callable(objective):
        raise InvalidInput(f"objective must be callable, got {type(objective).__name__}")
    check_count("n_trials", n_trials)
    if timeout is not None:
        check_number("timeout", timeout, above=0)
    if storage is not None and study_name is None:
        raise InvalidInput("a study in a storage must have a name, got study_name=None")
    sampler = NeuroSampler(
        algorithm,
        seed=seed,
        n_startup_trials=start_size(checked, n_startup_trials, n_trials),
        search_space=checked.distributions,
        start=start,
    )
    study = optuna.create_study(
        sampler=sampler, storage=storage, study_name=study_name, load_if_exists=True
    )
    display: Progress = Terminal(n_trials) if progress else Silent()
    with _stoppable(study), display:
        ended_early = _run(objective, checked, study, n_trials, timeout, callbacks, display)
    for message in (ended_early, _failures(study)):  # after the bar, not across it
        if message:
            warnings.warn(message, NeuroboWarning, stacklevel=2)
    return study


def _run(
    objective: Callable[[Any], float],
    space: Space,
    study: Study,
    n_trials: int,
    timeout: float | None,
    callbacks: Sequence[Callback],
    display: Progress,
) -> str:
    """Ask, evaluate and tell until the end; says why if that came early and unasked for."""
    end = math.inf if timeout is None else time.monotonic() + timeout
    seconds: list[float] = []
    finished = _count_finished(study)
    display.update(study, finished, seconds)
    trial: Trial | None = None
    try:
        while finished < n_trials and time.monotonic() < end and not study._stop_flag:
            if space.size < math.inf and is_exhausted(space, trials_of_study(study, space)):
                return (
                    f"space exhausted: all {space.size:.0f} points are evaluated after {finished} "
                    f"of {n_trials} trials"
                )
            trial = study.ask()
            began = time.perf_counter()
            params = {name: ask(trial, name, d) for name, d in space.distributions.items()}
            seconds.append(time.perf_counter() - began)
            told = _evaluate(objective, space, study, trial, params)
            finished += 1
            display.update(study, finished, seconds)
            for callback in callbacks:
                callback(study, told)
    except KeyboardInterrupt:
        _abandon(study, trial, INTERRUPTED)
        return f"interrupted after {finished} of {n_trials} trials"
    except BaseException as error:
        _abandon(study, trial, repr(error))
        raise
    return ""


def _abandon(study: Study, trial: Trial | None, reason: str) -> None:
    """Leave no trial running; one that was told already stays as it is."""
    if trial and not study.get_trials(deepcopy=False)[trial.number].state.is_finished():
        _fail(study, trial, reason)


def _count_finished(study: Study) -> int:
    states = (TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED)
    trials = study.get_trials(deepcopy=False, states=states)
    return sum(t.user_attrs.get(FAILURE) != INTERRUPTED for t in trials)


def ask(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """Optuna's suggest_* for a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    d: Any = distribution
    suggest = (
        trial.suggest_float if isinstance(distribution, FloatDistribution) else trial.suggest_int
    )
    return suggest(name, d.low, d.high, step=d.step, log=d.log)


def _evaluate(
    objective: Callable[[Any], float], space: Space, study: Study, trial: Trial, params: Params
) -> FrozenTrial:
    try:
        value = _finite(objective(space.point(params)))
    except Exception as error:  # the user's code may raise anything
        reason = str(error) if isinstance(error, EvaluationFailed) else repr(error)
        return _fail(study, trial, reason)
    return study.tell(trial, value)


def _fail(study: Study, trial: Trial, reason: str) -> FrozenTrial:
    trial.set_user_attr(FAILURE, reason)
    return study.tell(trial, state=TrialState.FAIL)


def _finite(value: Any) -> float:
    """The objective's value as a float, or why it is none."""
    rule = "the objective must return a finite number"
    if isinstance(value, str | bytes) or np.size(value) != 1:
        raise EvaluationFailed(f"{rule}, got {value!r}")
    try:
        number = float(np.asarray(value).item())
    except (TypeError, ValueError):
        raise EvaluationFailed(f"{rule}, got {value!r}") from None
    if not math.isfinite(number):
        raise EvaluationFailed(f"{rule}, got {number}")
    return number


@contextmanager
def _stoppable(study: Study) -> Iterator[None]:
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
    total = _count_finished(study)
    return f"{len(reasons)} of {total} evaluations failed; the last one: {reasons[-1]}"
