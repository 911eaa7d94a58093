"""Every registered algorithm with small networks: compilation and training take little time."""

from __future__ import annotations

import pytest

import neurobo
from neurobo.algorithms import Algorithm
from neurobo.algorithms.base import build

_OPTIONS = {
    "auto": {},
    "ntk-gp": {},
    "deep-ensemble": {"width": 16, "members": 3},
}


def small(name: str) -> Algorithm:
    return build(name, **_OPTIONS.get(name, {"width": 16}))


ALGORITHMS = {name: small(name) for name in neurobo.algorithms()}
EVERY_DAY = ("neural-greedy", "ntk-gp", "sto-bnts-linear")
SOME_FAST = [
    name if name in EVERY_DAY else pytest.param(name, marks=pytest.mark.slow) for name in ALGORITHMS
]
"""All algorithms, but few of them every day."""
