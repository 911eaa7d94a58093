from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurobo.data.observations import BUCKETS, Data, bucket
from neurobo.data.scaling import standardise
from neurobo.data.trials import Trials
from neurobo.space.search_space import Space

SPACE = Space.of([(0, 1), (0, 1)])


def test_failed_and_non_finite_values_stay_out_of_the_fit_but_are_taken() -> None:
    points = [{"x0": i / 10, "x1": 0.5} for i in range(5)]
    trials = Trials(points, [1.0, math.nan, math.inf, -math.inf, 3.0], pending=[{"x0": 1, "x1": 1}])
    data = Data.of(SPACE, trials)
    assert data.n == 2
    np.testing.assert_allclose(data.y[:2], [-1, 1])
    np.testing.assert_allclose(data.x[:2, 0], [-1, -0.2])
    assert len(data.excluded) == 6
    assert len(Data.of(SPACE, trials.repeatable()).excluded) == 0


def test_rows_are_padded_to_few_sizes() -> None:
    sizes = {bucket(n) for n in range(1, 1025)}
    assert sizes == set(BUCKETS)
    assert all(bucket(n) >= n for n in range(1, 5000))
    assert bucket(1025) == 2048
    data = Data.pad(np.ones((3, 2)), np.ones(3))
    assert data.x.shape == (64, 2)
    assert data.mask.tolist() == [1] * 3 + [0] * 61
    assert not data.x[3:].any()


@settings(max_examples=300)
@given(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=40),
    st.floats(1e-3, 1e3),
    st.floats(-1e3, 1e3),
)
def test_standardising_forgets_units(y: list[int], a: float, b: float) -> None:
    values = np.array(y, dtype=float)
    z = standardise(values)
    np.testing.assert_allclose(standardise(a * values + b), z, atol=1e-7)
    if values.std() > 0:
        assert abs(z.mean()) < 1e-6
        assert abs(z.std() - 1) < 1e-6


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e308, 5e-324])
def test_any_scale_is_finite(scale: float) -> None:
    values = np.array([1.0, -1.0, 0.5, 0.25]) * scale
    z = standardise(values)
    assert np.all(np.isfinite(z))


@pytest.mark.parametrize("values", [[], [3.0], [2.0] * 50, [0.0, 0.0], [1e-320, 1e-320]])
def test_constant_and_empty_targets_become_zero(values: list[float]) -> None:
    z = standardise(np.array(values))
    assert z.tolist() == [0.0] * len(values)


def test_one_absurd_value_does_not_flatten_the_rest() -> None:
    values = np.append(np.linspace(0, 1, 50), 1e10)
    z = standardise(values)
    assert np.ptp(z[:50]) > 0.1  # it would be 1e-9 without compression
    assert np.all(np.diff(z) > 0)  # order is kept


def test_order_names_the_best_observation_first() -> None:
    data = Data.of(SPACE, Trials([{"x0": i / 4, "x1": 0} for i in range(4)], [3, 1, 2, 5]))
    assert data.order.tolist() == [1, 2, 0, 3]
