"""A history in any form that users have: a list of results, or an Optuna study."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from neurobo.data.trials import Trials
from neurobo.errors import InvalidInput
from neurobo.integrations.optuna.history import trials_of_study
from neurobo.space.search_space import Space


def is_study(history: Any) -> bool:
    """Whether a history is an Optuna study, or behaves like one."""
    return hasattr(history, "get_trials")


def trials_of(space: Space, history: Any, pending: Sequence[Any] = ()) -> Trials:
    """The trials of a history, and the points that are being evaluated besides."""
    if is_study(history):
        found = trials_of_study(history, space)
        return replace(found, pending=[*found.pending, *map(space.params, pending)])
    params, values, constraints = [], [], []
    for i, entry in enumerate(history):
        if not isinstance(entry, tuple | list) or len(entry) not in (2, 3):
            raise InvalidInput(
                "a history entry must be (params, value) or (params, value, constraints), got "
                f"{entry!r} at {i}"
            )
        point, value, *known = entry
        params.append(space.params(point))
        values.append(_number(value, "history value", i))
        constraints.append(_constraints(known[0] if known else {}, i))
    crashed = [not math.isfinite(value) for value in values]
    return Trials(params, values, [space.params(p) for p in pending], constraints, crashed)


def _constraints(known: Any, i: int) -> dict[str, float]:
    if not isinstance(known, Mapping) or not all(isinstance(name, str) for name in known):
        raise InvalidInput(f"constraints must be a dict by name, got {known!r} at {i}")
    found = {name: _number(c, f"constraint {name!r}", i) for name, c in known.items()}
    return {name: c for name, c in found.items() if math.isfinite(c)}  # what is not is not known


def _number(value: Any, what: str, i: int) -> float:
    if value is None:
        return float("nan")
    if not isinstance(value, str | bytes) and np.ndim(value) == 0:
        with contextlib.suppress(TypeError, ValueError):
            return float(value)
    raise InvalidInput(f"a {what} must be a number or None, got {value!r} at {i}")
