"""A member of `auto`: the middle of the box, once."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.algorithm.protocols import Decision
from neurobo.data.observations import Data
from neurobo.data.trials import Trials
from neurobo.space.search_space import Space

NEAR = 0.25
"""In every number; the box has half-width 1."""


def untried_middle(space: Space, trials: Trials) -> Float[np.ndarray, " columns"] | None:
    """The middle of all numbers' ranges (0 for categories), unless a point was tried near it or
    there are pools, conditions or fixed parameters."""
    numeric = space.numeric
    if not numeric.any() or space.pools or space.conditions or space.fixed:
        return None
    middle = np.where(numeric, space.snap(np.zeros((1, space.dim)))[0], 0.0)
    if space.feasible is not None:
        if space.feasible.centre is None or space.feasible.oracle is not None:
            return None  # a region with holes has no middle
        middle = space.feasible.put(middle[None], space.feasible.centre[None])[0]
    tried = space.encode([*trials.params, *trials.pending])
    away = np.max(np.abs(tried - middle), axis=1, where=numeric, initial=0.0)
    return None if np.any(away <= NEAR) else middle


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Distance:
    """x -> its squared distance from a point."""

    point: Float[Array, " d"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return jnp.sum((x - self.point) ** 2, axis=1)


@dataclass(frozen=True, eq=False)
class Middle:
    """The middle of the box. A design has no point near it in many dimensions, where the middle
    is nearer to most optima than any of its points."""

    point: Float[np.ndarray, " columns"]

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        return Decision(Distance(jax.device_put(self.point)))
