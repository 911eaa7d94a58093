"""Thompson sampling where no function is sampled, but a number at every point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from neurobo.surrogates.posterior import Posterior


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PointwiseSample:
    """x -> mean + sd z(x), where z is an independent normal number for every point.

    Its lowest value depends on how many points are looked at: no function that has one. The number
    comes from the bits of x, so that the same point gets the same number.
    """

    posterior: Posterior
    key: Array

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        mean, sd = self.posterior.mean_and_sd(x)
        bits = jax.lax.bitcast_convert_type(jax.lax.stop_gradient(x), jnp.uint32)
        words = bits.reshape(len(x), -1)
        names = jax.vmap(partial(_fold, self.key))(words)
        return mean + sd * jax.vmap(jax.random.normal)(names)


def _fold(key: Array, words: Array) -> Array:
    """A key for a row of words."""
    return jax.lax.fori_loop(0, len(words), lambda i, k: jax.random.fold_in(k, words[i]), key)
