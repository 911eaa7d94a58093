"""What a sampler reads off a study's trials before it suggests: whose turn it is, which points are
settled, which values are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from neurobo.integrations.optuna.attributes import void_numbers
from neurobo.integrations.optuna.compat import enqueued_params
from neurobo.space.distributions import contains
from neurobo.space.search_space import Params

SLOW = 0.5
"""Seconds of an evaluation that leave time to compile."""
SOON = 20
"""Trials before the end of the initial design from which programs are compiled ahead: all of a
design by default, and not a million of a design that never ends."""


def settled(trials: Sequence[FrozenTrial]) -> set[int]:
    """The trials whose points are known and stay: suggestions keep away from these already."""
    return {t.number for t in trials if t.state.is_finished() or t.params}


def pays_to_compile(left: int, trials: Sequence[FrozenTrial]) -> bool:
    """Whether the model's programs should be compiled now: it is used in `left` trials, and
    evaluations take long enough meanwhile."""
    times = (t.duration.total_seconds() for t in trials if t.duration is not None)
    return 0 < left <= SOON and max(times, default=0.0) > SLOW


def turn_of(study: Study, trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> int:
    """The trial's number without those that are void: a crash does not change what comes next."""
    void = void_numbers(study, trials)
    return trial.number - sum(number < trial.number for number in void)


def queued_values(trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]) -> Params:
    """The values that the trial was queued with, as far as the space allows them."""
    return {
        name: value
        for name, value in enqueued_params(trial).items()
        if name in search_space and contains(search_space[name], value)
    }
