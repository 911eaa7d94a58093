"""What users give to NeuroSampler, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study

from neurobo.errors import InvalidInput
from neurobo.search.feasible_points import check_not_empty
from neurobo.space.input_constraints import Where
from neurobo.space.pool import Pool
from neurobo.space.search_space import Space, SpaceLike


def declared_space(given: SpaceLike | Space | None, where: Where | None) -> Space | None:
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


def check_one_objective(study: Study) -> None:
    if len(study.directions) > 1:
        raise InvalidInput(
            "If the study is being used for multi-objective optimization, NeuroSampler cannot be "
            "used."
        )


def check_unconstrained(space: Space | None, name: str, distribution: BaseDistribution) -> None:
    """A value drawn alone would break constraints between parameters."""
    if space is None or space.where is None or distribution.single():
        return
    if name in space.where.names:
        raise InvalidInput(
            f"a parameter of `where` must be suggested with its distribution in search_space, "
            f"{space.distributions[name]}, got {distribution} for {name!r}"
        )


def declared_pools(space: Space | None, given: Mapping[str, Any] | None) -> dict[str, Pool]:
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
