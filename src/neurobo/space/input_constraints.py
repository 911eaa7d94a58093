"""Known constraints between parameters, `where=`: linear texts, `AtMost`, and callables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution

from neurobo.errors import InvalidInput, check_count, did_you_mean, short_repr
from neurobo.space.distributions import contains, only_value
from neurobo.space.linear_constraints import Linear, parse

TOLERANCE = 1e-9
"""By how much a linear constraint may be missed, relative to its largest term if that is above 1:
sums of floats are rounded."""

Where = Sequence["str | AtMost | Callable[[Any], Any]"]


@dataclass(frozen=True)
class AtMost:
    """A known constraint: at most `k` of some parameters differ from zero.

    For mixtures: `where=[neurobo.AtMost(3, ["copper", "tin", "zinc", "lead"])]` allows three
    components.

    Args:
        k: How many may differ from zero.
        names: The parameters, whose ranges include 0.
    """

    k: int
    names: Sequence[str]

    def __post_init__(self) -> None:
        check_count("AtMost: k", self.k, least=0)
        if isinstance(self.names, str) or not isinstance(self.names, Iterable):
            raise InvalidInput(f"AtMost: names must be a list of names, got {self.names!r}")
        names = tuple(self.names)
        if not names or not all(isinstance(name, str) for name in names):
            raise InvalidInput(f"AtMost: names must be parameter names, got {list(names)}")
        if len(set(names)) < len(names):
            raise InvalidInput(
                f"AtMost: names must be different from each other, got {list(names)}"
            )
        object.__setattr__(self, "names", names)  # hashable

    def __str__(self) -> str:
        return f"at most {self.k} of {', '.join(self.names)} differ from 0"


AtMost.__module__ = "neurobo"  # stored objects name the path that users have


@dataclass(frozen=True)
class InputConstraints:
    """The constraints of one space, checked."""

    linear: tuple[Linear, ...]
    at_most: tuple[AtMost, ...]
    callables: tuple[Callable[[Any], Any], ...]
    constants: tuple[tuple[str, Any], ...]
    """Parameters with a single value, and those whose value is fixed."""
    order: tuple[str, ...]
    """The parameters that every point has, as callables get them."""
    as_array: bool
    """Whether callables get a 1-D array instead of a dict."""

    @property
    def names(self) -> set[str]:
        """The parameters that are constrained; all, if a callable may look at them."""
        if self.callables:
            return set(self.order)
        linear = {name for row in self.linear for name, _ in row.coefficients}
        return linear.union(*(group.names for group in self.at_most))

    def words(self) -> list[str]:
        """The constraints as people write them."""
        texts = list(dict.fromkeys(row.text for row in self.linear))
        return [*texts, *map(str, self.at_most), *(f"{_name(c)} <= 0" for c in self.callables)]

    def broken(self, params: Mapping[str, Any]) -> str:
        """The first constraint that a point breaks and by how much, or nothing."""
        for row in self.linear:
            terms = [float(c) * params[name] for name, c in row.coefficients]
            excess = sum(terms) - float(row.bound)
            allowed = TOLERANCE * max(1.0, *map(abs, terms))
            if excess > allowed or (row.equality and excess < -allowed):
                return f"{row.text!r}, missed by {abs(excess):.3g}"
        for group in self.at_most:
            nonzero = [name for name in group.names if params[name] != 0]
            if len(nonzero) > group.k:
                return f"{group}, and {', '.join(nonzero)} do"
        for one in self.callables:
            value = self.value(one, params)
            if not value <= 0:
                return f"{_name(one)} <= 0, which is {value:.3g}"
        return ""

    def check_constants(self, varying: Collection[str]) -> None:
        """Linear constraints of which no parameter can vary hold, or no point is allowed."""
        rows = [r for r in self.linear if not any(n in varying for n, _ in r.coefficients)]
        given = dict(self.constants)
        broken = replace(self, linear=tuple(rows), at_most=(), callables=()).broken(given)
        if broken:
            raise InvalidInput(
                f"where must allow at least one point of the space, got {given}, which breaks "
                f"{broken}"
            )

    def value(self, one: Callable[[Any], Any], params: Mapping[str, Any]) -> float:
        """That of a callable at a point in the user's terms."""
        full = {**dict(self.constants), **params}
        point: Any = {name: full[name] for name in self.order}
        given = np.array(list(point.values())) if self.as_array else dict(point)
        try:
            return float(one(given))
        except Exception as error:
            raise InvalidInput(
                f"where: {_name(one)} must return a number at every point of the space, got "
                f"{type(error).__name__}: {error} at {short_repr(point)}"
            ) from error


def _name(one: Callable[[Any], Any]) -> str:
    name = getattr(one, "__name__", type(one).__name__)
    return "a callable" if name == "<lambda>" else f"{name}(…)"


def bound(
    where: Any,
    distributions: Mapping[str, BaseDistribution],
    *,
    as_array: bool = False,
    conditional: Collection[str] = (),
    fixed: Mapping[str, Any] | None = None,
) -> InputConstraints | None:
    """The constraints a user gave for these parameters, checked; None if there are none."""
    fixed = fixed or {}
    if where is None:
        return None
    if isinstance(where, InputConstraints):
        constants = {**dict(where.constants), **fixed}
        return replace(where, constants=tuple(constants.items()))
    if isinstance(where, str | AtMost) or callable(where):
        where = [where]
    if not isinstance(where, Iterable) or isinstance(where, Mapping):
        raise InvalidInput(f"where must be a list of constraints, got {short_repr(where)}")
    linear: list[Linear] = []
    groups: list[AtMost] = []
    callables: list[Callable[[Any], Any]] = []
    for one in where:
        if isinstance(one, str):
            rows = parse(one, distributions)
            linear += [_checked(row, distributions, conditional) for row in rows]
        elif isinstance(one, AtMost):
            groups.append(_checked_group(one, distributions, conditional))
        elif callable(one):
            callables.append(one)
        else:
            raise InvalidInput(
                "a constraint of `where` must be a text such as 'a + b <= 1', a neurobo.AtMost or "
                f"a callable, got {short_repr(one)}"
            )
    if not (linear or groups or callables):
        return None
    constants = {n: only_value(d) for n, d in distributions.items() if d.single()} | dict(fixed)
    order = tuple(name for name in distributions if name not in conditional)
    return InputConstraints(
        tuple(linear), tuple(groups), tuple(callables), tuple(constants.items()), order, as_array
    )


def _check_unconditional(names: Iterable[str], conditional: Collection[str], given: str) -> None:
    for name in names:
        if name in conditional:
            raise InvalidInput(
                "a constraint of `where` must be about parameters that every point has, got "
                f"{name!r}, which has a condition, in {given!r}"
            )


def _checked(
    row: Linear, distributions: Mapping[str, BaseDistribution], conditional: Collection[str]
) -> Linear:
    _check_unconditional((name for name, _ in row.coefficients), conditional, row.text)
    for name, _ in row.coefficients:
        if isinstance(distributions[name], CategoricalDistribution):
            raise InvalidInput(
                f"a linear constraint must be about numbers, got the choice {name!r} in "
                f"{row.text!r}"
            )
    return row


def _checked_group(
    group: AtMost, distributions: Mapping[str, BaseDistribution], conditional: Collection[str]
) -> AtMost:
    _check_unconditional(group.names, conditional, str(group))
    for name in group.names:
        if name not in distributions:
            raise InvalidInput(
                f"AtMost: names must be parameters of {sorted(distributions)}, got {name!r}"
                f"{did_you_mean(name, distributions)}"
            )
        d = distributions[name]
        zero = 0.0 if isinstance(d, FloatDistribution) else 0
        if isinstance(d, CategoricalDistribution) or d.single() or not contains(d, zero):
            raise InvalidInput(
                f"AtMost: 0 must be a value of each parameter, which must be a number that can "
                f"vary, got {name!r} with {d}"
            )
    return group


def exact(value: float) -> Fraction:
    """The decimal number that a float was written as."""
    return Fraction(repr(float(value)))
