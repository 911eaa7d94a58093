"""Which of a study's points to use: with noise the lowest of many values is luck."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from neurobo.acquisition.confidence_bound import LowerConfidenceBound
from neurobo.acquisition.constraints import Feasibility, constrained
from neurobo.acquisition.score import Score
from neurobo.analysis.predictions import Surrogate, ranked, some_inside, surrogate
from neurobo.analysis.tally import Tally
from neurobo.data.observations import Data
from neurobo.data.trials import Trials
from neurobo.errors import InvalidInput, NeuroboError, check_flag
from neurobo.integrations.optuna.known_space import completed, known_space, union
from neurobo.search.optimiser import minimise
from neurobo.space.input_constraints import Where
from neurobo.space.search_space import Params, Space, SpaceLike
from neurobo.training.blas_threads import one_blas_thread


class Recommendation(NamedTuple):
    params: Params
    value: float
    """What is expected there without noise; the observed value if values are exact."""
    sd: float
    """The standard deviation of that; 0 if values are exact."""
    noise_sd: float
    """By how much one evaluation scatters around it; 0 if values are exact."""
    trial: FrozenTrial
    """The trial that was there; if parameters were fixed, the nearest one."""

    def __repr__(self) -> str:
        params = {name: _rounded(value) for name, value in self.params.items()}
        value = f"{self.value:.6g}"
        if self.sd > 0:  # two digits of the uncertainty, and the value to the same place
            digits = max(1 - math.floor(math.log10(self.sd)), 0)
            value = f"{self.value:.{digits}f} ± {self.sd:.{digits}f}"
        noise = f", noise_sd={self.noise_sd:.2g}" if self.noise_sd > 0 else ""
        return f"Recommendation({params}, value={value}{noise}, trial={self.trial.number})"


def _rounded(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def recommend(
    study: Study,
    space: SpaceLike | None = None,
    *,
    noisy: bool = False,
    fixed: Mapping[str, Any] | None = None,
    where: Where | None = None,
) -> Recommendation:
    """The best feasible point of a study, of `minimize` or any sampler.

    If the evidence finds noise, it is the one of the lowest expected value (highest, if the study
    maximises), given all results; if not, that of `study.best_trial`. The expectation comes from
    the exact Gaussian process of infinitely wide networks.

    Args:
        study: An Optuna study with one objective and at least one feasible result.
        space: Needed for pools, and where parameters do not have the same range in every trial.
        noisy: Whether the same point is known to give different values. Without it, few results in
            many dimensions can look exact.
        fixed: Values of some parameters, such as today's temperature. The result is then the point
            of the lowest expected value among all with these values, evaluated or not; unknown
            constraints hold there by a margin of one standard deviation.
        where: Known constraints between parameters, as in `minimize`, which the point for `fixed`
            meets.

    Returns:
        The point as `params`, the expected `value` with its standard deviation `sd`, the standard
        deviation `noise_sd` of one evaluation, and the `trial` that was there (with `fixed` the
        nearest one).
    """
    if not isinstance(study, Study):
        raise InvalidInput(f"study must be an Optuna study, got {type(study).__name__}")
    check_flag("noisy", noisy)
    if len(study.directions) > 1:
        raise InvalidInput(
            f"a study must have one objective for this, got {len(study.directions)}: see "
            "study.best_trials"
        )
    tally = Tally.of(study)
    if not tally.feasible:
        raise NeuroboError(
            "a recommendation needs at least one complete and feasible trial, got "
            f"{len(tally.complete)} complete, 0 feasible"
        )
    if space is None:
        complete = completed(study)
        known = Space.of(known_space(complete, union(complete)), where)
    else:
        known = Space.of(space, where)
    searched = known if fixed is None else known.holding(fixed)
    belief = surrogate(known, tally, noisy=noisy)
    if fixed is not None:
        return best_rest(searched, tally, belief)
    found = ranked(tally, belief, 1)
    if belief is None or not belief.noisy or not found:
        best = tally.best
        assert best is not None
        return Recommendation(dict(best.params), float(best.values[0]), 0.0, 0.0, best)
    trial, mean, sd = found[0].trial, found[0].mean, found[0].sd
    assert mean is not None
    assert sd is not None
    return Recommendation(dict(trial.params), mean, sd, belief.noise_sd, trial)


CAUTIOUS = 1
"""The number of a suggestion whose bounds on constraints are cautious."""


def best_rest(space: Space, tally: Tally, belief: Surrogate | None) -> Recommendation:
    """The point of the lowest expected value among those with the fixed values of a space."""
    if belief is None:
        raise NeuroboError(
            "a recommendation for fixed parameters needs three complete trials with different "
            f"values, got {len(tally.complete)} complete"
        )
    trials = some_inside(space, tally)
    values = [tally.lower(t) for t in trials]
    known = Trials([t.params for t in trials], values, constraints=[t.constraints for t in trials])
    data = Data.of(space, known.repeatable())  # what was evaluated may be best
    with jax.enable_x64(True), one_blas_thread():
        score: Score = LowerConfidenceBound(belief.function, jnp.asarray(0.0))
        if data.constraints:
            bounds, data = Feasibility().learn(jax.random.key(0), data, CAUTIOUS)
            score = constrained(score, bounds, data)
        x = minimise(score, space, data, np.random.default_rng(0))
    params = space.decode(x)
    (mean,), (sd,) = belief.at([params])
    noise = belief.noise_sd if belief.noisy else 0.0
    nearest = trials[int(np.argmin(np.sum((data.points - x) ** 2, axis=1)))]
    return Recommendation(params, float(mean), float(sd), noise, nearest)
