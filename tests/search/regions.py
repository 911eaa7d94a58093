"""Spaces with known input constraints that several tests use."""

from __future__ import annotations

from typing import Any

import numpy as np

import neurobo
from neurobo.space.search_space import Space


def parts(n: int) -> dict[str, Any]:
    return {f"p{i}": (0.0, 1.0) for i in range(n)}


def total(n: int) -> str:
    return " + ".join(parts(n)) + " == 1"


def random_rows(n: int, rows: int) -> list[str]:
    """Random inequalities around the middle."""
    a = np.random.default_rng(0).normal(size=(rows, n)).round(3)
    texts = [" + ".join(f"({c!r}) * p{i}" for i, c in enumerate(row.tolist())) for row in a]
    return [f"{text} <= {float(row.sum() / 2 + 0.2)!r}" for text, row in zip(texts, a, strict=True)]


WHOLE = neurobo.Int(0, 20)
REGIONS: dict[str, tuple[Any, Any]] = {
    "mixture of 3": (parts(3), [total(3)]),
    "mixture of 8": (parts(8), [total(8)]),
    "mixture of 30": (parts(30), [total(30)]),
    "12 rows in 20-D": (parts(20), random_rows(20, 12)),
    "3 of 8": (parts(8), [total(8), neurobo.AtMost(3, list(parts(8)))]),
    "thin": (parts(2), ["1 <= p0 + p1 <= 1.000001"]),
    "whole": (dict.fromkeys("abc", WHOLE), ["3 * a + 2 * b + c == 24", "a <= b + 2"]),
    "whole and continuous": ({"n": WHOLE, "x": (0.0, 1.0), "y": (0.0, 3.0)}, ["n + x + y == 5.5"]),
    "2 of 6 whole": (
        dict.fromkeys("abcdef", WHOLE),
        ["a + b + c + d + e + f == 20", neurobo.AtMost(2, list("abcdef"))],
    ),
    "steps": (
        dict.fromkeys("abc", neurobo.Float(0, 1, step=0.1)),
        ["a + b + c == 1"],
    ),
    "unequal weights, 2 of 4": (
        parts(4) | {"t": (0.0, 9.0)},
        ["p0 + p1 + p2 + p3 == 1", "p0 + 2 * p1 + 3 * p2 + 4 * p3 + t == 5",
         neurobo.AtMost(2, list(parts(4)))],
    ),
    "logarithmic": (
        {"r": neurobo.Float(1e-5, 1e-1, log=True), "b": (0.0, 1.0)},
        ["10 * r + b == 0.5"],
    ),
    "callable": (parts(3), [total(3), lambda p: p["p0"] ** 2 + p["p1"] ** 2 - 0.3]),
    "thin callable": (parts(2), [lambda p: abs(p["p0"] ** 2 + p["p1"] - 1) - 1e-6]),
    "callable on categories": (
        parts(2) | {"k": neurobo.Categorical(["u", "v", "w"])},
        [lambda p: p["p0"] + p["p1"] - (1.0 if p["k"] == "u" else 0.1)],
    ),
}  # fmt: skip


def region(name: str) -> Space:
    return Space.of(*REGIONS[name])


def outside(space: Space, x: np.ndarray) -> list[str]:
    """The constraints that encoded points break."""
    assert space.where is not None
    return [broken for row in x if (broken := space.where.broken(space.decode(row)))]
