"""Parameters of a problem that exist only for some values of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neurobo.errors import InvalidInput
from neurobo.space.search_space import Params

When = Mapping[str, Mapping[str, Sequence[Any]]]
"""For each conditional parameter its parents, and for each of these the values that activate it.
Parents come earlier in the space and may be conditional themselves."""


def check_when(when: When, names: Iterable[str]) -> When:
    order = list(names)
    for child, parents in when.items():
        if child not in order or any(p not in order[: order.index(child)] for p in parents):
            raise InvalidInput(
                "a conditional parameter must come after its parents in the space, got "
                f"{child!r} with the parents {list(parents)} in {order}"
            )
    return when


def is_active(name: str, params: Mapping[str, Any], when: When) -> bool:
    """Whether a parameter exists, given the active ones among those before it."""
    parents = when.get(name, {}).items()
    return all(parent in params and params[parent] in values for parent, values in parents)


def active(params: Mapping[str, Any], when: When) -> Params:
    """The active ones of a value for every parameter."""
    found: Params = {}
    for name, value in params.items():
        if is_active(name, found, when):
            found[name] = value
    return found
