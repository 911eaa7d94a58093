"""Conditions that trials show: of which discrete parameters is the presence of others a function?

A define-by-run study does not declare which parameters exist when. A parameter that some trials
lack is explained by the values of parents that every trial with it has: the fewest parents whose
values tell all trials with the parameter from all trials without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

Params = Mapping[str, Any]

MOST = 64
"""Values of a parent. More would explain anything by chance."""


class Learned(NamedTuple):
    when: dict[str, dict[str, list[Any]]]
    """The condition of each parameter that has one."""
    optional: frozenset[str]
    """Parameters that some trials lack for reasons that no parents explain."""


@dataclass(frozen=True)
class _Parent:
    """What one parent says about a parameter."""

    name: str
    allowed: list[Any]
    lacking: frozenset[int]
    """Trials without the parameter that it tells from those with it."""
    earlier: bool
    """Whether every trial asked for it before the parameter."""
    pieces: int
    """Runs of allowed values: few are a rule, many are chance."""


def learned_conditions(
    distributions: Mapping[str, BaseDistribution], trials: Sequence[Params]
) -> Learned:
    """The conditions under which complete trials have the parameters that some of them lack."""
    having = {
        name: frozenset(i for i, params in enumerate(trials) if name in params)
        for name in distributions
    }
    when, optional = {}, set()
    for name in distributions:
        if len(having[name]) == len(trials):
            continue
        parents = [
            _parent(name, other, distributions[other], having, trials)
            for other in distributions
            # Those that come and go together explain each other, which says nothing.
            if having[name] < having[other] and _few(distributions[other])
        ]
        chosen = _fewest(parents, frozenset(range(len(trials))) - having[name])
        if chosen:
            when[name] = {parent.name: parent.allowed for parent in chosen}
        else:
            optional.add(name)
    return Learned(when, frozenset(optional))


def _few(distribution: BaseDistribution) -> bool:
    return not distribution.single() and 2 <= len(_values(distribution)) <= MOST


def _values(distribution: BaseDistribution) -> Sequence[Any]:
    """All values of a category or an integer; none of others."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices
    if isinstance(distribution, IntDistribution):
        return range(distribution.low, distribution.high + 1, distribution.step)
    return ()


def _parent(
    name: str,
    parent: str,
    distribution: BaseDistribution,
    having: Mapping[str, frozenset[int]],
    trials: Sequence[Params],
) -> _Parent:
    def place(i: int) -> int:
        return int(distribution.to_internal_repr(trials[i][parent]))

    with_it = {place(i) for i in having[name]}
    without = {place(i) for i in having[parent] - having[name]} - with_it
    lacking = frozenset(
        i for i in range(len(trials)) if i not in having[parent] or place(i) in without
    )
    values = _values(distribution)
    allowed = [v for v in values if _is_allowed(distribution, v, with_it, without)]
    flags = [v in allowed for v in values]
    runs = sum(flag and not before for before, flag in zip([False, *flags], flags, strict=False))
    ordered = isinstance(distribution, IntDistribution)
    earlier = all(list(trials[i]).index(parent) < list(trials[i]).index(name) for i in having[name])
    return _Parent(parent, allowed, lacking, earlier, runs if ordered else len(with_it))


def _is_allowed(
    distribution: BaseDistribution, value: Any, with_it: set[int], without: set[int]
) -> bool:
    """Whether a value of the parent goes with the parameter. Of an integer that no trial had, the
    nearest decides; the choices of a category have nothing to do with each other."""
    place = int(distribution.to_internal_repr(value))
    if not without:  # that the parent is there says it all
        return True
    if isinstance(distribution, CategoricalDistribution):
        return place in with_it
    return min(abs(place - v) for v in with_it) <= min(abs(place - v) for v in without)


def _fewest(parents: Sequence[_Parent], lacking: frozenset[int]) -> list[_Parent]:
    """Parents that together tell all these trials apart, by the greedy rule for covers; none if
    there are no such."""
    chosen: list[_Parent] = []
    left = lacking
    while left and parents:
        best = max(parents, key=lambda p: (len(p.lacking & left), p.earlier, -p.pieces))
        if not best.lacking & left:
            return []
        chosen.append(best)
        left -= best.lacking
    return [] if left else chosen
