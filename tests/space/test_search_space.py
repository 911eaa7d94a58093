from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from scipy.optimize import Bounds
from space.strategies import categories, finite, floats, ints, spaces

import neurobo
from neurobo.errors import InvalidInput
from neurobo.space.distributions import contains
from neurobo.space.search_space import Space


def _random_params(space: Space, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Points made without the encoding under test."""
    found = []
    for _ in range(4):
        point: dict[str, Any] = {}
        for name, d in space.distributions.items():
            if d.single() and not isinstance(d, CategoricalDistribution):
                assert isinstance(d, FloatDistribution | IntDistribution)
                point[name] = d.low  # to Optuna, a range shorter than a step has one value
            elif isinstance(d, CategoricalDistribution):
                point[name] = d.choices[rng.integers(len(d.choices))]
            elif isinstance(d, IntDistribution):
                point[name] = d.low + d.step * int(rng.integers((d.high - d.low) // d.step + 1))
            elif isinstance(d, FloatDistribution) and d.step is not None:
                k = rng.integers(round((d.high - d.low) / d.step) + 1)
                point[name] = min(float(d.low + k * d.step), d.high)
            elif isinstance(d, FloatDistribution):
                point[name] = float(min(max(rng.uniform(d.low, d.high), d.low), d.high))
        found.append(point)
    return found


def _same(a: Any, b: Any, d: BaseDistribution) -> bool:
    if isinstance(d, FloatDistribution):
        if d.step is None:  # rounding of the encoding, relative to the range
            scale = abs(a) if d.log else (d.high - d.low) + abs(d.low)
            return bool(abs(a - b) <= 1e-12 * scale)
        return bool(abs(a - b) <= 1e-9 * d.step)
    return type(a) is type(b) and bool(a == b)


@given(
    st.one_of(floats(), ints(), categories),
    st.one_of(finite, st.integers(-50, 50), st.booleans(), st.none(), st.text(max_size=2)),
    st.integers(-3, 50),
)
def test_a_value_is_inside_if_optuna_says_so(d: BaseDistribution, value: Any, steps: int) -> None:
    near = [] if isinstance(d, CategoricalDistribution) else [d.low + steps * (d.step or 0.37)]  # type: ignore[attr-defined]
    for given_value in [value, *near, math.inf, math.nan]:
        try:
            expected = d._contains(d.to_internal_repr(given_value))
        except (ValueError, TypeError):
            expected = False
        assert contains(d, given_value) == expected


@settings(max_examples=400)
@given(spaces, st.integers(0, 2**32 - 1))
def test_decode_undoes_encode(space: Space, seed: int) -> None:
    points = _random_params(space, np.random.default_rng(seed))
    x = space.encode(points)
    assert x.shape == (len(points), space.dim)
    assert np.all(np.abs(x) <= 1)
    for point, row in zip(points, x, strict=True):
        back = space.decode(row)
        for name, d in space.distributions.items():
            assert _same(point[name], back[name], d), (d, point[name], back[name])


@settings(max_examples=150)
@given(spaces, st.integers(0, 2**32 - 1))
def test_every_way_to_make_a_point_gives_a_valid_one(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = [
        space.from_unit(rng.random((4, space.n_parameters))),
        space.snap(rng.uniform(-1.5, 1.5, (4, space.dim))),
    ]
    base = made[0]
    made.append(space.mutate(base, rng, np.full(len(base), 0.3), np.ones(len(base))))
    for x in made:
        np.testing.assert_allclose(space.snap(x), x, atol=1e-9)
        decoded = space.decode_all(x)
        assert repr(decoded) == repr([space.decode(row) for row in x])
        for params in decoded:
            assert space.contains(params), params
            assert all(type(v) in (float, int, str, bool, type(None)) for v in params.values())


def test_finite_spaces_are_counted_and_enumerated() -> None:
    space = Space(
        {
            "a": IntDistribution(2, 8, step=2),
            "b": CategoricalDistribution([True, None, "q"]),
            "c": FloatDistribution(0, 1, step=0.5),
            "d": IntDistribution(7, 7),
        }
    )
    assert space.size == 4 * 3 * 3
    points = [space.decode(row) for row in space.by_index(np.arange(36))]
    assert len({tuple(p.values()) for p in points}) == 36
    assert all(space.contains(p) for p in points)
    assert all(p["d"] == 7 for p in points)


def test_columns_are_linear_logarithmic_and_one_hot() -> None:
    space = Space.of(
        {
            "x": (-5.0, 10.0),
            "lr": neurobo.Float(1e-5, 1e-1, log=True),
            "n": neurobo.Int(1, 9),
            "act": neurobo.Categorical(["relu", "tanh"]),
        }
    )
    x = space.encode([{"x": 2.5, "lr": 1e-3, "n": 5, "act": "tanh"}])
    np.testing.assert_allclose(x, [[0, 0, 0, 0, 1]], atol=1e-12)
    assert space.size == math.inf
    assert space.continuous.tolist() == [True, True, False, False, False]


def test_extreme_ranges_stay_finite() -> None:
    space = Space.of({"x": (-1.7e308, 1.7e308), "y": neurobo.Float(1e-300, 1e300, log=True)})
    x = space.encode([{"x": 0.0, "y": 1.0}, {"x": 1.7e308, "y": 1e300}])
    np.testing.assert_allclose(x, [[0, 0], [1, 1]], atol=1e-9)
    assert space.decode(np.array([1.0, -1.0])) == {"x": 1.7e308, "y": 1e-300}


def test_names_of_optuna_distributions() -> None:
    assert isinstance(neurobo.Float(0.0, 1.0), FloatDistribution)
    assert isinstance(neurobo.Int(0, 1), IntDistribution)
    assert isinstance(neurobo.Categorical("ab"), CategoricalDistribution)


BAD: list[tuple[Any, str]] = [
    ({}, "at least one parameter, got none"),
    ([], "at least one parameter, got none"),
    ("abc", "got str"),
    (7, "got int"),
    ({"": (0.0, 1.0)}, "non-empty str, got ''"),
    ({3: (0.0, 1.0)}, "non-empty str, got 3"),
    ({"x": (3.0, 1.0)}, "`low` must be below `high`, got low=3.0, high=1.0"),
    ({"x": (1.0, 1.0)}, "`low` must be below `high`, got low=1.0, high=1.0"),
    ([(0, 1), (2, 2)], "x1: `low` must be below `high`, got low=2.0, high=2.0"),
    ({"x": (0.0, math.inf)}, "must be finite, got low=0.0, high=inf"),
    ({"x": (math.nan, 1.0)}, "must be finite, got low=nan"),
    ({"x": (0.0, 1.0, 2.0)}, "got (0.0, 1.0, 2.0)"),
    ({"x": ("a", "b")}, "must be two numbers, got ('a', 'b')"),
    ({"x": "relu"}, "got 'relu'"),
    ({"x": None}, "got None"),
]


@pytest.mark.parametrize(("space", "message"), BAD)
def test_bad_spaces_are_refused_with_rule_and_value(space: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Space.of(space)
    assert message in str(error.value)
    assert isinstance(error.value, neurobo.NeuroboError)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: neurobo.Float(3.0, 1.0), "`low` must be below `high`, got low=3.0, high=1.0"),
        (lambda: neurobo.Float(0.0, 1.0, log=True), "`low` above 0, got low=0.0"),
        (lambda: neurobo.Float(1.0, 2.0, log=True, step=0.1), "cannot be combined, got step=0.1"),
        (lambda: neurobo.Float(1.0, 2.0, step=-1.0), "must be positive, got step=-1.0"),
        (lambda: neurobo.Int(3, 1), "must not be above `high`, got low=3, high=1"),
        (lambda: neurobo.Int(-1, 4, log=True), "`low` above 0, got low=-1"),
        (lambda: neurobo.Int(0, 4, step=0), "at least 1, got step=0"),
        (lambda: neurobo.Int(1, 4, step=2, log=True), "cannot be combined, got step=2"),
        (lambda: neurobo.Categorical([]), "must not be empty, got none"),
        (lambda: neurobo.Categorical([1, 1]), "different from each other, got [1, 1]"),
        (lambda: neurobo.Categorical([[1]]), "got [1] (list)"),
        (lambda: neurobo.Categorical([1, True]), "got [1, True]; 1, 1.0 and True are equal"),
        (lambda: neurobo.Categorical([1, 1.0]), "got [1, 1.0]; 1, 1.0 and True are equal"),
        (lambda: neurobo.Categorical([0, False]), "got [0, False]; 1, 1.0 and True are equal"),
        (lambda: neurobo.Float(0.0, 5e-324), "floats must be able to divide the range"),
        (lambda: neurobo.Float(1.0, 1.0 + 2**-50), "floats must be able to divide the range"),
        (lambda: neurobo.Float(1.0, 1.0 + 2**-50, log=True), "able to divide the range"),
        (lambda: neurobo.Float(-1e9, 1e9, step=1e-3), "at least 1e-7 of the larger bound"),
        (
            lambda: neurobo.Int(0, 2**60),
            "at most 2**53 in size, got low=0, high=11529",
        ),
        (lambda: neurobo.Int(2**53 - 1, 2**53, log=True), "at most 2**40 in size in a log range"),
        (lambda: Space.of({"c": CategoricalDistribution([1, True])}), "c: `choices` must be"),
        (lambda: Space({"c": CategoricalDistribution([1, True])}), "c: `choices` must be"),
        (lambda: Space({"x": FloatDistribution(0.0, 5e-324)}), "x: floats must be able"),
        (lambda: Space({"n": IntDistribution(0, 2**60)}), "n: whole numbers must be at most 2**53"),
    ],
)
def test_bad_parameters_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({"x": 0.5}, "every parameter of the space ['n', 'x'], got ['x']"),
        ({"x": 2.0, "n": 1}, "got 2.0"),
        ({"x": 0.5, "n": 9}, "got 9"),
        ({"x": "a", "n": 1}, "got 'a'"),
        ([0.5, 1], "must be a dict"),
    ],
)
def test_points_outside_the_space_are_refused(point: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Space.of({"x": (0.0, 1.0), "n": neurobo.Int(1, 3)}).params(point)
    assert message in str(error.value)


def test_a_space_of_bounds_speaks_arrays() -> None:
    space = Space.of([(-5, 10), (0, 15)])
    params = space.params(np.array([1.0, 2.0]))
    assert params == {"x0": 1.0, "x1": 2.0}
    np.testing.assert_array_equal(space.point(params), [1.0, 2.0])
    with pytest.raises(InvalidInput, match="must have 2 coordinates, got 3"):
        space.params([1, 2, 3])
    with pytest.raises(InvalidInput, match="must be numbers or a dict, got 'ab'"):
        space.params("ab")


def test_bounds_of_scipy_are_a_list_of_bounds() -> None:
    space = Space.of(Bounds([0.0, -1.0], [1.0, 2.0]))
    assert space.as_array
    assert space.distributions == Space.of([(0.0, 1.0), (-1.0, 2.0)]).distributions
    assert Space.of(Bounds(0, [1, 2])).distributions == Space.of([(0, 1), (0, 2)]).distributions
    assert Space.of(Bounds(0, 1)).n_parameters == 1
    with pytest.raises(InvalidInput, match="x1: `low` and `high` must be finite"):
        Space.of(Bounds([0.0, -np.inf], [1.0, 2.0]))
