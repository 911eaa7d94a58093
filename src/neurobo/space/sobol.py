"""Scrambled Sobol points: those of `scipy.stats.qmc.Sobol`, to the last bit, without its package.

Importing `scipy.stats` takes a third of a second, a fifth of all that a process needs before its
first suggestion. The direction numbers of Joe and Kuo (2008) are read from SciPy's file.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy
from jaxtyping import Float, UInt

BITS = 30
LARGEST = 21201
"""Dimensions for which direction numbers are known."""
_FILE = Path(scipy.__file__).parent / "stats" / "_sobol_direction_numbers.npz"


def sobol(
    dim: int, count: int, rng: np.random.Generator, *, skip: int = 0
) -> Float[np.ndarray, "count dim"]:
    """Points of the unit cube, after the first `skip` of the sequence that `rng` scrambles."""
    if not _FILE.exists():  # another SciPy
        from scipy.stats import qmc

        made = qmc.Sobol(dim, rng=rng)
        if skip:  # it cannot skip zero points
            made.fast_forward(skip)
        return np.asarray(made.random(1 << (count - 1).bit_length())[:count])
    shift, directions = _scrambled(dim, rng.spawn(1)[0])
    index = np.arange(skip, skip + count)
    gray = index ^ (index >> 1)  # point i+1 differs from point i by one direction
    points = np.repeat(shift[None], count, axis=0)
    for bit in range(max((skip + count - 1).bit_length(), 1)):
        points[(gray >> bit & 1).astype(bool)] ^= directions[:, bit]
    return points * 2.0**-BITS


def _scrambled(
    dim: int, rng: np.random.Generator
) -> tuple[UInt[np.ndarray, " dim"], UInt[np.ndarray, "dim bits"]]:
    """A random shift, and directions times random triangular matrices of bits (Matousek, 1998)."""
    powers = 2 ** np.arange(BITS, dtype=np.uint32)
    shift = rng.integers(2, size=(dim, BITS), dtype=np.uint32) @ powers
    lower = np.tril(rng.integers(2, size=(dim, BITS, BITS), dtype=np.uint32))
    lower[:, np.arange(BITS), np.arange(BITS)] = 1
    # Over the field of two elements, the most significant bit first.
    bits = _directions(dim)[:, :, None] >> np.arange(BITS - 1, -1, -1, dtype=np.uint32) & 1
    products = np.matmul(bits.astype(float), lower.swapaxes(1, 2).astype(float))
    return shift, (products.astype(np.uint32) & 1) @ powers[::-1]


@lru_cache(maxsize=4)
def _directions(dim: int) -> UInt[np.ndarray, "dim bits"]:
    with np.load(_FILE) as file:
        polynomials, first = file["poly"][:dim].tolist(), file["vinit"][:dim].tolist()
    found = np.ones((dim, BITS), dtype=np.uint32)
    for d in range(1, dim):
        polynomial, row = polynomials[d], first[d]
        degree = polynomial.bit_length() - 1
        row = row[:degree]
        for j in range(degree, BITS):
            new = row[j - degree]
            for k in range(degree):
                if polynomial >> (degree - 1 - k) & 1:
                    new ^= row[j - k - 1] << (k + 1)
            row.append(new)
        found[d] = row[:BITS]
    return found << np.arange(BITS - 1, -1, -1, dtype=np.uint32)
