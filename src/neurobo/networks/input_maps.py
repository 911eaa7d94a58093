"""What networks see of points: warped columns, and points on a sphere."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float


def warped(x: Float[Array, "n d"], strengths: Float[Array, " d"]) -> Float[Array, "n d"]:
    """Columns within [-1, 1], expanded at the lower end if their t is above 0, else at the upper.

        u = (1 + x)/2,   w = log(1 + (eᵗ - 1) u)/t

    A range of R to 1 gets its logarithm with t = log R. Seen from the other end, t is -t.
    """
    small = jnp.abs(strengths) < 1e-4
    t = jnp.where(small, 1.0, strengths)
    w = jnp.log1p(jnp.expm1(t) * (1 + x) / 2) / t
    return jnp.where(small, x + strengths * (1 - x**2) / 4, 2 * w - 1)  # exact, and its slope, at 0


def on_sphere(x: Float[Array, "n d"], scales: Float[Array, " d"]) -> Float[Array, "n d+1"]:
    """Scaled points of [-1, 1]^d with one more column that gives all of them the same length.

    The papers' theory assumes inputs of one length. Here it pays because the column is a bowl: with
    the others it makes bowls around any place nearly linear, so that networks see from points far
    outside how low they are, which in many dimensions is where all points are.
    """
    return jnp.concatenate([x * scales, lift(x, scales)[:, None]], axis=1)


def lift(x: Float[Array, "n d"], scales: Float[Array, " d"]) -> Float[Array, " n"]:
    """That column."""
    rest = jnp.sum(scales**2 * (1 - x**2), axis=1)
    # The floor keeps the root's slope finite in a corner.
    return jnp.sqrt(jnp.maximum(rest, 1e-9 * jnp.sum(scales**2)))
