"""What an algorithm is, and the names users choose from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, dataclass_transform, runtime_checkable

from jax import Array

from neurobo.acquisition.score import Score
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput, check_choice, did_you_mean
from neurobo.search.trust_region import Region


class Algorithm(Protocol):
    """Fit the data, and say which score to minimise and where.

    An algorithm whose scores are independent draws may also have
    `scores(key, data, numbers) -> list[Score]`, which makes the first of a batch and as many more
    as do not depend on those before.
    """

    def score(self, key: Array, data: Data, number: int) -> Score:
        """A function of networks' inputs whose lowest point is suggestion `number`.

        `key` is the run's: what shall be new in each suggestion comes from it and the number.
        """
        ...

    def region(self, data: Data, number: int) -> Region | None:
        """Where to look for suggestion `number`; None: everywhere."""
        ...


@runtime_checkable
class Portfolio(Protocol):
    """An algorithm that leaves each suggestion to one of several members."""

    def member(self, data: Data, number: int) -> str:
        """Who makes suggestion `number`."""
        ...


@dataclasses.dataclass(frozen=True)
class Entry:
    make: Callable[..., Algorithm]
    """Called with the options that differ from the defaults."""
    summary: str


_REGISTRY: dict[str, Entry] = {}


def register(name: str, make: Callable[..., Algorithm], summary: str) -> None:
    _REGISTRY[name] = Entry(make, summary)


def algorithms() -> list[str]:
    """The names that `algorithm=` accepts."""
    return list(_REGISTRY)


def describe(name: str) -> str:
    """One line about an algorithm."""
    return _REGISTRY[name].summary


def build(name: str, **given: Any) -> Algorithm:
    """An algorithm from its name and options."""
    check_choice("algorithm", name, algorithms())
    return _REGISTRY[name].make(**given)


def resolve(algorithm: str | Algorithm) -> Algorithm:
    """An algorithm from its name, or the given one itself."""
    if isinstance(algorithm, str):
        return build(algorithm)
    if isinstance(algorithm, type):
        raise InvalidInput(
            f"algorithm must be a name or an algorithm object, got the class {algorithm.__name__}; "
            f"write {algorithm.__name__}()"
        )
    if not (hasattr(algorithm, "score") and hasattr(algorithm, "region")):
        raise InvalidInput(
            f"algorithm must be a name or an algorithm object, got {type(algorithm).__name__}"
        )
    return algorithm


def check_physics(algorithm: Algorithm, physics: Any) -> None:
    """Refuse laws for an algorithm that would ignore them, and one that needs a law without."""
    if physics is None and getattr(algorithm, "needs_physics", False):
        raise InvalidInput(
            "pinn-bo needs a law of the objective, physics=neurobo.PDE(residual), got none; the "
            "other algorithms work without"
        )
    if physics is not None and not hasattr(algorithm, "needs_physics"):
        raise InvalidInput(
            'physics must go with algorithm="auto" or "pinn-bo", which can use a law, got '
            f"{type(algorithm).__name__}"
        )


T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(cls: type[T]) -> type[T]:
    """Make a frozen dataclass whose constructor names unknown options and lists the known."""
    cls = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    names = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
    init = cls.__init__

    def checked(self: Any, **given: Any) -> None:
        unknown = sorted(given.keys() - set(names))
        if unknown:
            hint = did_you_mean(unknown[0], names)
            raise InvalidInput(
                f"options of {cls.__name__} must be among {names}, got {unknown}{hint}"
            )
        init(self, **given)

    checked.__wrapped__ = init  # type: ignore[attr-defined]  # keeps the signature for help()
    cls.__init__ = checked  # type: ignore[method-assign]
    return cls
