"""Conditional parameters: which parameters a point has.

A parameter with a condition is active where each parent that the condition names is active and has
one of the allowed values. Parents are discrete (categories, integers, stepped ranges) and may have
conditions themselves. An inactive parameter takes no part: its columns are 0, which is the middle
of a range and no choice of a category, so that points that differ only there are the same point.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from optuna.distributions import BaseDistribution

from neurobo.errors import InvalidInput, did_you_mean
from neurobo.space.distributions import contains, only_value
from neurobo.space.encoders import Category, Matrix
from neurobo.space.parameters import Parameter

When = Mapping[str, Any]
"""By parent: a list of values, or a tuple `(low, high)`, both included."""
MISSING: Any = object()
"""No parameter has this value."""


@dataclass(frozen=True)
class Conditional:
    """A parameter that exists only for some values of other parameters; `neurobo.Conditional`.

    Args:
        distribution: What the space would hold without the condition: `(low, high)`,
            `neurobo.Float`, `neurobo.Int`, `neurobo.Categorical` or `neurobo.Ordinal`.
        when: The allowed values of each parent, as a list, `{"model": ["svm"]}`, or as a range
            with both ends, `{"layers": (2, 5)}`. All parents must allow it. A parent is a category,
            an integer or a stepped range, and may be conditional itself; where it is inactive, so
            is this parameter.
    """

    distribution: Any
    when: When


Conditional.__module__ = "neurobo"


@dataclass(frozen=True)
class Requirement:
    """The values that a parent must have."""

    parent: str
    places: tuple[tuple[int, int], ...]
    """First and last of each run of allowed values, counted among the parent's values from 0."""

    def allows(self, place: int) -> bool:
        return any(first <= place <= last for first, last in self.places)

    def met(self, place: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        return np.any([(first <= place) & (place <= last) for first, last in self.places], axis=0)


class Conditions:
    """The conditions of a space, for its parameters and their columns."""

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        parameters: Mapping[str, Parameter],
        columns: Mapping[str, slice],
        when: Mapping[str, When],
        optional: frozenset[str] = frozenset(),
    ) -> None:
        self.when = {name: dict(parents) for name, parents in when.items()}
        self.optional = optional
        """Parameters that a point may lack for reasons that no condition gives."""
        self.requirements = _requirements(distributions, parameters, self.when)
        """Of each conditional parameter, parents first."""
        self._parameters, self._columns = parameters, columns
        self._dim = max((c.stop for c in columns.values()), default=0)

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def inactive(self, params: Mapping[str, Any]) -> set[str]:
        """The parameters that a point with these values does not have. A value outside of a
        parent's range allows nothing."""
        found: set[str] = set()
        for name, requirements in self.requirements.items():
            for one in requirements:
                parent = self._parameters[one.parent]
                value = params.get(one.parent, MISSING)
                absent = one.parent in found or not contains(parent.distribution, value)
                if absent or not one.allows(parent.place(value)):
                    found.add(name)
        return found

    def active(self, x: Matrix) -> dict[str, Bool[np.ndarray, " n"]]:
        """Of each conditional parameter: at which encoded points it is active."""
        found: dict[str, Bool[np.ndarray, " n"]] = {}
        for name, requirements in self.requirements.items():
            found[name] = np.ones(len(x), dtype=bool)
            for one in requirements:
                place = self._parameters[one.parent].places(x[:, self._columns[one.parent]])
                found[name] &= one.met(place)
                if one.parent in found:
                    found[name] &= found[one.parent]
        return found

    def active_columns(self, x: Matrix) -> Bool[np.ndarray, "n columns"]:
        found = np.ones(x.shape, dtype=bool)
        for name, active in self.active(x).items():
            if name in self._columns:  # a single value has none
                found[:, self._columns[name]] = active[:, None]
        return found

    def canonical(self, x: Matrix) -> Matrix:
        """The same points with 0 in inactive columns."""
        return np.where(self.active_columns(x), x, 0.0) if self else x

    @cached_property
    def switches(self) -> list[str]:
        """One parameter for each condition that no column of a category equals."""
        found: dict[tuple[Requirement, ...], str] = {}
        for name, requirements in self.requirements.items():
            first = requirements[0]
            shown = isinstance(self._parameters[first.parent], Category) and len(requirements) == 1
            if not (shown and len(first.places) == 1 and first.places[0][0] == first.places[0][1]):
                found.setdefault(requirements, name)
        return list(found.values())

    def activity(self, x: Matrix) -> Float[np.ndarray, "n switches"]:
        """What surrogates see of the conditions: 1 where one holds, 0 elsewhere."""
        active = self.active(x) if self.switches else {}
        columns = [active[name].astype(float)[:, None] for name in self.switches]
        return np.concatenate([np.zeros((len(x), 0)), *columns], axis=1)

    @cached_property
    def parents(self) -> list[str]:
        """Parameters that conditions name, parents of parents first."""
        named = {one.parent for found in self.requirements.values() for one in found}
        outer = [name for name in self._parameters if name not in self.requirements]
        return [name for name in (*outer, *self.requirements) if name in named]


def _requirements(
    distributions: Mapping[str, BaseDistribution],
    parameters: Mapping[str, Parameter],
    when: Mapping[str, dict[str, Any]],
) -> dict[str, tuple[Requirement, ...]]:
    for name, parents in when.items():
        _check_parents(name, parents, distributions)
    try:
        order = list(TopologicalSorter(when).static_order())
    except CycleError as error:
        ring = " -> ".join(map(repr, error.args[1]))
        raise InvalidInput(
            f"a condition must not depend on its own parameter, got {ring}"
        ) from None
    found: dict[str, tuple[Requirement, ...]] = {}
    for name in order:
        requirements: list[Requirement] = []
        for parent, allowed in when.get(name, {}).items():
            values = _allowed(name, parent, allowed, distributions[parent])
            if parent in parameters:
                requirements.append(_required(parent, values, parameters[parent]))
            elif parent in found:  # a single value, which depends on others
                requirements += found[parent]
        if requirements:
            found[name] = tuple(dict.fromkeys(requirements))
    return found


def _check_parents(name: str, parents: Any, distributions: Mapping[str, BaseDistribution]) -> None:
    if not isinstance(parents, Mapping) or not parents:
        raise InvalidInput(
            f"`when` of {name!r} must be a dict of parents and their allowed values, got "
            f"{parents!r}"
        )
    for parent in parents:
        if parent not in distributions or parent == name:
            others = [other for other in distributions if other != name]
            raise InvalidInput(
                f"the condition of {name!r} must name other parameters of the space {others}, got "
                f"{parent!r}{did_you_mean(parent, others)}"
            )


def _allowed(name: str, parent: str, allowed: Any, distribution: BaseDistribution) -> Any:
    """The values of a parent as they were given, checked."""
    d: Any = distribution
    if hasattr(d, "step") and d.step is None:
        raise InvalidInput(
            f"a parent must be a category, an integer or a stepped range: {name!r} depends on "
            f"{parent!r}, got {distribution}"
        )
    rule = f"the condition of {name!r} on {parent!r} must be"
    if isinstance(allowed, tuple):
        bounds = all(isinstance(v, int | float) and not math.isnan(v) for v in allowed)
        if len(allowed) != 2 or not bounds or not hasattr(d, "low") or allowed[0] > allowed[1]:
            raise InvalidInput(
                f"{rule} a list of values, or a tuple (low, high) for a number, got {allowed!r}"
            )
        if allowed[1] < d.low or allowed[0] > d.high:
            raise InvalidInput(f"{rule} inside {distribution}, got {allowed!r}")
        return allowed
    if isinstance(allowed, str) or not isinstance(allowed, Sequence) or not allowed:
        raise InvalidInput(f"{rule} a list of values or a tuple (low, high), got {allowed!r}")
    for value in allowed:
        if not contains(distribution, value):
            hint = did_you_mean(value, getattr(d, "choices", ()))
            raise InvalidInput(f"{rule} values of {distribution}, got {value!r}{hint}")
    if distribution.single() and only_value(distribution) not in allowed:
        raise InvalidInput(f"{rule} values of {distribution}, got {list(allowed)}")
    return list(allowed)


def _required(parent: str, allowed: Any, parameter: Parameter) -> Requirement:
    if isinstance(allowed, tuple):
        low, step = parameter.distribution.low, parameter.step  # type: ignore[union-attr]
        assert step is not None
        first = math.ceil(max((allowed[0] - low) / step - 1e-9, 0))
        last = math.floor(min((allowed[1] - low) / step + 1e-9, parameter.count - 1))
        if first > last:
            raise InvalidInput(
                f"a condition on {parent!r} must allow one of its values, got {allowed!r}"
            )
        return Requirement(parent, ((first, last),))
    places = sorted({parameter.place(value) for value in allowed})
    ends = [i for i, (a, b) in enumerate(pairwise(places)) if b > a + 1]
    firsts, lasts = [0, *(i + 1 for i in ends)], [*ends, len(places) - 1]
    runs = zip(firsts, lasts, strict=True)
    return Requirement(parent, tuple((places[a], places[b]) for a, b in runs))
