"""The history in the user's terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from neurobo.space.search_space import Params


@dataclass(frozen=True)
class Trials:
    """Evaluated and pending points. A failed evaluation has the value nan."""

    params: Sequence[Mapping[str, Any]]
    values: Sequence[float]
    pending: Sequence[Mapping[str, Any]] = ()
    constraints: Sequence[Mapping[str, float]] = ()
    """Of each point by name, as far as they are known; none at all, or one entry a point."""
    crashed: Sequence[bool] = ()
    """Whether the evaluation of each point failed because of the point; needed only to learn from
    failures."""
    members: Sequence[str] = ()
    """Which member of a portfolio proposed each point, "" if unknown; none at all, or one entry a
    point."""
    pruned: Sequence[bool] = ()
    """Whether the evaluation of each point was given up early, so that its value is a guess; none
    at all, or one entry a point."""
    repeats: bool = False
    """Whether a point may be suggested again."""

    def with_pending(self, point: Params) -> Trials:
        return replace(self, pending=[*self.pending, point])

    def repeatable(self) -> Trials:
        """The same history, whose points may be suggested again."""
        return replace(self, repeats=True)
