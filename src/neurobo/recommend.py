"""Which of a study's points to use: with noise the lowest of many values is luck."""

from __future__ import annotations

from typing import NamedTuple

from optuna.search_space import intersection_search_space
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from neurobo.errors import InvalidInput, NeuroboError, check_flag
from neurobo.space import Params, Space, SpaceLike
from neurobo.studies.surrogate import ranked, surrogate
from neurobo.studies.tally import Tally


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


def recommend(
    study: Study, space: SpaceLike | None = None, *, noisy: bool = False
) -> Recommendation:
    """The best feasible point of a study, of `minimize` or any sampler.

    If the evidence finds noise, it is the one of the lowest expected value (highest, if the study
    maximises), given all results; if not, that of `study.best_trial`. The expectation comes from
    the exact Gaussian process of infinitely wide networks. `space` is needed for pools, and where
    parameters have not the same range in every trial. Say `noisy=True` if you know that the same
    point would give different values: few results in many dimensions can be explained without.
    """
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
