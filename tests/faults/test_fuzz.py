"""Any space and any history: a suggestion inside the space, or an error that neurobo means.

Hypothesis reports the smallest example that it finds. Spaces have 1, 2 or 4 columns and histories
at most 6 points, so that few shapes are compiled: `make test-faults` makes 10,000 suggestions.
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

SUGGESTIONS = 10_000
"""Of `make test-faults`, over all algorithms."""
SPARE = 1.3
"""How many more spaces are tried: some are refused or exhausted."""
LONGEST = 120
"""Seconds of one suggestion, compilation included; more is a hang."""

finite = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e3, 1e3),
    st.sampled_from([0.0, -0.0, 5e-324, 2.2e-308, 1e-300, 1e300, 1.7e308, 1.0, 1 + 2**-52, 1e-12]),
)
steps = st.sampled_from([0.1, 0.25, 1.0, 1e-3, 1e-9, 7.5])
whole = st.one_of(st.integers(-1000, 1000), st.sampled_from([2**31, 2**53, 2**63, -(2**62)]))
choice = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.floats(allow_nan=False), st.text(max_size=3)
)
Make = Callable[[], BaseDistribution]

# Anything that somebody may write; most of it is refused.


@st.composite
def any_float(draw: st.DrawFn) -> Make:
    step = draw(st.one_of(st.none(), steps))
    return partial(neurobo.Float, draw(finite), draw(finite), log=draw(st.booleans()), step=step)


@st.composite
def any_int(draw: st.DrawFn) -> Make:
    log, step = draw(st.booleans()), draw(st.integers(1, 9))
    return partial(neurobo.Int, draw(whole), draw(whole), log=log, step=step)


# What neurobo accepts, up to the bounds of its rules.


@st.composite
def good_float(draw: st.DrawFn) -> Make:
    kind = draw(st.sampled_from(["linear", "log", "step"]))
    if kind == "log":
        low = 10.0 ** draw(st.floats(-300, 290))
        return partial(neurobo.Float, low, low * 10.0 ** draw(st.floats(1e-6, 15)), log=True)
    if kind == "step":
        step, least = draw(steps), draw(st.integers(-3_000_000, 3_000_000))
        low = least * step
        return partial(neurobo.Float, low, low + step * draw(st.integers(1, 500)), step=step)
    low = draw(st.one_of(st.floats(-1e307, 1e307), st.floats(-1e3, 1e3), st.just(0.0)))
    # From ranges that floats just divide to those that fill them.
    size = max(abs(low), 1e-280) * 10.0 ** draw(st.floats(-9, 9))
    return partial(neurobo.Float, low, min(low + size, 1.7e308))


@st.composite
def good_int(draw: st.DrawFn) -> Make:
    log = draw(st.booleans())
    low = draw(st.integers(1, 2**38)) if log else draw(st.integers(-(2**51), 2**51))
    low = draw(st.sampled_from([low, 1, 7]))
    size = draw(st.one_of(st.integers(1, 200), st.integers(1, 2**38)))
    step = 1 if log else min(draw(st.integers(1, 9)), size)
    return partial(neurobo.Int, low, low + size, log=log, step=step)


def categories(*, good: bool) -> st.SearchStrategy[Make]:
    """Of two choices, so that columns are easy to count; equal ones are refused."""
    by: Any = {"unique": True} if good else {"unique_by": repr}
    found = st.lists(choice, min_size=2, max_size=2, **by)
    return found.map(lambda given: partial(neurobo.Categorical, given))


@st.composite
def spaces(draw: st.DrawFn) -> list[Make]:
    """Parameters with 1, 2 or 4 columns together, if none of them has only one value. One space in
    ten has anything, the others have what is accepted."""
    left, made = draw(st.sampled_from([1, 2, 4, 4])), list[Make]()
    good = draw(st.integers(0, 9)) > 0
    number = st.one_of(good_float(), good_int()) if good else st.one_of(any_float(), any_int())
    while left:
        # Of a space that is a category alone, histories soon know every point.
        width = draw(st.sampled_from([1, 1, 2] if left > 2 or (made and left == 2) else [1]))
        made.append(draw(categories(good=good) if width == 2 else number))
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
    assert found["suggested"] > 40


@pytest.mark.faults
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_on_any_space(name: str) -> None:
    least = math.ceil(SUGGESTIONS / len(ALGORITHMS))
    found = _fuzz(name, math.ceil(SPARE * least))
    print(name, found)  # noqa: T201  # with pytest -s
    assert found["suggested"] >= least
