"""The history in the user's terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from neurobo.space.search_space import Params, Space


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

    encoded: tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "k d"]] | None = None
    """`params` and `pending` as a space encodes them, if somebody has done that already."""

    def encoded_in(self, space: Space) -> Trials:
        """The same history, whose points need not be encoded again in this space."""
        if self.encoded is not None:
            return self
        return replace(self, encoded=(space.encode(self.params), space.encode(self.pending)))

    def with_pending(self, space: Space, points: Sequence[Params]) -> Trials:
        """The history with more pending points."""
        found = replace(self, pending=[*self.pending, *points])
        if self.encoded is None:
            return found
        known, pending = self.encoded
        return replace(found, encoded=(known, np.concatenate([pending, space.encode(points)])))

    def repeatable(self) -> Trials:
        """The same history, whose points may be suggested again."""
        return replace(self, repeats=True)
