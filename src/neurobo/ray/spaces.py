"""Ray Tune's search spaces as neurobo's, and points as Ray Tune's configurations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from optuna.distributions import BaseDistribution

from neurobo.errors import InvalidInput, require
from neurobo.space.conditions import Conditional
from neurobo.space.distributions import categorical, float_range, int_range
from neurobo.space.search_space import Space

SCALARS = (type(None), bool, int, float, str)


@dataclass(frozen=True)
class TuneSpace:
    """A configuration in which some entries are to be chosen. Names of nested entries are joined by
    "/", as Ray Tune writes them."""

    space: Space
    constants: Mapping[str, Any]
    quanta: Mapping[str, float] = field(default_factory=dict)
    """Parameters that count multiples of this: quantised logarithmic domains."""
    choices: Mapping[str, list[Any]] = field(default_factory=dict)
    """Choices that a study cannot hold, such as lists; the parameter counts them."""

    def config(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """What the trainable gets."""
        found = dict(self.constants)
        for name, value in params.items():
            if name in self.choices:
                found[name] = self.choices[name][value]
            elif name in self.quanta:
                found[name] = value * self.quanta[name]
            else:
                found[name] = value
        nested: dict[str, Any] = {}
        for name, value in found.items():
            inner = nested
            *folders, last = name.split("/")
            for folder in folders:
                inner = inner.setdefault(folder, {})
            inner[last] = value
        return nested


def tune_space(given: Mapping[str, Any], *, ranges: bool) -> TuneSpace:
    """The space of a configuration. What Ray Tune does not choose is a constant; with `ranges`,
    `(low, high)` and neurobo's own distributions are to be chosen, too."""
    sample = require("ray.tune.search.sample", extra="ray")
    chosen: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    quanta: dict[str, float] = {}
    choices: dict[str, list[Any]] = {}
    for name, value in _leaves(given, ""):
        own = isinstance(value, BaseDistribution | Conditional)
        if isinstance(value, sample.Domain):
            try:
                chosen[name] = _converted(sample, name, value, quanta, choices)
            except InvalidInput as error:
                raise InvalidInput(f"space[{name!r}]: {error}") from None
        elif own or (ranges and isinstance(value, tuple)):
            chosen[name] = value
        else:
            constants[name] = value
    if not chosen:
        raise InvalidInput(f"a space must have something to choose, got {given!r}")
    return TuneSpace(Space.of(chosen), constants, quanta, choices)


def _leaves(given: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in given.items():
        if "/" in str(key):
            raise InvalidInput(f'a key of a configuration must be without "/", got {key!r}')
        if isinstance(value, Mapping) and "grid_search" in value:
            raise InvalidInput(f"a space must be without grid_search, got one in {prefix}{key}")
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}/")
        else:
            yield f"{prefix}{key}", value


def _converted(
    sample: Any, name: str, domain: Any, quanta: dict[str, float], choices: dict[str, list[Any]]
) -> BaseDistribution:
    sampler, q = domain.get_sampler(), None
    if isinstance(sampler, sample.Quantized):
        sampler, q = sampler.get_sampler(), sampler.q
    log = isinstance(sampler, sample.LogUniform)
    if isinstance(domain, sample.Categorical) and isinstance(sampler, sample.Uniform):
        values = list(domain.categories)
        if any(isinstance(value, sample.Domain | Mapping) for value in values):
            raise InvalidInput(
                "choices must be without search spaces and tables; give `space` "
                "neurobo.Conditional parameters instead"
            )
        if all(isinstance(value, SCALARS) for value in values):
            return categorical(values)
        choices[name] = values
        return categorical(range(len(values)))
    numeric = isinstance(domain, sample.Float | sample.Integer)
    if not numeric or not isinstance(sampler, sample.Uniform | sample.LogUniform):
        raise InvalidInput(
            "a domain must be uniform, loguniform, randint, lograndint, choice, or one of these "
            f"quantised, got {domain.domain_str} with {sampler}"
        )
    if not math.isfinite(domain.lower) or not math.isfinite(domain.upper):
        raise InvalidInput(f"a domain must be bounded, got {domain.domain_str}")
    whole = isinstance(domain, sample.Integer)
    if q is None or (whole and q == 1):  # the upper end of whole numbers does not belong to them
        if whole:
            return int_range(domain.lower, domain.upper - 1, log=log)
        return float_range(domain.lower, domain.upper, log=log)
    first, last = _multiples(domain.lower, domain.upper, q)
    if log:  # as Ray Tune does: logarithmic in the multiples
        quanta[name] = q
        return int_range(first, last, log=True)
    if whole:
        return int_range(first * q, last * q, step=q)
    return float_range(first * q, last * q, step=q)


def _multiples(lower: float, upper: float, q: float) -> tuple[int, int]:
    """The first and the last multiple of q in a range, apart from rounding errors."""
    first, last = lower / q, upper / q
    first = round(first) if math.isclose(first, round(first)) else math.ceil(first)
    last = round(last) if math.isclose(last, round(last)) else math.floor(last)
    return int(first), int(last)
