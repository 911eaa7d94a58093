"""Whole-number directions that keep equations: where integer parameters can go together."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

Row = list[Fraction]


def without(rows: Sequence[Row], columns: Sequence[int]) -> list[Row]:
    """What equations say about the other columns: Gaussian elimination of these."""
    left = [list(row) for row in rows]
    for j in columns:
        pivot = next((row for row in left if row[j]), None)
        if pivot is None:
            continue
        left.remove(pivot)
        left = [
            [a - b * row[j] / pivot[j] for a, b in zip(row, pivot, strict=True)] for row in left
        ]
    return [row for row in left if any(row)]


def kernel(rows: Sequence[Row], size: int) -> list[list[int]]:
    """A basis of all whole vectors v of this size with `row · v == 0` for every row.

    Euclid's algorithm on the columns of the identity: for each row, columns are subtracted from
    each other until at most one of them has a product that is not zero; that one leaves.
    """
    basis = [[int(i == j) for j in range(size)] for i in range(size)]
    for row in rows:
        scale = lcm(*(a.denominator for a in row)) if row else 1
        whole = [int(a * scale) for a in row]
        products = [sum(a * v for a, v in zip(whole, u, strict=True)) for u in basis]
        while True:
            nonzero = [i for i, p in enumerate(products) if p]
            if len(nonzero) < 2:
                break
            least = min(nonzero, key=lambda i: abs(products[i]))
            for i in nonzero:
                if i != least:
                    times = products[i] // products[least]
                    basis[i] = [a - times * b for a, b in zip(basis[i], basis[least], strict=True)]
                    products[i] -= times * products[least]
        basis = [u for u, p in zip(basis, products, strict=True) if not p]
    return basis
