"""The Cholesky factor of a matrix that grows by a row with each observation.

A new row costs n² instead of n³. What is computed depends on the rows alone and not on what was
computed before: whole blocks are factored at once, the rows after the last block one by one. So a
resumed run gets the same bits as one that was never interrupted; the cache only saves time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from jaxtyping import Float
from scipy.linalg.lapack import dpotrf, dtrtri

from neurobo.data.content_cache import CACHE, MISSING

BLOCK = 64
"""Rows between two factorisations from scratch."""

Kernel = Callable[[Float[np.ndarray, "a d"], Float[np.ndarray, "b d"]], Float[np.ndarray, "a b"]]


def inverse_factor(
    name: Hashable, kernel: Kernel, x: Float[np.ndarray, "n d"], ridge: float
) -> Float[np.ndarray, "n n"]:
    """L⁻¹, where L Lᵀ = K(x, x) + ridge I. `name` says which kernel and ridge these are."""
    n = len(x)
    whole = n - n % BLOCK
    key = "inverse_factor", name
    found = CACHE.get(key)
    seen, known = (x[:0], np.zeros((0, 0))) if found is MISSING else found
    if not whole <= len(seen) <= n or not np.array_equal(seen, x[: len(seen)]):
        seen, known = x[:whole], _from_scratch(kernel, x[:whole], ridge)
    for i in range(len(seen), n):
        known = with_row(known, kernel(x[i : i + 1], x[: i + 1])[0], ridge)
    CACHE.put(key, (x.copy(), known))
    return known


def _from_scratch(
    kernel: Kernel, x: Float[np.ndarray, "n d"], ridge: float
) -> Float[np.ndarray, "n n"]:
    if not len(x):
        return np.zeros((0, 0))
    factor, _ = dpotrf(kernel(x, x) + ridge * np.eye(len(x)), lower=1, clean=1)
    inverse, _ = dtrtri(factor, lower=1)
    return np.ascontiguousarray(inverse)


def with_row(
    known: Float[np.ndarray, "n n"], row: Float[np.ndarray, " n+1"], ridge: float
) -> Float[np.ndarray, "n+1 n+1"]:
    """L⁻¹ after one more row of the matrix, whose last entry is on the diagonal."""
    n = len(known)
    white = known @ row[:n]
    # Rounding may eat up a duplicate's share; the ridge is there in any case.
    left = np.sqrt(max(row[n] + ridge - white @ white, ridge / 2))
    grown = np.zeros((n + 1, n + 1))
    grown[:n, :n] = known
    grown[n, :n] = -(known.T @ white) / left
    grown[n, n] = 1 / left
    return grown
