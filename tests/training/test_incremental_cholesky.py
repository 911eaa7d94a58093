"""A factor that grows row by row, against one computed at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import neurobo
from neurobo.training.incremental_cholesky import BLOCK, inverse_factor

RIDGE = 1e-3


def _kernel(a: Any, b: Any) -> Any:
    return np.exp(-np.sum((a[:, None] - b[None]) ** 2, axis=2))


def _points(n: int) -> Any:
    return np.random.default_rng(0).uniform(-1, 1, (n, 3))


def _reference(x: Any) -> Any:
    return np.linalg.inv(np.linalg.cholesky(_kernel(x, x) + RIDGE * np.eye(len(x))))


@pytest.fixture(autouse=True)
def _forget() -> None:
    neurobo.clear_caches()


@pytest.mark.parametrize("n", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 150])
def test_it_equals_the_inverse_of_the_whole_factor(n: int) -> None:
    x = _points(n)
    np.testing.assert_allclose(
        inverse_factor("k", _kernel, x, RIDGE), _reference(x), rtol=1e-8, atol=1e-8
    )


def test_a_growing_history_gives_the_same_bits_as_a_new_process() -> None:
    x = _points(150)
    for n in range(100, 151):
        grown = inverse_factor("k", _kernel, x[:n], RIDGE)
    neurobo.clear_caches()
    assert np.array_equal(grown, inverse_factor("k", _kernel, x, RIDGE))


def test_one_more_row_asks_for_one_row_of_the_kernel() -> None:
    x, asked = _points(100), []

    def counted(a: Any, b: Any) -> Any:
        asked.append(len(a))
        return _kernel(a, b)

    inverse_factor("k", counted, x[:-1], RIDGE)
    asked.clear()
    inverse_factor("k", counted, x, RIDGE)
    assert asked == [1]


def test_another_history_or_another_kernel_is_not_taken_for_the_same() -> None:
    x = _points(80)
    inverse_factor("k", _kernel, x, RIDGE)
    other = x.copy()
    other[3] += 0.5
    np.testing.assert_allclose(
        inverse_factor("k", _kernel, other, RIDGE), _reference(other), rtol=1e-8, atol=1e-8
    )
    shorter = inverse_factor("k", _kernel, other[:70], RIDGE)
    np.testing.assert_allclose(shorter, _reference(other[:70]), rtol=1e-8, atol=1e-8)
    twice = inverse_factor("2k", lambda a, b: 2 * _kernel(a, b), other, RIDGE)
    assert np.abs(twice - _reference(other)).max() > 0.1


def test_duplicates_do_no_harm() -> None:
    x = np.repeat(_points(40), 3, axis=0)
    found = inverse_factor("k", _kernel, x, 1e-9)
    assert np.isfinite(found).all()
    whole = _kernel(x, x) + 1e-9 * np.eye(len(x))
    np.testing.assert_allclose(found @ whole @ found.T, np.eye(len(x)), atol=1e-3)


class _Slow:
    """A name that lets other threads go first whenever it is looked up."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        time.sleep(1e-4)
        return self.number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Slow) and self.number == other.number


@pytest.fixture
def _often() -> Iterator[None]:
    """Threads take turns as often as possible."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("_often")
def test_threads_do_not_disturb_each_other() -> None:
    x = _points(20)
    expected = _reference(x)

    def worker(seed: int) -> None:
        for number in np.random.default_rng(seed).integers(0, 12, 40):
            found = inverse_factor(_Slow(int(number)), _kernel, x, RIDGE)
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(worker, range(8)))
