from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import neurobo
from neurobo.errors import InvalidInput
from neurobo.space import lattice
from neurobo.space.feasible_set import FeasibleSet
from neurobo.space.input_constraints import exact
from neurobo.space.search_space import Space

PARTS: Any = dict.fromkeys("abc", (0.0, 1.0))
INTS: Any = dict.fromkeys("abc", neurobo.Int(0, 10))


def _region(space: Any, where: Any) -> FeasibleSet:
    found = Space.of(space, where).feasible
    assert found is not None
    return found


def test_constraints_that_exclude_each_other_are_named() -> None:
    where = ["a + b >= 1.5", "c <= 0.9", "b + a <= 1.2"]
    with pytest.raises(InvalidInput, match=r"'a \+ b >= 1.5'; 'b \+ a <= 1.2'$"):
        Space.of(PARTS, where)


@pytest.mark.parametrize(
    ("space", "where", "only"),
    [
        (PARTS, ["a + b + c == 0"], "{'a': 0.0, 'b': 0.0, 'c': 0.0}"),
        ({"a": (0.0, 1.0)}, ["a <= 0.25", "a >= 0.25"], "{'a': 0.25}"),
        ({"n": neurobo.Int(0, 9), "x": (0.0, 1.0)}, ["n + x == 5.5"], "{'n': 5.0, 'x': 0.5}"),
        (PARTS, [neurobo.AtMost(0, ["a", "b", "c"])], "{'a': 0.0, 'b': 0.0, 'c': 0.0}"),
    ],
)
def test_a_single_point_is_refused(space: Any, where: Any, only: str) -> None:
    with pytest.raises(InvalidInput, match="more than one point") as error:
        Space.of(space, where)
    assert str(error.value).endswith(only)


def test_a_region_that_is_small_in_every_range_is_refused() -> None:
    with pytest.raises(InvalidInput, match="narrow these"):
        Space.of(dict.fromkeys("ab", (0.0, 1e8)), ["a + b == 1"])


def test_equations_without_whole_solutions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no allowed value meets"):
        Space.of(INTS, ["2 * a + 2 * b == 11"])


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ([3], "must be a text"),
        (3, "where must be a list"),
        ([neurobo.AtMost(1, ["a", "d"])], "parameters of"),
        (["a + k <= 1"], "about numbers, got the choice 'k'"),
        ([neurobo.AtMost(1, ["t"])], "0 must be a value of each parameter"),
        ([lambda p: p["nothing"]], "must return a number at every point"),
    ],
)
def test_wrong_constraints_are_refused(where: Any, message: str) -> None:
    space = PARTS | {"k": neurobo.Categorical(["u", "v"]), "t": (1.0, 2.0)}
    with pytest.raises(InvalidInput, match=message):
        Space.of(space, where)


@pytest.mark.parametrize(("k", "names"), [(-1, ["a"]), (1.5, ["a"]), (1, "ab"), (1, ["a", "a"])])
def test_at_most_is_checked(k: Any, names: Any) -> None:
    with pytest.raises(InvalidInput, match="AtMost"):
        neurobo.AtMost(k, names)


def test_constraints_in_words() -> None:
    def too_hot(p: Any) -> float:
        return p["a"] - 1

    where = Space.of(PARTS, ["0.1 <= a + b <= 1", neurobo.AtMost(2, ["a", "b"]), too_hot]).where
    assert where is not None
    assert where.words() == [
        "0.1 <= a + b <= 1",
        "at most 2 of a, b differ from 0",
        "too_hot(…) <= 0",
    ]


def test_a_broken_constraint_is_told_with_the_excess() -> None:
    where = Space.of(PARTS, ["a + b + c == 1", neurobo.AtMost(2, ["a", "b", "c"])]).where
    assert where is not None
    assert where.broken({"a": 0.5, "b": 0.5, "c": 0.0}) == ""
    assert where.broken({"a": 0.5, "b": 0.25, "c": 0.0}) == "'a + b + c == 1', missed by 0.25"
    assert "a, b, c do" in where.broken({"a": 0.25, "b": 0.5, "c": 0.25})


def test_a_parameter_with_one_value_is_a_constant() -> None:
    space = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": neurobo.Int(2, 2)}
    where = Space.of(space, ["a + b + 0.25 * c == 1", lambda p: p["a"] - p["c"] / 8]).where
    assert where is not None
    assert where.broken({"a": 0.25, "b": 0.25, "c": 2}) == ""
    assert where.broken({"a": 0.5, "b": 0.0, "c": 2}).startswith("a callable <= 0")


def test_implied_equations_are_found() -> None:
    """Two inequalities that leave a plane, and a sum that leaves nothing to some parts."""
    space = PARTS | {"d": (0.0, 1.0)}
    region = _region(space, ["a + b <= 0.5", "a + b >= 0.5", "b + c <= 0", "d <= 0.9"])
    assert np.linalg.matrix_rank(region.e) == 3
    assert region.directions.shape == (4, 1)
    np.testing.assert_allclose(region.e @ region.directions, 0.0, atol=1e-12)


@pytest.mark.parametrize("wide", [1.0, 1e2, 1e4])
def test_decoded_sums_are_exact_in_the_users_units(wide: float) -> None:
    space = Space.of(dict.fromkeys("abc", (0.0, wide)), ["a + b + c == 1"])
    region = space.feasible
    assert region is not None
    rng = np.random.default_rng(0)
    for weights in rng.dirichlet(np.ones(len(region.starts)), size=200):
        point = space.decode(region.put(np.zeros((1, 3)), weights[None] @ region.starts)[0])
        assert abs(sum(point.values()) - 1) <= 1e-9
        assert min(point.values()) >= 0


def test_logarithmic_columns_are_linear_in_z() -> None:
    region = _region({"r": neurobo.Float(1e-5, 1e-1, log=True), "b": (0.0, 1.0)}, ["r <= b"])
    x = np.c_[np.linspace(-1, 1, 101), np.linspace(-1, 1, 101)]
    z = region.z(x)
    np.testing.assert_allclose(region.scale.to_x(z), x, atol=1e-9)
    expected = 10 ** (-5 + 4 * (x[:, 0] + 1) / 2)
    np.testing.assert_allclose(region.scale.value(z)[:, 0], expected, rtol=1e-9)
    steps = np.array([[1e-6, 1e-6]])
    slope = (region.scale.to_z(x[1:-1] + steps) - region.scale.to_z(x[1:-1] - steps)) / 2e-6
    np.testing.assert_allclose(region.scale.slope(x[1:-1]), slope, rtol=1e-5)


def test_whole_kernels_hold_and_generate() -> None:
    rows = [[exact(3), exact(2), exact(1), exact(0)], [exact(0), exact(1), exact(0.5), exact(-1)]]
    basis = np.array(lattice.kernel(rows, 4))
    assert len(basis) == 2
    assert not np.any(np.array(rows, dtype=float) @ basis.T)
    solutions = [
        v
        for v in np.ndindex(9, 9, 9, 9)
        if not np.any(np.array(rows, dtype=float) @ (np.array(v) - 4))
    ]
    for v in solutions:  # every small solution is a whole combination of the basis
        weights = np.linalg.lstsq(basis.T.astype(float), np.array(v) - 4.0, rcond=None)[0]
        np.testing.assert_allclose(weights, np.round(weights), atol=1e-9)


def test_finite_spaces_count_what_is_allowed() -> None:
    space = Space.of(INTS, ["a + b + c == 3"])
    assert (space.size, space.n_points) == (11**3, 10)


@pytest.mark.parametrize(
    ("one", "fast"),
    [
        (lambda p: p["a"] ** 2 + p["b"] - 1, True),
        (lambda p: np.where(p["k"] == "u", p["a"], p["b"]) - 0.5, True),
        (lambda p: max(p["a"], p["b"]) - 0.5, False),
        (lambda p: p["a"] - (0.5 if p["k"] == "u" else 0.1), False),
    ],
)
def test_callables_get_arrays_only_if_that_is_the_same(one: Any, fast: bool) -> None:
    space = Space.of(PARTS | {"k": neurobo.Categorical(["u", "v"])}, [one])
    assert space.feasible is not None
    oracle = space.feasible.oracle
    assert oracle is not None
    assert oracle.fast == fast
    x = space.from_unit(np.random.default_rng(1).random((50, 4)))
    expected = [float(one(space.decode(row))) for row in x]
    np.testing.assert_allclose(oracle(x), expected, atol=1e-12)
