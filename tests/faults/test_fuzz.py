"""Any space and any history: a suggestion inside the space, or an error that neurobo means.

Hypothesis reports the smallest example that it finds. Spaces have 1, 2 or 4 columns and histories
at most 6 points, so that few shapes are compiled: `make test-faults` tries 10,000 spaces.
"""

from __future__ import annotations

import math
import signal
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution
from small import ALGORITHMS

import neurobo
from neurobo.errors import NeuroboError, SpaceExhausted
from neurobo.integrations.history import trials_of
from neurobo.space.search_space import Space
from neurobo.suggestion import is_exhausted

SPACES = 10_000
"""Of `make test-faults`, over all algorithms."""
LONGEST = 120
"""Seconds of one suggestion, compilation included; more is a hang."""

anything = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e3, 1e3),
    st.sampled_from([0.0, -0.0, 5e-324, 2.2e-308, 1e-300, 1e300, 1.7e308, 1.0, 1 + 2**-52, 1e-12]),
)
steps = st.one_of(st.none(), st.sampled_from([0.1, 0.25, 1.0, 1e-3, 1e-9, 7.5]))
whole = st.one_of(st.integers(-1000, 1000), st.sampled_from([2**31, 2**53, 2**63, -(2**62)]))
choice = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.floats(allow_nan=False), st.text(max_size=3)
)
Make = Callable[[], BaseDistribution]


@st.composite
def floats(draw: st.DrawFn) -> Make:
    low, high = draw(anything), draw(anything)
    kind = draw(st.sampled_from(["linear", "log", "step", "any"]))
    if kind != "any":  # most of them are valid
        low, high = sorted((low, high))
    if kind == "log":
        low, high = sorted((abs(low) or 1.0, abs(high)))
    log, step = kind in ("log", "any"), draw(steps) if kind in ("step", "any") else None
    return partial(neurobo.Float, low, high, log=log, step=step)


@st.composite
def ints(draw: st.DrawFn) -> Make:
    low, high = sorted((draw(whole), draw(whole)))
    kind = draw(st.sampled_from(["linear", "log", "step", "any"]))
    if kind == "log":
        low, high = sorted((abs(low) or 1, abs(high) or 1))
    log, step = kind in ("log", "any"), draw(st.integers(1, 9)) if kind in ("step", "any") else 1
    return partial(neurobo.Int, low, high, log=log, step=step)


def categories(columns: int) -> st.SearchStrategy[Make]:
    found = st.lists(choice, min_size=columns, max_size=columns, unique_by=repr)
    return found.map(lambda given: partial(neurobo.Categorical, given))


@st.composite
def spaces(draw: st.DrawFn) -> list[Make]:
    """Parameters with 1, 2 or 4 columns together, if none of them has only one value."""
    left, made = draw(st.sampled_from([1, 2, 4])), []
    while left:
        width = draw(st.sampled_from([w for w in (1, 2) if w <= left]))
        made.append(draw(categories(2) if width == 2 else st.one_of(floats(), ints())))
        left -= width
    return made


units = st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), max_size=6)
values = st.one_of(
    st.none(), st.floats(), st.floats(-10, 10), st.sampled_from([1e300, -1e300, 1e-300, 0.0])
)


@contextmanager
def _within(seconds: int) -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise TimeoutError(f"no suggestion after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _try(name: str, makes: list[Make], rows: list[list[float]], told: list[Any], seed: int) -> str:
    """What came of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            given = {f"p{i}": make() for i, make in enumerate(makes)}
            space = Space.of(given)
        except NeuroboError:
            return "refused"
        history = []
        for row, value in zip(rows, told, strict=False):
            unit = [min(u, 1 - 1e-12) for u in row[: space.n_parameters]]
            (x,) = space.from_unit(np.array([unit]).reshape(1, len(unit)))
            history.append((space.decode(x), value))
        try:
            with _within(LONGEST):
                (point,) = neurobo.suggest(
                    given, history, algorithm=ALGORITHMS[name], seed=seed, n_startup_trials=2
                )
        except SpaceExhausted:
            assert is_exhausted(space, trials_of(space, history))
            return "exhausted"
    assert space.contains(point), point
    for key, distribution in given.items():
        assert distribution._contains(distribution.to_internal_repr(point[key])), (key, point)
    return "suggested"


def _fuzz(name: str, examples: int) -> dict[str, int]:
    found: dict[str, int] = {}

    # Other spaces for every algorithm, and the same ones in every run.
    @hypothesis.seed(zlib.crc32(name.encode()))
    @settings(
        derandomize=False, max_examples=examples, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(spaces(), units, st.lists(values, min_size=6, max_size=6), st.integers(0, 2**31))
    def one(makes: list[Make], rows: list[list[float]], told: list[Any], seed: int) -> None:
        came = _try(name, makes, rows, told, seed)
        found[came] = found.get(came, 0) + 1

    one()
    return found


def test_some_spaces() -> None:
    found = _fuzz("neural-greedy", 60)
    assert found["suggested"] > 10


@pytest.mark.faults
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_on_any_space(name: str) -> None:
    print(name, _fuzz(name, math.ceil(SPACES / len(ALGORITHMS))))  # noqa: T201  # with pytest -s
