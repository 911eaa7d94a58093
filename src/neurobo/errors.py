"""Everything neurobo raises on purpose, and the checks of arguments that raise it.

Messages say the rule, then what was given.
"""

import difflib
import math
import secrets
from collections.abc import Collection, Iterable
from importlib import import_module
from numbers import Integral
from types import ModuleType
from typing import Any


class NeuroboError(Exception):
    """Root of all errors raised by neurobo."""


class InvalidInput(NeuroboError, ValueError):
    """An argument breaks a rule; raised before any heavy work."""


class SpaceExhausted(NeuroboError):
    """Every point of a finite search space is evaluated or pending; raised by `suggest`."""


class EvaluationFailed(NeuroboError):
    """A run of `minimize` stopped because its evaluations fail.

    Args:
        message: The reason, with the traceback of the last failure.
        study: The Optuna study with the results so far, also an attribute of the error.
    """

    def __init__(self, message: str, study: Any = None) -> None:
        super().__init__(message)
        self.study = study


class MissingPackage(NeuroboError):
    """An optional package is not installed."""


class NeuroboWarning(UserWarning):
    """Something the user should know; the work goes on."""


def did_you_mean(word: Any, choices: Iterable[Any]) -> str:
    """The end of a message about an unknown word: the known one it resembles, or nothing."""
    known = {str(choice).lower(): choice for choice in choices}
    near = difflib.get_close_matches(str(word).lower(), known, n=1)
    return f"; did you mean {known[near[0]]!r}?" if near else ""


def short_repr(value: Any, most: int = 200) -> str:
    """The beginning of a value's repr, which may be long, or fail."""
    try:
        text = repr(value)
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= most else text[:most] + " …"


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    unless: Collection[Any] = (),
) -> None:
    """Refuse anything but a finite number above `above` or at least `least`, or one of `unless`."""
    if value in unless:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and math.isfinite(value):
        if above is not None and value > above:
            return
        if least is not None and value >= least:
            return
    limit = f"above {above}" if above is not None else f"of at least {least}"
    raise InvalidInput(f"{name} must be a finite number {limit}, got {value!r}")


def check_flag(name: str, value: Any) -> bool:
    """Refuse anything but true or false."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} must be True or False, got {value!r}")
    return value


def check_choice(name: str, value: Any, choices: Collection[Any]) -> None:
    """Refuse anything but one of the choices."""
    if value not in choices:
        hint = did_you_mean(value, choices)
        raise InvalidInput(f"{name} must be one of {list(choices)}, got {value!r}{hint}")


def check_count(name: str, value: Any, *, least: int = 1) -> None:
    """Refuse anything but a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_seed(seed: Any) -> int:
    """The given seed, or a fresh one if it is None."""
    if seed is None:
        return secrets.randbits(32)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= int(seed) < 2**63:
        raise InvalidInput(f"seed must be a whole number from 0 to 2**63 - 1, got {seed!r}")
    return int(seed)


def require(package: str, *, extra: str = "bench") -> ModuleType:
    """Import an optional package, or say what to install."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingPackage(
            f"this needs the package {package!r}; install the extra: "
            f"pip install 'neurobo[{extra}]' (it could not be imported: {error})"
        ) from error
