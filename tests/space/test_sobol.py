"""Our Sobol points are SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc

from neurobo.space import sobol as module
from neurobo.space.sobol import sobol


@pytest.mark.parametrize(("dim", "count"), [(1, 1), (1, 8), (2, 16), (6, 1024), (53, 64), (250, 2)])
def test_points_are_those_of_scipy_to_the_last_bit(dim: int, count: int) -> None:
    ours, theirs = np.random.default_rng([dim, 3]), np.random.default_rng([dim, 3])
    for _ in range(2):  # the generator goes on in the same way
        expected = qmc.Sobol(dim, rng=theirs).random(count)
        assert np.array_equal(sobol(dim, count, ours), expected)
    assert ours.random() == theirs.random()


def test_skipped_points_are_those_of_scipy() -> None:
    engine = qmc.Sobol(5, rng=np.random.default_rng(1))
    expected = engine.fast_forward(256).random(272)
    assert np.array_equal(sobol(5, 272, np.random.default_rng(1), skip=256), expected)


def test_without_the_file_of_scipy_points_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [sobol(3, 8, np.random.default_rng(2), skip=skip) for skip in (0, 8)]
    monkeypatch.setattr(module, "_FILE", module._FILE.with_name("missing"))
    found = [sobol(3, 8, np.random.default_rng(2), skip=skip) for skip in (0, 8)]
    assert np.array_equal(found, expected)
