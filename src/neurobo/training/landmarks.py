"""Some rows that stand for many.

A matrix K of all rows against each other costs n². Its columns C at m landmark rows cost n m, and
with M, the part of C among the landmarks, they give Nyström's approximation K ≈ C M⁻¹ Cᵀ = H Hᵀ.
The cost of what follows is n m², its memory n m.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Float, Int

DENSE = 768
"""Rows up to which whole matrices are used."""
RANK = 512
"""Landmarks beyond that."""


def choose(
    values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"], turn: int = 0
) -> Int[np.ndarray, " m"] | None:
    """Landmarks among the rows with a weight; None for so few rows that all are used.

    Half of them are those with the lowest values, because detail matters there, the others an even
    share of the rest, and other ones at each turn.
    """
    if len(values) <= DENSE:
        return None
    rows = np.flatnonzero(weights)
    order = rows[np.argsort(values[rows], kind="stable")]
    best, others = order[: RANK // 2], np.sort(order[RANK // 2 :])
    count = RANK - len(best)
    shift = turn * 0.618034 % 1.0  # the golden section visits all in the long run
    places = (np.arange(count) + shift) * len(others) / count
    return np.concatenate([best, others[places.astype(int)]])


class Sketch(NamedTuple):
    """K ≈ H Hᵀ."""

    half: Float[Array, "n m"]
    """H = C L⁻ᵀ."""
    factor: Float[Array, "m m"]
    """L, where L Lᵀ = M."""
    inner: Float[Array, "m m"]
    """Hᵀ H."""

    def solve(self, shift: Float[Array, ""], right: Float[Array, " n"]) -> Float[Array, " m"]:
        """a with the least ‖b - C a‖² + s aᵀ M a."""
        raised = self.inner + shift * jnp.eye(len(self.inner))
        found = cho_solve((jnp.linalg.cholesky(raised), True), self.half.T @ right)
        return solve_triangular(self.factor, found, lower=True, trans=1)


class Explained(NamedTuple):
    """What n rows with noise say, in terms of m landmarks."""

    root: Float[Array, "m m"]
    """R: of the variance K(x, x) the rows explain ‖R k(x)‖², with k(x) = K(x, landmarks)."""
    gain: Float[Array, "m n"]
    """From values at the rows to weights of k(x) in the mean."""
    missing: Float[Array, ""]
    """The mean share of K(x, x) at the rows that landmarks cannot express: an estimate of the
    error. It is counted as noise."""


def explained(
    columns: Float[Array, "n m"],
    diagonal: Float[Array, " n"],
    chosen: Int[Array, " m"],
    noise: Float[Array, ""],
) -> Explained:
    """The posterior given rows with this noise, up to what landmarks cannot express.

    With L Lᵀ = M, A = L⁻¹ Cᵀ/σ and B = I + A Aᵀ the variance explained is kᵀ L⁻ᵀ (I - B⁻¹) L⁻¹ k.
    A diagonal of zero marks a row that does not count.

    With A Aᵀ = U Λ Uᵀ, I - B⁻¹ = U Λ/(1 + Λ) Uᵀ. The difference itself is not computed: rounding
    makes it indefinite where a kernel has a low rank and the noise is small.
    """
    half, factor, inner = sketch(columns, chosen)
    count = jnp.maximum(jnp.sum(diagonal > 0), 1)
    missing = jnp.sum(jnp.maximum(diagonal - jnp.sum(half**2, axis=1), 0.0)) / count
    sd = jnp.sqrt(noise + missing)
    unit = jnp.eye(len(factor))
    values, vectors = jnp.linalg.eigh(inner / sd**2)
    values = jnp.maximum(values, 0.0)  # rounding
    turned = vectors.T @ solve_triangular(factor, unit, lower=True)  # Uᵀ L⁻¹
    root = jnp.sqrt(values / (1 + values))[:, None] * turned
    gain = (turned.T / (1 + values)) @ (vectors.T @ half.T) / sd**2
    return Explained(root, gain, missing / (jnp.sum(diagonal) / count))


def sketch(columns: Float[Array, "n m"], chosen: Int[Array, " m"]) -> Sketch:
    """From the columns of K at the chosen rows."""
    among = columns[chosen]
    floor = 1e-10 * jnp.max(jnp.diag(among)) + 1e-300
    factor = jnp.linalg.cholesky(among + floor * jnp.eye(len(among)))
    half = solve_triangular(factor, columns.T, lower=True).T
    return Sketch(half, factor, half.T @ half)
