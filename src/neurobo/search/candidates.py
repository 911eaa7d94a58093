"""Where a search begins: Sobol points of a box, and perturbations of the best observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from neurobo.data.observations import Data
from neurobo.search.feasible_points import local_points, mutated_points, spread_points
from neurobo.search.scoring import CHUNK
from neurobo.search.trust_region import Region
from neurobo.space.encoders import Matrix
from neurobo.space.search_space import Space
from neurobo.space.sobol import sobol


@dataclass(frozen=True)
class Box:
    """The part of [-1, 1]^d to search; smaller than the whole inside a trust region."""

    low: Float[np.ndarray, " columns"]
    high: Float[np.ndarray, " columns"]
    centre: Float[np.ndarray, " columns"] | None = None
    """Of a trust region."""

    @staticmethod
    def of(space: Space, data: Data, region: Region | None) -> Box:
        whole = Box(-np.ones(space.dim), np.ones(space.dim))
        if region is None:
            return whole
        centre, radius = data.points[region.row], region.radius
        if space.feasible is not None and not space.feasible.contains(centre[None])[0]:
            return whole  # an observation from before the constraints
        # Categories stay free: a region of one-hot columns has no meaning. So do columns that are
        # inactive at the centre, whose 0 is no value.
        local = space.numeric & space.active_columns(centre[None])[0]
        return Box(
            np.where(local, np.maximum(centre - radius, -1.0), whole.low),
            np.where(local, np.minimum(centre + radius, 1.0), whole.high),
            centre,
        )

    def squeeze(self, x: Matrix) -> Matrix:
        """Map points of the whole box into this one."""
        return self.low + (x + 1) / 2 * (self.high - self.low)

    def holds(self, space: Space, x: Matrix) -> Bool[np.ndarray, " n"]:
        """Whether the active columns of points are inside, up to rounding."""
        inside = (x >= self.low - 1e-9) & (x <= self.high + 1e-9)
        return np.all(inside | ~space.active_columns(x), axis=1)

    def clip(self, x: Matrix) -> Matrix:
        return np.clip(x, self.low, self.high)


def sobol_points(space: Space, box: Box, rng: np.random.Generator, count: int) -> Matrix:
    """Points of the box; constrained columns are uniform where the constraints allow them."""
    whole = 1 << (count - 1).bit_length()  # Sobol points are even only in powers of 2
    unit = sobol(space.n_parameters, whole, rng)[:count]
    points = box.squeeze(space.with_inactive(unit))
    return space.snap(points) if space.feasible is None else _allowed(space, box, points, rng)


def starting_points(space: Space, data: Data, box: Box, rng: np.random.Generator) -> Matrix:
    """CHUNK points of the box, and as many near the best observations, if there are any."""
    everywhere = sobol_points(space, box, rng, CHUNK)
    if data.n == 0:
        return everywhere
    best = data.points[data.order[:8]]
    parents = best[rng.integers(len(best), size=CHUNK)]
    radius = 10 ** rng.uniform(-3, -0.3, CHUNK)
    rate = np.minimum(1.0, 8 / space.n_active(parents))
    if space.feasible is None:
        near = space.snap(box.clip(space.mutate(parents, rng, radius, rate)))
    else:
        inside = box.holds(space, parents) & space.feasible.contains(parents)
        parents = np.where(inside[:, None], parents, everywhere)
        near = mutated_points(space, parents, rng, radius, rate, box.low, box.high)
    return np.concatenate([everywhere, near])


def _allowed(space: Space, box: Box, base: Matrix, rng: np.random.Generator) -> Matrix:
    """Points of the box that known input constraints allow; other columns as in `base`."""
    if box.centre is None:
        return spread_points(space, len(base), rng, base=base)
    return local_points(space, box.centre, box.low, box.high, base, rng)
