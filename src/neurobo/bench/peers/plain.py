"""Parameters and outcomes in the few terms that other libraries share with ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from neurobo.space.search_space import Params, Space

BEFORE_ANY_SUCCESS = 1e9


@dataclass(frozen=True)
class Plain:
    """A parameter as a number; stepped ranges and choices are counted from 0."""

    name: str
    kind: Literal["float", "int", "choice"]
    low: float
    high: float
    log: bool
    distribution: BaseDistribution

    @staticmethod
    def of(name: str, distribution: BaseDistribution) -> Plain:
        d = distribution
        if isinstance(d, CategoricalDistribution):
            return Plain(name, "choice", 0, len(d.choices) - 1, False, d)
        assert isinstance(d, FloatDistribution | IntDistribution)
        if d.step is None:
            return Plain(name, "float", d.low, d.high, d.log, d)
        if d.log:  # always with step 1
            return Plain(name, "int", d.low, d.high, True, d)
        return Plain(name, "int", 0, round((d.high - d.low) / d.step), False, d)

    def number(self, value: Any) -> float | int:
        d = self.distribution
        if isinstance(d, CategoricalDistribution):
            return int(d.to_internal_repr(value))
        assert isinstance(d, FloatDistribution | IntDistribution)
        if d.step is None:
            return float(value)
        return int(value) if d.log else round((value - d.low) / d.step)

    def value(self, number: Any) -> Any:
        d = self.distribution
        inside = min(max(float(number), self.low), self.high)  # libraries round in their own ways
        if isinstance(d, CategoricalDistribution):
            return d.choices[round(inside)]
        assert isinstance(d, FloatDistribution | IntDistribution)
        if d.step is None:
            return inside
        stepped = round(inside) if d.log else d.low + round(inside) * d.step
        return min(stepped, d.high)


class PlainSpace:
    """The parameters that can vary, as plain numbers."""

    def __init__(self, space: Space) -> None:
        self._names = list(space.distributions)
        every = [Plain.of(name, d) for name, d in space.distributions.items()]
        self.parameters = [p for p in every if not p.distribution.single()]
        self._fixed = {p.name: p.value(p.low) for p in every if p.distribution.single()}

    def numbers(self, params: Params) -> dict[str, float | int]:
        return {p.name: p.number(params[p.name]) for p in self.parameters if p.name in params}

    def params(self, numbers: Mapping[str, Any]) -> Params:
        free = {p.name: p.value(numbers[p.name]) for p in self.parameters if p.name in numbers}
        both = {**self._fixed, **free}
        return {name: both[name] for name in self._names if name in both}


class WorstSoFar:
    """For a library that knows no failures, a failed evaluation counts as the worst one so far."""

    def __init__(self) -> None:
        self._worst = -math.inf

    def __call__(self, value: float) -> float:
        if math.isfinite(value):
            self._worst = max(self._worst, value)
            return value
        return self._worst if math.isfinite(self._worst) else BEFORE_ANY_SUCCESS
