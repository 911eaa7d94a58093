"""The runtime type checker of the tests: an int is welcome where a float is asked for.

To check a call takes longer than many a function itself, and to prepare a function inside another
one for it takes milliseconds. So a function is checked at its first calls in a file, and later
now and then. Every test file begins anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache, wraps
from types import CodeType, FunctionType
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
FIRST, THEN = 25, 50
"""Calls that are all checked; of those after them each fiftieth."""
_calls: Counter[CodeType] = Counter()


def begin_anew() -> None:
    """The next calls of all functions are first calls."""
    _calls.clear()


def check_shapes_and_types(modules: list[str]) -> None:
    """From their import on."""
    always = jaxtyping.jaxtyped

    def sometimes(**options: Any) -> Callable[[Any], Any]:
        def decorated(given: Any) -> Any:
            if isinstance(given, FunctionType):
                return at_some_calls(given, cache(lambda: always(**options)(given)))
            return always(**options)(given)

        return decorated

    jaxtyping.jaxtyped = sometimes  # type: ignore[assignment]  # the hook uses it by this name
    install_import_hook(modules, f"{__name__}.check")


def at_some_calls(
    function: FunctionType, checked: Callable[[], Callable[..., Any]]
) -> Callable[..., Any]:
    code = function.__code__

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        _calls[code] += 1
        if _calls[code] > FIRST and _calls[code] % THEN:
            return function(*args, **kwargs)
        return checked()(*args, **kwargs)

    return called
