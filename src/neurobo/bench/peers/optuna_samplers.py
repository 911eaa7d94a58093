"""Any Optuna sampler as an optimiser: Optuna's own, and ours through `NeuroSampler`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from neurobo.bench.peers.base import Method, Task
from neurobo.bench.problem import Evaluation
from neurobo.errors import require
from neurobo.running.suggesting import ask
from neurobo.space.search_space import Params

AfterStart = Callable[[Sequence[FrozenTrial]], BaseSampler]
"""Makes a sampler that must know the trials of the start design."""


class OptunaOptimiser:
    """A study in memory whose first trials are the start design."""

    def __init__(self, task: Task, sampler: BaseSampler | AfterStart) -> None:
        self._space = task.space
        with _quiet():
            self._study: Study = optuna.create_study()
        self._sampler = sampler
        self._asked: list[Trial] = []

    def ask(self) -> Params:
        if not isinstance(self._sampler, BaseSampler):
            self._sampler = self._sampler(self._study.get_trials(deepcopy=False))
        self._study.sampler = self._sampler
        trial = self._study.ask()
        self._asked.append(trial)
        return self._space.asked(partial(ask, trial))

    def tell(self, params: Params, outcome: Evaluation) -> None:
        failed = not math.isfinite(outcome.value)
        value = None if failed else outcome.value
        state = TrialState.FAIL if failed else TrialState.COMPLETE
        # A failed evaluation may have no constraint values either, and Optuna refuses NaN.
        constraints = {} if failed else dict(outcome.constraints)
        if self._asked and self._asked[0].params == params:
            trial = self._asked.pop(0)
            for name, amount in constraints.items():
                trial.set_constraint(name, amount)
            self._study.tell(trial, value, state=state)
        else:
            self._study.add_trial(
                create_trial(
                    state=state,
                    value=value,
                    params=params,
                    distributions={name: self._space.distributions[name] for name in params},
                    constraints=constraints,
                )
            )


def tpe(
    task: Task,
    *,
    multivariate: bool | None = None,
    group: bool = False,
    n_ei_candidates: int = 24,
) -> OptunaOptimiser:
    with _no_advance_notices():
        sampler = optuna.samplers.TPESampler(
            seed=task.seed,
            n_startup_trials=task.n_start,
            multivariate=multivariate,
            group=group,
            n_ei_candidates=n_ei_candidates,
        )
    return OptunaOptimiser(task, sampler)


def gp(task: Task, *, deterministic_objective: bool = False) -> OptunaOptimiser:
    require("torch")  # Optuna would miss it only at the first fit
    with _no_advance_notices():
        sampler = optuna.samplers.GPSampler(
            seed=task.seed,
            n_startup_trials=task.n_start,
            deterministic_objective=deterministic_objective,
        )
    return OptunaOptimiser(task, sampler)


def cmaes(
    task: Task,
    *,
    popsize: int | None = None,
    sigma0: float | None = None,
    lr_adapt: bool = False,
) -> OptunaOptimiser:
    """CMA-ES that starts from the best point of the start design, not from the centre of the box,
    where many test functions have their optimum."""
    require("cmaes")  # Optuna would miss it only at the first suggestion

    def sampler(start: Sequence[FrozenTrial]) -> BaseSampler:
        done = [(t.value, t.number, t.params) for t in start if t.value is not None]
        best = min(done)[-1] if done else None
        with _no_advance_notices():
            return optuna.samplers.CmaEsSampler(
                seed=task.seed, x0=best, sigma0=sigma0, popsize=popsize, lr_adapt=lr_adapt
            )

    return OptunaOptimiser(task, sampler)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Optuna's line about a new study."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(before, optuna.logging.WARNING))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


@contextmanager
def _no_advance_notices() -> Iterator[None]:
    """Without notices that an argument is experimental, or deprecated in a coming version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield


METHODS = (
    Method(
        "optuna-tpe",
        "Optuna's default: tree-structured Parzen estimators.",
        tpe,
        packages=("optuna",),
        handles=frozenset({"mixed", "constraints", "conditional", "batch"}),
    ),
    Method(
        "optuna-gp",
        "Optuna's Gaussian process sampler (log-EI).",
        gp,
        packages=("optuna", "torch"),
        handles=frozenset({"mixed", "constraints", "conditional", "batch"}),
    ),
    Method(
        "optuna-cmaes",
        "Optuna's CMA-ES sampler, from the best start point.",
        cmaes,
        packages=("optuna", "cmaes"),
    ),
)
