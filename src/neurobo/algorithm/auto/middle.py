"""A member of `auto`: the middle of the box, once."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from neurobo.acquisition.score import Score
from neurobo.data.observations import Data
from neurobo.search.trust_region import Region


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Distance:
    """x -> its squared distance from a point."""

    point: Float[Array, " d"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return jnp.sum((x - self.point) ** 2, axis=1)


class Middle:
    """The middle of the box. A design has no point near it in many dimensions, where the middle
    is nearer to most optima than any of its points."""

    def score(self, key: Array, data: Data, number: int) -> Score:
        assert data.middle is not None
        return Distance(jnp.asarray(data.middle))

    def region(self, data: Data, number: int) -> Region | None:
        return None
