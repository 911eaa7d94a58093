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
from neurobo.errors import NeuroboWarning, check_seed
from neurobo.integrations.optuna.attributes import void_numbers
from neurobo.integrations.optuna.compat import enqueued_params
from neurobo.integrations.optuna.history import ReadTrials, reserve, sign_of, trials_of_study
from neurobo.integrations.optuna.known_space import completed, known_space, union
from neurobo.integrations.optuna.sampler_arguments import (
    check_one_objective,
    check_unconstrained,
    declared_pools,
    declared_space,
)
from neurobo.integrations.optuna.turns import pays_to_compile, queued_values, settled, turn_of
from neurobo.physics.laws import Laws, Physics, bind
from neurobo.search.initial_design import check_design, start_size
from neurobo.space.input_constraints import InputConstraints, Where
from neurobo.space.search_space import Params, Space, SpaceLike
from neurobo.suggestion import (
    Plan,
    Proposal,
    check_learn_failures,
    compile_ahead,
    is_exhausted,
    next_point,
    next_points,
)

ATTEMPTS = 20
"""How often a point is chosen because another process has just chosen the same."""
ANEW = 2**20
"""Where the turns of points that are chosen anew begin."""


class NeuroSampler(BaseSampler):
    """A sampler for any single-objective Optuna study.

    A suggestion depends only on the study's trials, the seed and the trial number, so it is the
    same in any process. Constraints that trials carry (`trial.set_constraint`) are learned and
    respected. A trial that was queued with some parameters only, `study.enqueue_trial({"heat":
    20.0})`, gets the most promising values of the others for them. A pruned trial counts with its
    last reported value, moved between the median and the worst of the completed trials.

    Args:
        algorithm: One of `neurobo.algorithms()`, or an object such as `neurobo.Auto(noisy=True)`.
        seed: Seed of all random numbers. None: every run differs.
        n_startup_trials: Number of points of the initial design. None: the number of parameters
            plus two, between 5 and 20.
        search_space: The search space, as in `minimize`, so that the first trials follow the
            initial design. None: every parameter that a completed trial has; the conditions of
            conditional parameters are learned from the trials, as functions of categories and
            integers.
        pool: Features of integer parameters: `{"candidate": array}` gives the parameter
            "candidate", which counts the rows of the array (or of a `neurobo.Pool`) from 0, the
            rows as features.
        start: Kind of the initial design: "sobol", "lhs", "random" or "uncertainty".
        learn_failures: Whether regions where evaluations fail are learned and avoided. "auto": if
            the points explain the failures.
        physics: A differential equation that the objective obeys, a `neurobo.PDE`, or a list.
        where: Known constraints between the parameters of `search_space`, which every suggestion
            satisfies: texts such as "a + b == 1", `neurobo.AtMost`, and callables that get a dict
            of parameters and return at most 0 where a point is allowed.
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
        self._space = declared_space(search_space, where)
        self._pools = declared_pools(self._space, pool)
        self._physics = physics
        if self._space is not None and physics is not None:
            bind(physics, self._space)  # refuses bad laws now
        self._n_startup_trials = n_startup_trials
        start_size(Space({}), n_startup_trials)  # refuses a bad value now
        check_design(start)
        self._start = start
        self._learn_failures = check_learn_failures(learn_failures)
        self._warned: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        """What is not stored with the sampler."""
        self._one_at_a_time = threading.Lock()
        self._compiles_ahead = False
        self._read = ReadTrials()
        self._known: tuple[dict[str, BaseDistribution], Space] | None = None
        self._prepared: dict[int, Proposal] = {}
        """Proposals by the numbers of their trials."""
        self._avoided: set[int] = set()
        """The trials that the proposals keep away from, with their own."""

    def __getstate__(self) -> dict[str, Any]:
        ours = ("_one_at_a_time", "_compiles_ahead", "_read", "_known", "_prepared", "_avoided")
        return {name: v for name, v in vars(self).items() if name not in ours}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

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
        check_one_objective(study)
        if not search_space:
            return {}
        with self._one_at_a_time:  # threads at the same moment could choose the same point
            fixed = queued_values(trial, search_space)
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
        if self._known is not None and self._known[0] == search_space and where is self._where:
            return self._known[1]  # whose trials are read already
        # Single values, which Optuna leaves out, may have conditions.
        some = self._space.distributions if self._space.conditions else search_space
        when, ordered = self._space.conditions.when, self._space.ordered
        found = Space(some, pools=self._pools, when=when, where=where, ordered=ordered)
        if where is self._where:
            self._known = (dict(search_space), found)
        return found

    def prepare(self, study: Study, numbers: Sequence[int]) -> None:
        """Choose the points of several new trials by one decision, if there is a `search_space`."""
        if self._space is None or not numbers:
            return
        with self._one_at_a_time:
            everything = study.get_trials(deepcopy=False)
            new = [everything[number] for number in numbers]
            searched = self.infer_relative_search_space(study, new[0])
            if not searched or any(enqueued_params(trial) for trial in new):
                return
            space = self._space_of(study, searched, {})
            trials = trials_of_study(study, space, trials=everything, read=self._read)
            if len(trials.params) + len(trials.pending) + len(new) > space.n_points:
                return
            void = void_numbers(study, everything)
            turns = [number - sum(v < number for v in void) for number in numbers]
            plan = self._plan(space, self._laws(study, space))
            found = next_points(space, trials, plan, turns, most=1)
            self._prepared = dict(zip(numbers, found, strict=True))
            self._avoided = settled(everything).union(numbers)

    def _plan(self, space: Space, laws: Laws | None) -> Plan:
        return Plan(
            self._algorithm,
            self._seed,
            start_size(space, self._n_startup_trials, lawful=self._physics is not None),
            self._start,
            self._learn_failures,
            laws,
        )

    def _suggest(self, study: Study, trial: FrozenTrial, space: Space, laws: Laws | None) -> Params:
        ready = self._prepared.pop(trial.number, None)
        if ready is not None and reserve(study, trial, space, *ready, self._avoided):
            return ready.params
        everything = study.get_trials(deepcopy=False)
        read = None if space.fixed else self._read
        trials = trials_of_study(study, space, without=trial.number, trials=everything, read=read)
        plan = self._plan(space, laws)
        if is_exhausted(space, trials):
            self._warn_once(
                "exhausted",
                f"all {space.n_points:.0f} points of the search space are evaluated or pending; "
                "suggesting points again",
            )
            trials = trials.repeatable()
        turn = turn_of(study, trial, everything)
        for attempt in range(ATTEMPTS):
            params, member = next_point(space, trials, plan, turn)
            # A process at the same moment could choose the same point.
            known = None if trials.repeats or space.repeats else settled(everything)
            if reserve(study, trial, space, params, member, known):
                break
            everything = study.get_trials(deepcopy=False)
            trials = trials_of_study(
                study, space, without=trial.number, trials=everything, read=read
            )
            # Others that must choose anew have other random numbers.
            turn = ANEW + ATTEMPTS * trial.number + attempt
        left = plan.n_start - len(trials.params)
        if not self._compiles_ahead and pays_to_compile(left, everything):
            self._compiles_ahead = True
            compile_ahead(space, plan)
        return params

    def _laws(self, study: Study, space: Space) -> Laws | None:
        if self._physics is None:
            return None
        # Optuna has an order of its own for parameters that it finds in the trials.
        return bind(self._physics, space, sign=sign_of(study), ordered=self._space is not None)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A random value, for a parameter that no trial had, or not with the same range."""
        check_one_objective(study)
        check_unconstrained(self._space, param_name, param_distribution)
        self._announce_random(study, param_name)
        return self._drawn(trial, param_name, param_distribution)

    def _drawn(self, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
        space = Space({name: distribution})
        rng = np.random.default_rng([self._seed, trial.number, zlib.crc32(name.encode())])
        return space.decode(space.from_unit(rng.random((1, space.n_parameters)))[0])[name]

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
