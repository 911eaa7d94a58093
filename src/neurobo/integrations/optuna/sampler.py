"""An Optuna sampler: the suggestion pass with an Optuna study as its history."""

from __future__ import annotations

import json
import math
import threading
import warnings
import zlib
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from neurobo.algorithm import Algorithm, check_physics, resolve
from neurobo.data.trials import Trials
from neurobo.errors import InvalidInput, NeuroboWarning
from neurobo.integrations.optuna.attributes import MEMBER, is_crash, member_of, void_numbers
from neurobo.physics.laws import Laws, Physics, bind
from neurobo.search.initial_design import check_design, start_size
from neurobo.space.pool import Pool
from neurobo.space.search_space import Params, Space, SpaceLike
from neurobo.suggestion import Plan, check_learn_failures, check_seed, is_exhausted, next_point

# A RUNNING trial shows other workers only what its objective has asked for so far. The whole
# suggestion is stored with it, in pieces that fit Optuna's limit on attribute length.
_SUGGESTED = "neurobo:suggested"
_PIECE = 2045


class NeuroSampler(BaseSampler):
    """Use neurobo in any single-objective Optuna study.

    A suggestion depends only on the study's trials, the seed and the trial number, so that it is
    the same in any process. Give `search_space` to let the very first trials follow the start
    design too; without it Optuna learns the space from the first completed trial.
    `pool={"candidate": array}` gives the integer parameter "candidate", which counts the rows of
    the array (or of a `neurobo.Pool`) from 0, the rows as features. `physics` is a law that the
    objective obeys, a `neurobo.PDE`, or a list of them.

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
    ) -> None:
        self._algorithm = resolve(algorithm)
        check_physics(self._algorithm, physics)
        self._seed = check_seed(seed)
        self._space = None if search_space is None else Space.of(search_space)
        self._pools = _pools_of(self._space, pool)
        self._physics = physics
        if self._space is not None and physics is not None:
            bind(physics, self._space)  # refuses bad laws now
        self._n_startup_trials = n_startup_trials
        start_size(Space({}), n_startup_trials)  # refuses a bad value now
        check_design(start)
        self._start = start
        self._learn_failures = check_learn_failures(learn_failures)
        self._intersection = IntersectionSearchSpace()
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
            found = self._intersection.calculate(study)
            if not found and not _completed(study):
                found = {name: p.distribution for name, p in self._pools.items()}
        return {name: d for name, d in found.items() if not d.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> Params:
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        with self._one_at_a_time:  # threads at the same moment could choose the same point
            return self._suggest(study, trial, Space(search_space, pools=self._pools))

    def _suggest(self, study: Study, trial: FrozenTrial, space: Space) -> Params:
        trials = trials_of_study(study, space, without=trial.number)
        turn = _turn(study, trial)
        plan = Plan(
            self._algorithm,
            self._seed,
            start_size(space, self._n_startup_trials, lawful=self._physics is not None),
            self._start,
            self._learn_failures,
            self._laws(study, space),
        )
        if is_exhausted(space, trials):
            self._warn_once(
                "exhausted",
                f"all {space.size:.0f} points of the search space are evaluated or pending; "
                "suggesting points again",
            )
            trials = trials.repeatable()
        for _ in range(ATTEMPTS):
            params, member = next_point(space, trials, plan, turn)
            _store(study, trial, params)
            # A process at the same moment could choose the same point; now both can see it.
            now = trials_of_study(study, space, without=trial.number)
            if trials.repeats or space.repeats or not _holds(space, now, params):
                break
            trials = now
        if member:
            study._storage.set_trial_system_attr(trial._trial_id, MEMBER, member)
        return params

    def _laws(self, study: Study, space: Space) -> Laws | None:
        if self._physics is None:
            return None
        sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
        # Optuna has an order of its own for parameters that it finds in the trials.
        return bind(self._physics, space, sign=sign, ordered=self._space is not None)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A random value, for a parameter that the common search space does not hold."""
        self._raise_error_if_multi_objective(study)
        self._announce_random(study, param_name)
        space = Space({param_name: param_distribution})
        rng = np.random.default_rng([self._seed, trial.number, zlib.crc32(param_name.encode())])
        return space.decode(space.from_unit(rng.random((1, space.n_parameters)))[0])[param_name]

    def _announce_random(self, study: Study, name: str) -> None:
        """One warning about all parameters that the model cannot choose, as far as they are known.

        A name that no completed trial has must be sampled at random: there is nothing to learn.
        """
        seen = set().union(*(t.params for t in _completed(study)))
        if name not in seen or name in self._warned:
            return
        names = sorted(seen - self._intersection.calculate(study).keys() | {name})
        self._warned.update(names)
        self._warn_once(
            f"random {names}",
            f"sampled at random: {', '.join(map(repr, names))}, not in every completed trial with "
            "the same distribution; give NeuroSampler a search_space, or keep each parameter and "
            "its range the same in every trial",
        )

    def _warn_once(self, about: str, message: str) -> None:
        if about not in self._warned:
            self._warned.add(about)
            warnings.warn(message, NeuroboWarning, stacklevel=2)


ATTEMPTS = 5
"""How often a point is chosen anew because another process has just chosen it."""


def _turn(study: Study, trial: FrozenTrial) -> int:
    """The trial's number without those that are void: a crash does not change what comes next."""
    return trial.number - sum(number < trial.number for number in void_numbers(study))


def _holds(space: Space, trials: Trials, params: Params) -> bool:
    """Whether a point is among the trials."""
    taken = space.encode([*trials.params, *trials.pending])
    return bool(np.any(np.all(np.abs(taken - space.encode([params])) <= space.tolerance, axis=1)))


def _completed(study: Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


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


def trials_of_study(study: Study, space: Space, *, without: int | None = None) -> Trials:
    """A study's trials as history: its values turned so that lower is better, its failures kept
    as failures, its running trials as pending points, its constraints by name. Points outside the
    space are left out."""
    sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
    params, values, pending, constraints, crashed, members = [], [], [], [], [], []
    pruned: list[bool] = []
    void = void_numbers(study)
    for t in study.get_trials(deepcopy=False):
        if t.number == without or t.state == TrialState.WAITING or t.number in void:
            continue
        point = suggested(t) if t.state == TrialState.RUNNING else t.params
        if not space.contains(point):
            continue
        if t.state == TrialState.RUNNING:
            pending.append(point)
        else:
            params.append(point)
            values.append(sign * _value(t))
            constraints.append(t.constraints)
            crashed.append(is_crash(t))
            members.append(member_of(t))
            pruned.append(t.state == TrialState.PRUNED)
    values = _pessimistic(np.array(values), np.array(pruned, dtype=bool)).tolist()
    return Trials(params, values, pending, constraints, crashed, members, pruned)


def _value(trial: FrozenTrial) -> float:
    """Of a complete trial, or the last one that a pruned trial reported; else NaN."""
    if trial.state == TrialState.COMPLETE and trial.value is not None:
        return trial.value
    if trial.state == TrialState.PRUNED and trial.last_step is not None:
        return trial.intermediate_values[trial.last_step]
    return math.nan


def _pessimistic(
    values: Float[np.ndarray, " n"], pruned: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Pruned trials in the worse half of the complete ones: somebody judged them so, and what they
    reported early is not to be compared with the others' last values."""
    complete = values[~pruned & np.isfinite(values)]
    if not len(complete):
        return values
    return np.where(pruned, np.clip(values, np.median(complete), np.max(complete)), values)


def suggested(trial: FrozenTrial) -> Params:
    """All that was suggested to a trial, also what its objective has not asked for yet."""
    return {**_stored(trial), **trial.params}


def _store(study: Study, trial: FrozenTrial, params: Params) -> None:
    text = json.dumps(params)
    for i, at in enumerate(range(0, len(text), _PIECE)):
        study._storage.set_trial_system_attr(
            trial._trial_id, f"{_SUGGESTED}:{i}", text[at : at + _PIECE]
        )


def _stored(trial: FrozenTrial) -> Params:
    pieces: list[str] = []
    while (piece := trial.system_attrs.get(f"{_SUGGESTED}:{len(pieces)}")) is not None:
        pieces.append(piece)
    try:
        found = json.loads("".join(pieces)) if pieces else {}
    except ValueError:
        return {}  # not written to its end
    return found if isinstance(found, dict) else {}
