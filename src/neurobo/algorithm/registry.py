"""The names of algorithms that users choose from, and their options."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Collection
from typing import Any, TypeVar, dataclass_transform

from neurobo.algorithm.option_docs import descriptions, with_options
from neurobo.algorithm.protocols import Algorithm, SupportsPhysics
from neurobo.errors import InvalidInput, check_choice, did_you_mean


@dataclasses.dataclass(frozen=True)
class Entry:
    make: Callable[..., Algorithm]
    """Called with the options that differ from the defaults."""
    summary: str
    paper: Callable[..., Algorithm] | None = None
    """The same for the settings of its paper."""


_REGISTRY: dict[str, Entry] = {}


def register(
    name: str,
    make: Callable[..., Algorithm],
    summary: str,
    *,
    paper: Callable[..., Algorithm] | None = None,
) -> None:
    _REGISTRY[name] = Entry(make, summary, paper)


def algorithms() -> list[str]:
    """The names that `algorithm=` accepts.

    Returns:
        All registered names, `auto` among them; `neurobo algorithms` describes each in one line.
    """
    return list(_REGISTRY)


def describe(name: str) -> str:
    """One line about an algorithm."""
    return _REGISTRY[name].summary


def build(name: str, *, preset: str | None = None, **given: Any) -> Algorithm:
    """An algorithm from its name and options; `preset="paper"` begins with its paper's settings."""
    check_choice("algorithm", name, algorithms())
    entry = _REGISTRY[name]
    if preset is None:
        return entry.make(**given)
    check_choice("preset", preset, ("paper",))
    if entry.paper is None:
        known = [name for name, entry in _REGISTRY.items() if entry.paper is not None]
        raise InvalidInput(f"an algorithm with paper settings must be one of {known}, got {name!r}")
    return entry.paper(**given)


def resolve(algorithm: str | Algorithm) -> Algorithm:
    """An algorithm from its name, or the given one itself."""
    if isinstance(algorithm, str):
        return build(algorithm)
    if isinstance(algorithm, type):
        raise InvalidInput(
            f"algorithm must be a name or an algorithm object, got the class {algorithm.__name__}; "
            f"write {algorithm.__name__}()"
        )
    if not isinstance(algorithm, Algorithm):
        raise InvalidInput(
            f"algorithm must be a name or an algorithm object, got {type(algorithm).__name__}"
        )
    return algorithm


def check_physics(algorithm: Algorithm, physics: Any) -> None:
    """Refuse laws for an algorithm that would ignore them, and one that needs a law without."""
    usable = algorithm if isinstance(algorithm, SupportsPhysics) else None
    if physics is None and usable is not None and usable.requires_physics:
        raise InvalidInput(
            "pinn-bo needs a law of the objective, physics=neurobo.PDE(residual), got none; the "
            "other algorithms work without"
        )
    if physics is not None and usable is None:
        raise InvalidInput(
            'physics must go with algorithm="auto" or "pinn-bo", which can use a law, got '
            f"{type(algorithm).__name__}"
        )


def given_later(*, default: Any) -> Any:
    """A field that no user sets: what an algorithm gets to know besides the observations."""
    return dataclasses.field(default=default, repr=False, compare=False)


def set_gamma(algorithm: Any, words: Collection[str] = ()) -> None:
    """Check the option `gamma`, one of the words, a number or a pair (σ_w, σ_b), which a study file
    or a command line gives as a list."""
    gamma = algorithm.gamma
    if isinstance(gamma, str) and gamma in words:
        return
    pair = gamma if isinstance(gamma, list | tuple) else (gamma, gamma)
    known = len(pair) == 2 and all(type(g) in (int, float) and math.isfinite(g) for g in pair)
    if not (known and pair[0] > 0 and pair[1] >= 0 and (pair is gamma or gamma > 0)):
        allowed = "".join(f"{word!r}, " for word in words)
        raise InvalidInput(
            f"gamma must be {allowed}a number above 0 or a pair (σ_w, σ_b) with σ_w above 0 and "
            f"σ_b of at least 0, got {gamma!r}"
        )
    if pair is gamma:
        object.__setattr__(algorithm, "gamma", (float(pair[0]), float(pair[1])))


T = TypeVar("T")


@dataclass_transform(
    frozen_default=True,
    kw_only_default=True,
    field_specifiers=(dataclasses.field, given_later),
)
def options(cls: type[T]) -> type[T]:
    """Make a frozen dataclass whose constructor names unknown options and lists the known.

    Fields that are not shown (`given_later`) are not options. The string below a field describes
    it and becomes part of the class's docstring. `renamed` maps old names of options, which stay
    valid, to new ones.
    """
    cls = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    names, hidden = ([f.name for f in fields if f.repr is shown] for shown in (True, False))
    described = {**getattr(cls, "described", {}), **descriptions(cls)}
    cls.described = described  # type: ignore[attr-defined]  # for classes that inherit the options
    cls.__doc__ = with_options(cls.__doc__ or "", names, described)
    renamed: dict[str, str] = getattr(cls, "renamed", {})
    init = cls.__init__
    cls.__no_type_check__ = True  # type: ignore[attr-defined]  # the constructor refuses by itself

    def checked(self: Any, **given: Any) -> None:
        given = {renamed.get(name, name): value for name, value in given.items()}
        unknown = sorted(given.keys() - {*names, *hidden})
        if unknown:
            hint = did_you_mean(unknown[0], names)
            raise InvalidInput(
                f"options of {cls.__name__} must be among {names}, got {unknown}{hint}"
            )
        init(self, **given)

    signature = inspect.signature(init)  # for help(); that of `cls` would be the base class's
    shown = [p for p in signature.parameters.values() if p.name in names]
    cls.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    cls.__init__ = checked  # type: ignore[method-assign]
    return cls
