"""Numbers and lists as a report's reader wants them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

SIGNS = {1: "▲", -1: "▼", 0: "·"}


def number(value: float, digits: int = 3) -> str:
    if math.isnan(value):
        return ""
    return "none feasible" if math.isinf(value) else f"{value:.{digits}g}"


def p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def count(things: Sequence[Any], noun: str) -> str:
    return f"{len(things)} {noun}{'s' * (len(things) != 1)}"


def is_or_are(things: Sequence[Any]) -> str:
    return "is" if len(things) == 1 else "are"


def span(numbers: Sequence[int]) -> str:
    first, last = numbers[0], numbers[-1]
    return str(first) if first == last else f"{first} to {last}"


def code(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def few(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def short(error: str, most: int = 300) -> str:
    return (error if len(error) <= most else error[:most] + " …") or "no values"


def facts(found: Sequence[Mapping[str, Any]]) -> str:
    """Every key with all its values."""
    values: dict[str, dict[str, None]] = {}
    for one in found:
        for key, value in one.items():
            values.setdefault(key, {})[str(value)] = None
    return ", ".join(f"{key} {' / '.join(values[key])}" for key in sorted(values)) or "not recorded"
