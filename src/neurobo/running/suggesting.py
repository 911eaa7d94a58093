"""The values of a trial's parameters, through Optuna's own calls."""

from __future__ import annotations

from functools import partial
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import Trial

from neurobo.integrations.optuna.compat import (
    bundled,
    chosen_together,
    recent,
    store_params,
)
from neurobo.space.distributions import only_value
from neurobo.space.search_space import Params, Space

JUST_READ = 0.5
"""Seconds that a study's trials may be old for a suggestion: that the point is free is checked when
it is stored."""


def suggest_all(trial: Trial, space: Space) -> Params:
    """A value for every parameter, from what was read last; they are stored together."""
    with recent(trial.study, JUST_READ), bundled(trial.study):
        chosen = chosen_together(trial, space.distributions)
        if chosen is None:
            return space.asked(partial(ask, trial))
        params = space.asked(lambda name, d: only_value(d) if d.single() else chosen[name])
        store_params(trial, params, {name: space.distributions[name] for name in params})
        return params


def ask(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """Optuna's suggest_* for a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    d: Any = distribution
    suggest = (
        trial.suggest_float if isinstance(distribution, FloatDistribution) else trial.suggest_int
    )
    return suggest(name, d.low, d.high, step=d.step, log=d.log)
