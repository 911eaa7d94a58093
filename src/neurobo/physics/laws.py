"""The laws of a study: all equations, and the points where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from neurobo.data.content_cache import cached
from neurobo.errors import InvalidInput
from neurobo.physics.collocation import collocation_points
from neurobo.physics.law import Law, frame_of
from neurobo.physics.law_check import checked_law
from neurobo.physics.pde import PDE
from neurobo.space.encoders import Matrix
from neurobo.space.search_space import Space

Physics = PDE | Sequence[PDE]
SHARE, FEW = (256, 64, 1024), (128, 16, 384)
"""Rows that laws share which do not say how many points they want, and rows that the evidence looks
at: the least, for each column, and the most."""
LEAST = 8
"""Points that each of them gets at least."""


@dataclass(frozen=True, eq=False)
class Laws:
    """All laws, and the points where they are asked for."""

    space: Space
    laws: tuple[Law, ...]
    inputs: tuple[Matrix, ...]
    """For each law, what networks see of its points."""
    sign: float
    """-1 if the objective is maximised: the values fitted are its negatives."""

    @property
    def affine(self) -> bool:
        return all(law.affine for law in self.laws)

    @property
    def rows(self) -> int:
        """Equations at points."""
        pairs = zip(self.laws, self.inputs, strict=True)
        return sum(law.equations * len(x) for law, x in pairs)

    @property
    def moving(self) -> bool:
        """Whether some points are others in each suggestion."""
        return any(law.pde.refresh for law in self.laws)

    @cached_property
    def few(self) -> Laws:
        """With less points: enough to judge them by."""
        equations = sum(law.equations for law in self.laws)
        share = max(_rows(FEW, self.space) // equations, 2)
        return replace(self, inputs=tuple(x[:share] for x in self.inputs))

    def points(self, i: int) -> tuple[Float[np.ndarray, "m k"], Float[np.ndarray, "m d"]]:
        """The points of law i in its own coordinates, and the other columns."""
        return self.laws[i].frame.decode(self.inputs[i]), self.inputs[i]

    def at(self, number: int, best: Float[np.ndarray, " d"] | None) -> Laws:
        """With the points for suggestion `number`, where they are not always the same."""
        if not any(law.pde.refresh or law.pde.near_best for law in self.laws):
            return self
        inputs = tuple(
            collocation_points(
                law, self.space, len(x),
                seed=number if law.pde.refresh else 0,
                best=best if law.pde.near_best else None,
            )
            for law, x in zip(self.laws, self.inputs, strict=True)
        )  # fmt: skip
        return replace(self, inputs=inputs)


def bind(physics: object, space: Space, *, sign: float = 1.0, ordered: bool = True) -> Laws:
    """Laws for a space, after all checks. The same for the same arguments: what is computed for
    them can be kept. `ordered` says whether the order of the parameters is the user's."""
    laws = (physics,) if isinstance(physics, PDE) else physics
    if not isinstance(laws, list | tuple) or not laws:
        raise InvalidInput(
            f"physics must be a neurobo.PDE or a list of them, got {type(physics).__name__}"
        )
    for law in laws:
        if not isinstance(law, PDE):
            raise InvalidInput(f"a law must be a neurobo.PDE, got {type(law).__name__}")
    return _bind(tuple(laws), _Same(space), sign, ordered)


class _Same:
    """A space that equals another one if all is the same that matters here."""

    def __init__(self, space: Space) -> None:
        pools = tuple((name, id(pool)) for name, pool in space.pools.items())
        conditions = tuple(space.conditions.requirements.items())
        self.space = space
        self.about = tuple(space.distributions.items()), pools, conditions

    def __hash__(self) -> int:
        return hash(self.about)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.about == other.about


@cached
def _bind(laws: tuple[PDE, ...], same: _Same, sign: float, ordered: bool) -> Laws:
    space = same.space
    checked = tuple(checked_law(pde, frame_of(pde, space), ordered) for pde in laws)
    without = sum(
        law.equations for law in checked if law.pde.n_points is None and law.pde.points is None
    )
    inputs = []
    for law in checked:
        size = law.pde.n_points or max(_rows(SHARE, space) // max(without, 1), LEAST)
        inputs.append(collocation_points(law, space, size))
    return Laws(space, checked, tuple(inputs), sign)


def _rows(limits: tuple[int, int, int], space: Space) -> int:
    least, each, most = limits
    return int(np.clip(each * len(space.movable), least, most))
