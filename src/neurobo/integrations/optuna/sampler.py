"""An Optuna sampler: the suggestion pass with an Optuna study as its history."""

from __future__ import annotations

import threading
import warnings
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial

from neurobo.algorithm import Algorithm, check_physics, resolve
from neurobo.errors import InvalidInput, NeuroboWarning, check_seed
from neurobo.integrations.optuna.attributes import void_numbers
from neurobo.integrations.optuna.compat import enqueued_params
from neurobo.integrations.optuna.history import reserve, sign_of, trials_of_study
from neurobo.integrations.optuna.known_space import completed, known_space, union
from neurobo.physics.laws import Laws, Physics, bind
from neurobo.search.feasible_points import check_not_empty
from neurobo.search.initial_design import check_design, start_size
from neurobo.space.distributions import contains
from neurobo.space.input_constraints import InputConstraints, Where
from neurobo.space.pool import Pool
from neurobo.space.search_space import Params, Space, SpaceLike
from neurobo.suggestion import Plan, check_learn_failures, is_exhausted, next_point

ATTEMPTS = 20
"""How often a point is chosen because another process has just chosen the same."""
ANEW = 2**20
"""Where the turns of points that are chosen anew begin."""


class NeuroSampler(BaseSampler):
    """Use neurobo in any single-objective Optuna study.

    A suggestion depends only on the study's trials, the seed and the trial number, so that it is
    the same in any process. Give `search_space` to let the very first trials follow the start
    design too; without it the space is every parameter that a completed trial has, and when a
    parameter exists is learned from the trials, as a function of categories and integers. A
    `search_space` declares it: `neurobo.Conditional(distribution, when={"model": ["svm"]})`.

    A trial that was queued with some parameters only, `study.enqueue_trial({"heat": 20.0})`, gets
    the most promising values of all others for these.

    `pool={"candidate": array}` gives the integer parameter "candidate", which counts the rows of
    the array (or of a `neurobo.Pool`) from 0, the rows as features. `physics` is a law that the
    objective obeys, a `neurobo.PDE`, or a list of them.

    `where` are known constraints between the parameters of `search_space`, which every suggestion
    meets: texts such as "a + b == 1", `neurobo.AtMost`, and callables that get a dict of
    parameters and are at most 0 where a point is allowed.

    Constraints that trials carry (`trial.set_constraint`) are learned and respected, also those of
    failed trials. `learn_failures` says whether the sampler learns where evaluations fail, and
    keeps away; "auto" does so if the points explain the failures.

    A pruned trial counts with its last reported value, taken as no better than the median and no
    worse than the worst of the completed trials, and no later suggestion comes near it.
    """

    def __init__(
        self,
        algorithm: str | Algorithm = "auto",
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        search_space: SpaceLike | Space | None = None,
        pool: Mapping[str, Any] | None = None,
        start: str = "sobol",
        learn_failures: bool | Literal["auto"] = "auto",
        physics: Physics | None = None,
        where: Where | None = None,
    ) -> None:
        self._algorithm = resolve(algorithm)
        check_physics(self._algorithm, physics)
        self._seed = check_seed(seed)
        self._space = _space_of(search_space, where)
        self._pools = _pools_of(self._space, pool)
        self._physics = physics
        if self._space is not None and physics is not None:
            bind(physics, self._space)  # refuses bad laws now
        self._n_startup_trials = n_startup_trials
        start_size(Space({}), n_startup_trials)  # refuses a bad value now
        check_design(start)
        self._start = start
        self._learn_failures = check_learn_failures(learn_failures)
        self._warned: set[str] = set()
        self._one_at_a_time = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in vars(self).items() if name != "_one_at_a_time"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _one_at_a_time=threading.Lock())

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        if self._space is not None:
            found: Mapping[str, BaseDistribution] = self._space.distributions
        else:
            trials = completed(study)
            found = union(trials)
            if not trials:
                found = {name: p.distribution for name, p in self._pools.items()}
        return {name: d for name, d in found.items() if not d.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> Params:
        _check_one_objective(study)
        if not search_space:
            return {}
        with self._one_at_a_time:  # threads at the same moment could choose the same point
            fixed = _fixed(trial, search_space)
            whole = self._space_of(study, search_space, fixed)
            space = whole.holding(fixed) if fixed else whole
            if fixed and space.size == 1:  # nothing is left to choose
                params = space.decode(space.from_unit(np.zeros((1, space.n_parameters)))[0])
                reserve(study, trial, space, params, "", None)
            else:
                params = self._suggest(study, trial, space, self._laws(study, whole))
        # The objective may ask for what the conditions exclude.
        return {
            name: params[name] if name in params else self._drawn(trial, name, distribution)
            for name, distribution in search_space.items()
        }

    @property
    def _where(self) -> InputConstraints | None:
        return None if self._space is None else self._space.where

    def _space_of(
        self, study: Study, search_space: dict[str, BaseDistribution], fixed: Params
    ) -> Space:
        """With the conditions that are declared, or that the trials show."""
        if self._space is None:
            return known_space(completed(study), search_space, self._pools)
        where = self._where
        if where is not None and not where.names - {*fixed, *dict(where.constants)}:
            where = None  # nothing of it is left to choose: a queued point counts as it is
        if self._space.conditions:  # single values, which Optuna leaves out, may have some
            when = self._space.conditions.when
            return Space(self._space.distributions, pools=self._pools, when=when, where=where)
        return Space(search_space, pools=self._pools, where=where)

    def _suggest(self, study: Study, trial: FrozenTrial, space: Space, laws: Laws | None) -> Params:
        everything = study.get_trials(deepcopy=False)
        trials = trials_of_study(study, space, without=trial.number, trials=everything)
        plan = Plan(
            self._algorithm,
            self._seed,
            start_size(space, self._n_startup_trials, lawful=self._physics is not None),
            self._start,
            self._learn_failures,
            laws,
        )
        if is_exhausted(space, trials):
            self._warn_once(
                "exhausted",
                f"all {space.n_points:.0f} points of the search space are evaluated or pending; "
                "suggesting points again",
            )
            trials = trials.repeatable()
        turn = _turn(study, trial, everything)
        for attempt in range(ATTEMPTS):
            params, member = next_point(space, trials, plan, turn)
            # A process at the same moment could choose the same point.
            ended = {t.number for t in everything if t.state.is_finished()}
            known = None if trials.repeats or space.repeats else ended
            if reserve(study, trial, space, params, member, known):
                break
            everything = study.get_trials(deepcopy=False)
            trials = trials_of_study(study, space, without=trial.number, trials=everything)
            # Others that must choose anew have other random numbers.
            turn = ANEW + ATTEMPTS * trial.number + attempt
        return params

    def _laws(self, study: Study, space: Space) -> Laws | None:
        if self._physics is None:
            return None
        # Optuna has an order of its own for parameters that it finds in the trials.
        ordered = self._space is not None
        return bind(self._physics, space, sign=sign_of(study), ordered=ordered)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A random value, for a parameter that no trial had, or not with the same range."""
        _check_one_objective(study)
        self._check_unconstrained(param_name, param_distribution)
        self._announce_random(study, param_name)
        return self._drawn(trial, param_name, param_distribution)

    def _drawn(self, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
        space = Space({name: distribution})
        rng = np.random.default_rng([self._seed, trial.number, zlib.crc32(name.encode())])
        return space.decode(space.from_unit(rng.random((1, space.n_parameters)))[0])[name]

    def _check_unconstrained(self, name: str, distribution: BaseDistribution) -> None:
        """A value drawn alone would break constraints between parameters."""
        if self._where is not None and name in self._where.names and not distribution.single():
            assert self._space is not None
            raise InvalidInput(
                f"a parameter of `where` must be suggested with its distribution in search_space, "
                f"{self._space.distributions[name]}, got {distribution} for {name!r}"
            )

    def _announce_random(self, study: Study, name: str) -> None:
        """One warning about all parameters that the model cannot choose, as far as they are known.

        A name that no completed trial has must be sampled at random: there is nothing to learn.
        """
        trials = completed(study)
        seen = set().union(*(t.params for t in trials))
        if name not in seen or name in self._warned:
            return
        known = union(trials) if self._space is None else self._space.distributions
        names = sorted(seen - known.keys() | {name})
        self._warned.update(names)
        self._warn_once(
            f"random {names}",
            f"sampled at random: {', '.join(map(repr, names))}, not with the same distribution in "
            "all completed trials; give NeuroSampler a search_space, or keep the range of each "
            "parameter the same in every trial",
        )

    def _warn_once(self, about: str, message: str) -> None:
        if about not in self._warned:
            self._warned.add(about)
            warnings.warn(message, NeuroboWarning, stacklevel=2)


NeuroSampler.__module__ = "neurobo"  # stored objects name the path that users have


def _space_of(given: SpaceLike | Space | None, where: Where | None) -> Space | None:
    if given is not None:
        space = Space.of(given, where)
        check_not_empty(space)
        return space
    if where is not None:
        raise InvalidInput(
            "where must come with search_space, which tells NeuroSampler the parameters before the "
            "first trial, got search_space=None"
        )
    return None


def _check_one_objective(study: Study) -> None:
    if len(study.directions) > 1:
        raise InvalidInput(
            "If the study is being used for multi-objective optimization, NeuroSampler cannot be "
            "used."
        )


def _turn(study: Study, trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> int:
    """The trial's number without those that are void: a crash does not change what comes next."""
    void = void_numbers(study, trials)
    return trial.number - sum(number < trial.number for number in void)


def _fixed(trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]) -> Params:
    """The values that the trial was queued with, as far as the space allows them."""
    return {
        name: value
        for name, value in enqueued_params(trial).items()
        if name in search_space and contains(search_space[name], value)
    }


def _pools_of(space: Space | None, given: Mapping[str, Any] | None) -> dict[str, Pool]:
    """The pools of a space, and those given by name, which must fit it."""
    pools = dict(space.pools) if space is not None else {}
    for name, candidates in (given or {}).items():
        pools[name] = candidates if isinstance(candidates, Pool) else Pool(candidates)
    if space is not None:
        unknown = sorted(pools.keys() - space.distributions.keys())
        if unknown:
            raise InvalidInput(
                f"a pool must belong to a parameter of {sorted(space.distributions)}, got {unknown}"
            )
        Space(space.distributions, pools=pools)  # refuses what does not fit
    return pools
