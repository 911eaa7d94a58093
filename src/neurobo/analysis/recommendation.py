"""Which of a study's points to use: with noise the lowest of many values is luck."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from optuna.search_space import intersection_search_space
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from neurobo.analysis.predictions import ranked, surrogate
from neurobo.analysis.tally import Tally
from neurobo.errors import InvalidInput, NeuroboError, check_flag
from neurobo.space.search_space import Params, Space, SpaceLike


class Recommendation(NamedTuple):
    params: Params
    value: float
    """What is expected there without noise; the observed value if values are exact."""
    sd: float
    """The standard deviation of that; 0 if values are exact."""
    noise_sd: float
    """By how much one evaluation scatters around it; 0 if values are exact."""
    trial: FrozenTrial
    """The trial that was there."""

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
    study: Study, space: SpaceLike | None = None, *, noisy: bool = False
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

    Returns:
        The point as `params`, the expected `value` with its standard deviation `sd`, the standard
        deviation `noise_sd` of one evaluation, and the `trial` that was there.
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
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        known = Space(intersection_search_space(complete))
    else:
        known = Space.of(space)
    belief = surrogate(known, tally, noisy=noisy)
    found = ranked(tally, belief, 1)
    if belief is None or not belief.noisy or not found:
        best = tally.best
        assert best is not None
        return Recommendation(dict(best.params), float(best.values[0]), 0.0, 0.0, best)
    trial, mean, sd = found[0].trial, found[0].mean, found[0].sd
    assert mean is not None
    assert sd is not None
    return Recommendation(dict(trial.params), mean, sd, belief.noise_sd, trial)
