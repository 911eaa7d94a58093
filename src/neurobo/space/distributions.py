"""What users write for a parameter, as Optuna's distributions: bounds, ranges and choices."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from neurobo.errors import InvalidInput, did_you_mean

FEWEST = 1024
"""Parts into which a range must be divisible."""
SMALLEST = 1e-300
"""Half the width of the narrowest range: below, floats lose their digits."""
MOST_STEPS = 1e7
"""More steps than this from 0 to a bound, and Optuna refuses values by their rounding errors."""


def float_range(
    low: float, high: float, *, log: bool = False, step: float | None = None, name: str = ""
) -> FloatDistribution:
    """A float parameter in [low, high]; `neurobo.Float`.

    Args:
        low: The smallest value.
        high: The largest value.
        log: Whether ratios matter, not differences; `low` must be above 0.
        step: If given, only `low`, `low + step`, … are allowed.
        name: Name of the parameter, for error messages.

    Returns:
        Optuna's FloatDistribution.
    """
    _check_bounds(low, high, log, name)
    if not low < high:
        raise InvalidInput(f"{_of(name)}`low` must be below `high`, got low={low}, high={high}")
    _check_resolved(low, high, log, step, name)
    if step is not None:
        if log:
            raise InvalidInput(f"{_of(name)}`step` and `log` cannot be combined, got step={step}")
        if not step > 0:
            raise InvalidInput(f"{_of(name)}`step` must be positive, got step={step}")
    return FloatDistribution(low, high, log=log, step=step)


def int_range(low: int, high: int, *, log: bool = False, step: int = 1) -> IntDistribution:
    """An integer parameter in [low, high]; `neurobo.Int`.

    Args:
        low: The smallest value.
        high: The largest value.
        log: Whether ratios matter, not differences; `low` must be at least 1.
        step: Only `low`, `low + step`, … are allowed.

    Returns:
        Optuna's IntDistribution.
    """
    _check_bounds(low, high, log)
    _check_counted(low, high, log)
    if low != int(low) or high != int(high):
        raise InvalidInput(f"`low` and `high` must be whole, got low={low}, high={high}")
    if low > high:
        raise InvalidInput(f"`low` must not be above `high`, got low={low}, high={high}")
    if step < 1 or step != int(step):
        raise InvalidInput(f"`step` must be a whole number of at least 1, got step={step}")
    if log and step != 1:
        raise InvalidInput(f"`step` and `log` cannot be combined, got step={step}")
    return IntDistribution(int(low), int(high), log=log, step=int(step))


def categorical(choices: Iterable[Any]) -> CategoricalDistribution:
    """A choice among values; `neurobo.Categorical`.

    Args:
        choices: The values: None, bool, int, float or str, all different.

    Returns:
        Optuna's CategoricalDistribution.
    """
    choices = tuple(choices)
    if not choices:
        raise InvalidInput("`choices` must not be empty, got none")
    for choice in choices:
        if choice is not None and not isinstance(choice, bool | int | float | str):
            raise InvalidInput(
                f"a choice must be None, bool, int, float or str, got {choice!r} "
                f"({type(choice).__name__})"
            )
    _check_different(choices)
    return CategoricalDistribution(choices)


@dataclass(frozen=True, init=False)
class Ordinal:
    """A choice among values that have an order, such as sizes or grades; `neurobo.Ordinal`.

    Neighbours are expected to give similar results, as with an integer; the steps between them
    count as equal. In the study it is a categorical parameter.

    Args:
        choices: The values in their order: None, bool, int, float or str.
    """

    distribution: CategoricalDistribution

    def __init__(self, choices: Iterable[Any]) -> None:
        object.__setattr__(self, "distribution", categorical(choices))

    def __repr__(self) -> str:
        return f"Ordinal({list(self.distribution.choices)})"


Ordinal.__module__ = "neurobo"


def distribution_of(name: str, given: Any) -> BaseDistribution:
    """What a user gave for the parameter `name`, checked."""
    if isinstance(given, Ordinal):
        return given.distribution
    if isinstance(given, BaseDistribution):
        check_distribution(name, given)
        return given
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) and len(given) == 2:
        try:
            low, high = (float(v) for v in given)
        except (TypeError, ValueError):
            raise InvalidInput(f"bounds of {name!r} must be two numbers, got {given!r}") from None
        return float_range(low, high, name=name)
    raise InvalidInput(
        f"parameter {name!r} must be (low, high), neurobo.Float, neurobo.Int, "
        f"neurobo.Categorical or neurobo.Ordinal, got {given!r}"
    )


def check_distribution(name: str, given: BaseDistribution) -> None:
    """Refuse what Optuna accepts as a distribution and no suggestion can be made for."""
    if isinstance(given, CategoricalDistribution):
        _check_different(given.choices, name)
    elif isinstance(given, FloatDistribution):
        if not (math.isfinite(given.low) and math.isfinite(given.high)):
            raise InvalidInput(f"bounds of {name!r} must be finite, got {given}")
        if not given.single():
            _check_resolved(given.low, given.high, given.log, given.step, name)
    elif isinstance(given, IntDistribution):
        _check_counted(given.low, given.high, given.log, name)


def _check_different(choices: Sequence[Any], name: str = "") -> None:
    """Python and Optuna take 1, 1.0 and True for the same choice."""
    if len(set(choices)) < len(choices):
        kinds = {type(choice) for choice in choices}
        hint = "; 1, 1.0 and True are equal" if len(kinds) > 1 else ""
        raise InvalidInput(
            f"{_of(name)}`choices` must be different from each other, got {list(choices)}{hint}"
        )


def _check_resolved(low: float, high: float, log: bool, step: float | None, name: str) -> None:
    """Refuse a range that floats cannot divide, and steps that they cannot count."""
    size = max(abs(low), abs(high))
    if log:
        narrow = math.log(high) - math.log(low) < FEWEST * 2.0**-52 * max(1.0, abs(math.log(size)))
    else:
        narrow = high / 2 - low / 2 < max(FEWEST * math.ulp(size) / 2, SMALLEST)
    if narrow:
        raise InvalidInput(
            f"{_of(name)}floats must be able to divide the range into {FEWEST} parts, got "
            f"low={low}, high={high}"
        )
    if step is not None and size / step > MOST_STEPS:
        raise InvalidInput(
            f"{_of(name)}`step` must be at least 1e-7 of the larger bound, so that floats can tell "
            f"the steps apart, got step={step} with low={low}, high={high}"
        )


def _check_counted(low: int, high: int, log: bool, name: str = "") -> None:
    """Refuse whole numbers that floats, or their logarithms, cannot tell apart."""
    most = 40 if log else 53
    if max(abs(low), abs(high)) > 2**most:
        raise InvalidInput(
            f"{_of(name)}whole numbers must be at most 2**{most} in size"
            f"{' in a log range' if log else ''}, got low={low}, high={high}"
        )


def has_value(distribution: BaseDistribution, value: Any) -> bool:
    """Whether Optuna takes the value for this parameter, be it in the range or not."""
    try:
        return math.isfinite(distribution.to_internal_repr(value))
    except (ValueError, TypeError, OverflowError):
        return False


def contains(distribution: BaseDistribution, value: Any) -> bool:
    """Whether a parameter of this distribution may have the value, as Optuna sees it."""
    if type(value) is float and type(distribution) is FloatDistribution and not distribution.step:
        return distribution.low <= value <= distribution.high  # at once, and False for NaN
    if not has_value(distribution, value):
        return False
    inside = distribution.to_internal_repr(value)
    if isinstance(distribution, CategoricalDistribution):
        return True  # one of the choices: others have no internal representation
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    if not low <= inside <= high:
        return False
    if isinstance(distribution, IntDistribution):
        return (inside - low) % distribution.step == 0
    return step is None or abs((inside - low) / step - round((inside - low) / step)) < 1e-8


def checked_values(
    distributions: Mapping[str, BaseDistribution],
    values: Mapping[str, Any],
    *,
    without: Collection[str] = (),
) -> dict[str, Any]:
    """Values that the user fixed for some of the parameters, as Optuna stores them."""
    known = [name for name in distributions if name not in without]
    found = {}
    for name, value in values.items():
        if name not in known:
            raise InvalidInput(
                f"a fixed parameter must be one of {known}, got {name!r}{did_you_mean(name, known)}"
            )
        d = distributions[name]
        if not contains(d, value):
            raise InvalidInput(f"the fixed value of {name!r} must lie in {d}, got {value!r}")
        found[name] = d.to_external_repr(d.to_internal_repr(value))
    return found


def only_value(distribution: BaseDistribution) -> Any:
    """That of a distribution with a single one."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[0]
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    return distribution.low


def _of(name: str) -> str:
    return f"{name}: " if name else ""


def _check_bounds(low: float, high: float, log: bool, name: str = "") -> None:
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidInput(
            f"{_of(name)}`low` and `high` must be finite, got low={low}, high={high}"
        )
    if log and low <= 0:
        raise InvalidInput(f"{_of(name)}a log range needs `low` above 0, got low={low}")
