"""Values for some parameters from the command line, `--set NAME=VALUE`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from neurobo.errors import InvalidInput, did_you_mean
from neurobo.space.distributions import checked_values
from neurobo.space.search_space import Params, Space
from neurobo.studies.file.command import written


def settings(space: Space, given: Sequence[str]) -> Params:
    """The parameters that are fixed, checked."""
    found: Params = {}
    for text in given:
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign:
            raise InvalidInput(f"--set must be NAME=VALUE, got {text!r}")
        if name in found:
            raise InvalidInput(f"--set must name each parameter once, got {name!r} again")
        if name not in space.distributions:
            known = list(space.distributions)
            raise InvalidInput(
                f"--set must name one of {known}, got {name!r}{did_you_mean(name, known)}"
            )
        found[name] = _value(space.distributions[name], name, value.strip())
    return checked_values(space.distributions, found, without=space.pools)


def _value(distribution: BaseDistribution, name: str, text: str) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        for choice in distribution.choices:
            if text in (written(choice), str(choice)):
                return choice
        known = list(distribution.choices)
        raise InvalidInput(
            f"{name!r} must be one of {known}, got {text!r}{did_you_mean(text, known)}"
        )
    try:
        number = float(text)
    except ValueError:
        raise InvalidInput(f"{name!r} must be a number, got {text!r}") from None
    whole = isinstance(distribution, IntDistribution) and number.is_integer()
    return int(number) if whole else number
