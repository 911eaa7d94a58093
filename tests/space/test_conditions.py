"""Conditional parameters in the encoding: what is inactive takes no part."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from space.strategies import conditional_spaces

import neurobo
from neurobo.errors import InvalidInput
from neurobo.search.neighbours import neighbours
from neurobo.space.search_space import Space

TREE: Any = {
    "gamma": neurobo.Conditional(neurobo.Float(1e-4, 1.0, log=True), when={"kernel": ["rbf"]}),
    "kernel": neurobo.Conditional(
        neurobo.Categorical(["rbf", "linear", "poly"]), when={"model": ["svm"]}
    ),
    "model": neurobo.Categorical(["svm", "forest", "net"]),
    "layers": neurobo.Conditional(neurobo.Int(1, 4), when={"model": ["net"]}),
    "width2": neurobo.Conditional(neurobo.Int(8, 64), when={"layers": (2, 4)}),
    "x": (0.0, 1.0),
}
SVM = {"gamma": 0.01, "kernel": "rbf", "model": "svm", "x": 0.5}
NET = {"model": "net", "layers": 3, "width2": 20, "x": 0.5}


def test_trials_that_differ_only_in_an_inactive_value_have_the_same_encoding() -> None:
    space = Space.of(TREE)
    points: list[dict[str, Any]] = [
        {"model": "forest", "x": 0.3},
        {"model": "forest", "x": 0.3, "gamma": 0.5, "kernel": "rbf"},
        {"model": "forest", "x": 0.3, "gamma": 0.001, "kernel": "linear", "layers": 4},
        {"model": "forest", "x": 0.3, "width2": 64, "layers": None},
    ]
    x = space.encode(points)
    np.testing.assert_array_equal(x, np.tile(x[0], (4, 1)))
    np.testing.assert_array_equal(space.inputs(x), np.tile(space.inputs(x)[0], (4, 1)))
    assert all(space.params(p) == {"model": "forest", "x": 0.3} for p in points)


def test_only_active_parameters_are_decoded() -> None:
    space = Space.of(TREE)
    for point in (SVM, NET, {"model": "forest", "x": 0.5}, {**NET, "layers": 1, "width2": 9}):
        active = dict(point)
        if point.get("layers") == 1:
            del active["width2"]
        back = space.decode(space.encode([point])[0])
        assert back.keys() == active.keys()
        for name, value in active.items():
            assert back[name] == pytest.approx(value) if name in "gamma x" else value


def test_inactive_columns_are_zero_and_the_surrogate_sees_the_conditions() -> None:
    space = Space.of(TREE)
    # "layers is at least 2" is no column of a category; the others are.
    assert space.conditions.switches == ["width2"]
    x = space.encode([SVM, NET, {**NET, "layers": 1}])
    np.testing.assert_array_equal(space.inputs(x)[:, -1], [0.0, 1.0, 0.0])
    active = space.active_columns(x)
    assert np.all(x[~active] == 0)
    # kernel has 3 columns, model 3, the others 1 each.
    np.testing.assert_array_equal(active.sum(axis=1), [8, 6, 5])
    np.testing.assert_array_equal(space.n_active(x), [4, 4, 3])
    assert len(space.movable) == space.inputs(x).shape[1]


@pytest.mark.parametrize("name", ["gamma", "model", "x"])
def test_a_missing_active_parameter_is_refused(name: str) -> None:
    space = Space.of(TREE)
    assert space.contains(SVM)
    with pytest.raises(InvalidInput, match="must give every parameter"):
        space.params({n: v for n, v in SVM.items() if n != name})


def test_a_finite_conditional_space_is_counted_and_enumerated() -> None:
    space = Space.of(
        {
            "model": neurobo.Categorical(["a", "b", "c"]),
            "p": neurobo.Conditional(neurobo.Int(1, 4), when={"model": ["a", "b"]}),
            "q": neurobo.Conditional(neurobo.Categorical([True, False]), when={"p": (3, 9)}),
            "r": neurobo.Conditional(neurobo.Int(0, 2), when={"model": ["c"]}),
            "one": neurobo.Conditional(neurobo.Int(7, 7), when={"model": ["c"]}),
        }
    )
    expected = [{"model": m, "p": p} for m in "ab" for p in (1, 2)]
    expected += [{"model": m, "p": p, "q": q}
                 for m, p, q in itertools.product("ab", (3, 4), (True, False))]  # fmt: skip
    expected += [{"model": "c", "r": r, "one": 7} for r in range(3)]
    assert space.size == len(expected)
    found = [space.decode(row) for row in space.by_index(np.arange(int(space.size)))]
    assert sorted(map(str, found)) == sorted(map(str, expected))
    with pytest.raises(neurobo.SpaceExhausted):
        neurobo.suggest(TINY, [(p, 1.0) for p in ({"k": 1}, {"k": 2, "z": 0}, {"k": 2, "z": 1})])


TINY: Any = {
    "k": neurobo.Int(1, 2),
    "z": neurobo.Conditional(neurobo.Int(0, 1), when={"k": [2]}),
}


def test_neighbours_never_spend_a_move_on_an_inactive_parameter() -> None:
    space, rng = Space.of(TREE), np.random.default_rng(0)
    x = space.encode([{"model": "net", "layers": 1, "x": 0.5}])[0]
    near = [space.decode(row) for row in neighbours(space, x[None], rng)[0]]
    assert [p["model"] for p in near].count("net") == 3  # layers 2, 3 and 4
    assert len(near) == 5
    for point in near:
        assert space.contains(point)
    assert all(8 <= p["width2"] <= 64 for p in near if p.get("layers", 1) > 1)


@settings(max_examples=150)
@given(conditional_spaces(), st.integers(0, 2**32 - 1))
def test_every_way_to_make_a_point_of_a_conditional_space(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = space.from_unit(rng.random((4, space.n_parameters)))
    made = [base, space.snap(rng.uniform(-1.5, 1.5, (4, space.dim)))]
    made.append(space.mutate(base, rng, np.full(4, 0.3), np.ones(4)))
    made.append(neighbours(space, base, rng)[0])
    if space.size < 1000:
        made.append(space.by_index(np.arange(int(space.size))))
        assert len(np.unique(made[-1].round(9), axis=0)) == space.size
    for x in made:
        np.testing.assert_allclose(space.snap(x), x, atol=1e-9)
        assert np.all(x[~space.active_columns(x)] == 0)
        for row in x:
            params = space.decode(row)
            assert space.contains(params), params
            assert space.params(params) == params
            np.testing.assert_allclose(space.encode([params])[0], row, atol=1e-9)
            assert space.asked(lambda name, _, known=params: known[name]) == params  # type: ignore[misc]


A = neurobo.Categorical(["u", "v"])


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"a": A, "b": ((0, 1), {"c": ["u"]})}, "other parameters of the space ['a'], got 'c'"),
        ({"mode": A, "b": ((0, 1), {"mod": ["u"]})}, "did you mean 'mode'?"),
        ({"b": (A, {"b": ["u"]})}, "got 'b'"),
        ({"a": (A, {"b": ["u"]}), "b": (A, {"a": ["u"]})}, "own parameter, got"),
        ({"a": A, "b": ((0, 1), {"a": ["w"]})}, "choices=('u', 'v')), got 'w'"),
        ({"a": A, "b": ((0, 1), {"a": "u"})}, "a list of values or a tuple (low, high), got 'u'"),
        ({"a": A, "b": ((0, 1), {"a": []})}, "got []"),
        ({"a": A, "b": ((0, 1), {"a": (0, 1)})}, "a tuple (low, high) for a number, got (0, 1)"),
        ({"a": A, "b": ((0, 1), {})}, "must be a dict of parents"),
        ({"a": (0.0, 1.0), "b": ((0, 1), {"a": [0.5]})}, "a category, an integer or a stepped"),
        ({"a": neurobo.Int(1, 4), "b": ((0, 1), {"a": (5, 9)})}, "got (5, 9)"),
        ({"a": neurobo.Int(1, 4), "b": ((0, 1), {"a": (3, 2)})}, "got (3, 2)"),
        ({"a": neurobo.Int(1, 4), "b": ((0, 1), {"a": [5]})}, "got 5"),
        ({"a": neurobo.Int(0, 9, step=3), "b": ((0, 1), {"a": (4, 5)})}, "one of its values"),
    ],
)
def test_bad_conditions_are_refused(space: dict[str, Any], message: str) -> None:
    given = {
        name: neurobo.Conditional(one[0], when=one[1])
        if isinstance(one, tuple) and isinstance(one[1], dict)
        else one
        for name, one in space.items()
    }
    with pytest.raises(InvalidInput) as error:
        Space.of(given)
    assert message in str(error.value)


def test_a_list_of_bounds_has_no_conditions() -> None:
    with pytest.raises(InvalidInput, match="must be a dict"):
        Space.of([neurobo.Conditional((0, 1), when={"x1": [1]})])  # type: ignore[list-item]


def test_a_single_value_can_be_a_parent() -> None:
    space = Space.of(
        {
            "model": A,
            "version": neurobo.Conditional(neurobo.Categorical(["v1"]), when={"model": ["u"]}),
            "rate": neurobo.Conditional((0.0, 1.0), when={"version": ["v1"]}),
            "always": neurobo.Int(3, 3),
            "free": neurobo.Conditional((0.0, 1.0), when={"always": [3]}),
        }
    )
    assert space.params({"model": "v", "always": 3, "free": 0.5, "rate": 0.1}).keys() == {
        "model", "always", "free",
    }  # fmt: skip
    assert space.decode(space.encode([{"model": "v", "always": 3, "free": 0.5}])[0]) == {
        "model": "v", "always": 3, "free": 0.5,
    }  # fmt: skip
    with pytest.raises(InvalidInput, match="values of"):
        Space.of({"a": neurobo.Int(3, 3), "b": neurobo.Conditional((0, 1), when={"a": [4]})})


def test_fixed_values_stay_in_new_points_and_not_in_the_history() -> None:
    whole = Space.of(TREE)
    space = whole.holding({"x": 0.25, "kernel": "poly"})
    np.testing.assert_array_equal(space.encode([SVM, NET]), whole.encode([SVM, NET]))
    rng = np.random.default_rng(0)
    base = space.from_unit(rng.random((64, space.n_parameters)))
    parents = whole.from_unit(rng.random((64, space.n_parameters)))
    mutated = space.mutate(parents, rng, np.full(64, 0.5), np.ones(64))
    for row in [*base, *mutated, *neighbours(space, base, rng)[0]]:
        point = space.decode(row)
        assert point["x"] == 0.25
        assert point.get("kernel", "poly") == "poly"
        assert "gamma" not in point
    assert not space.continuous[space.columns["x"]].any()
    assert Space.of({"a": A, "n": neurobo.Int(1, 3)}).holding({"n": 2}).size == 2


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ({"y": 1.0}, "must be one of"),
        ({"x": 2.0}, "fixed value of 'x' must lie in"),
        ({"model": "tree"}, "fixed value of 'model'"),
        (["x"], "must be a dict"),
    ],
)
def test_bad_fixed_values_are_refused(fixed: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        neurobo.suggest(TREE, fixed=fixed, seed=0)
