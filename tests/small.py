"""Every registered algorithm with small networks: compilation and training take little time."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

import neurobo
from neurobo.algorithm import Algorithm
from neurobo.algorithm.registry import build

SMALL = {"width": 16, "members": 3}
"""For the options that an algorithm has; `members` of `auto` are names."""


def small(name: str) -> Algorithm:
    options = {field.name: field.type for field in fields(build(name))}  # type: ignore[arg-type]
    made: Any = {k: v for k, v in SMALL.items() if options.get(k) in ("int", int)}
    return build(name, **made)


WITH_A_LAW = "pinn-bo"
"""It has contract tests of its own."""
ALGORITHMS = {name: small(name) for name in neurobo.algorithms() if name != WITH_A_LAW}
EVERY_DAY = ("neural-greedy", "auto", "ntk-gp", "sto-bnts-linear")


def _some(names: tuple[str, ...]) -> list[Any]:
    slow = pytest.mark.slow
    return [n if n in names else pytest.param(n, marks=slow) for n in ALGORITHMS]


TWO_FAST = _some(EVERY_DAY[:2])
"""All algorithms, but only the first and the default every day."""
