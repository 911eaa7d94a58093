"""The search space that the trials of a define-by-run study show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from neurobo.space.learned_conditions import learned_conditions
from neurobo.space.pool import Pool
from neurobo.space.search_space import Space


def completed(study: Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def union(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """Every parameter that a complete trial has, by name, if it has the same distribution in all
    of them."""
    found: dict[str, BaseDistribution] = {}
    changed: set[str] = set()
    for trial in trials:
        for name, distribution in trial.distributions.items():
            first = found.setdefault(name, distribution)
            if first is not distribution and first != distribution:
                changed.add(name)
    return {name: found[name] for name in sorted(found.keys() - changed)}


def known_space(
    trials: Sequence[FrozenTrial],
    distributions: Mapping[str, BaseDistribution],
    pools: Mapping[str, Pool] | None = None,
) -> Space:
    """The space of these parameters, with the conditions that complete trials show."""
    learned = learned_conditions(distributions, [trial.params for trial in trials])
    return Space(distributions, pools=pools, when=learned.when, optional=learned.optional)
