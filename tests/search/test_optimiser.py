from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.test_util import check_grads
from space.strategies import conditional_spaces, spaces

import neurobo
from neurobo.data.observations import Data
from neurobo.data.trials import Trials
from neurobo.errors import NeuroboWarning, SpaceExhausted
from neurobo.networks.mlp import MLP
from neurobo.search.candidates import Box
from neurobo.search.exclusion import APART, any_free
from neurobo.search.optimiser import minimise
from neurobo.search.refinement import polish
from neurobo.search.scoring import evaluate
from neurobo.search.trust_region import LEAST_FAILURES, RADIUS, Region, radius
from neurobo.space.columns import SAME_POINT
from neurobo.space.search_space import Space
from neurobo.surrogates.draws import Recipe, draw


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Bowl:
    """Many shallow dents around one deepest point."""

    centre: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        away = x - self.centre
        return jnp.sum(away**2 - 0.02 * jnp.cos(12 * away), axis=1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Kinks:
    """Straight pieces: a line search ends at a kink without having found less."""

    slopes: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.sum(jnp.abs(x @ self.slopes.T - 0.3), axis=1)


def _data(space: Space, points: list[dict[str, object]] | None = None) -> Data:
    x = space.encode(points or [])
    return Data.pad(x, np.arange(len(x), dtype=float))


@pytest.mark.parametrize("dim", [1, 2, 10, 20])
def test_finds_the_lowest_point_of_a_box(x64: None, dim: int) -> None:
    space = Space.of([(0, 1)] * dim)
    centre = np.random.default_rng(dim).uniform(-0.9, 0.9, dim)
    found = minimise(Bowl(jnp.asarray(centre)), space, _data(space), np.random.default_rng(0))
    np.testing.assert_allclose(found, centre, atol=1e-3)


def test_finds_a_corner(x64: None) -> None:
    space = Space.of([(0, 1)] * 5)
    corner = np.array([2.0, -2, 2, 2, -2])
    found = minimise(Bowl(jnp.asarray(corner)), space, _data(space), np.random.default_rng(0))
    np.testing.assert_allclose(found, np.sign(corner))


def test_a_mixed_space_is_searched_to_its_optimum(x64: None) -> None:
    space = Space.of(
        {
            "x": (0.0, 1.0),
            "n": neurobo.Int(1, 1000),
            "k": neurobo.Int(1, 500, log=True),
            "s": neurobo.Float(0.0, 10.0, step=0.5),
            "c": neurobo.Categorical(list("abcdefgh")),
            "b": neurobo.Categorical([True, False]),
        }
    )
    best = {"x": 0.25, "n": 321, "k": 17, "s": 6.5, "c": "f", "b": False}
    centre = space.encode([best])[0]
    found = space.decode(
        minimise(Bowl(jnp.asarray(centre)), space, _data(space), np.random.default_rng(0))
    )
    assert found["x"] == pytest.approx(0.25, abs=1e-3)
    assert {k: found[k] for k in "kscb"} == {k: best[k] for k in "kscb"}
    assert abs(found["n"] - 321) <= 1


def test_a_small_finite_space_is_searched_exactly_and_then_exhausted(x64: None) -> None:
    space = Space.of({"n": neurobo.Int(0, 4), "c": neurobo.Categorical("ab")})
    score = Bowl(jnp.asarray(space.encode([{"n": 2, "c": "b"}])[0]))
    points: list[dict[str, object]] = []
    for _ in range(10):
        x = minimise(score, space, _data(space, points), np.random.default_rng(0))
        points.append(space.decode(x))
    assert points[0] == {"n": 2, "c": "b"}
    assert len({tuple(p.values()) for p in points}) == 10
    with pytest.raises(SpaceExhausted, match="all 10 are evaluated"):
        minimise(score, space, _data(space, points), np.random.default_rng(0))


def test_any_free_point_of_a_large_finite_space_is_found() -> None:
    space = Space.of({"n": neurobo.Int(0, 9999)})
    taken = np.delete(space.by_index(np.arange(10_000)), 4321, axis=0)
    assert space.decode(any_free(space, taken, np.random.default_rng(0))) == {"n": 4321}


def test_a_taken_point_is_replaced_by_the_next_best(x64: None) -> None:
    space = Space.of([(0, 1)] * 2)
    score = Bowl(jnp.asarray([2.0, 2.0]))  # lowest in a corner, which is taken
    data = _data(space, [{"x0": 1.0, "x1": 1.0}])
    found = minimise(score, space, data, np.random.default_rng(0))
    gap = np.abs(found - [1, 1]).max()
    assert SAME_POINT <= gap < 0.2


def test_points_that_wait_together_are_apart(x64: None) -> None:
    """The score is lowest where a point is pending already."""
    space = Space.of([(-1, 1)] * 2)
    data = replace(Data.pad(np.zeros((1, 2)), np.zeros(1)), pending=np.full((1, 2), 0.3))
    found = minimise(Bowl(jnp.full(2, 0.3)), space, data, np.random.default_rng(0))
    assert APART <= np.abs(found - 0.3).max() < 0.2


def test_a_trust_region_holds(x64: None) -> None:
    space = Space.of({"x": (0.0, 1.0), "n": neurobo.Int(0, 100), "c": neurobo.Categorical("abc")})
    data = _data(space, [{"x": 0.5, "n": 50, "c": "a"}, {"x": 0.1, "n": 0, "c": "b"}])
    far = space.encode([{"x": 1.0, "n": 100, "c": "c"}])[0]
    region = Region(int(data.order[0]), 0.2)
    found = space.decode(
        minimise(Bowl(jnp.asarray(far)), space, data, np.random.default_rng(0), region=region)
    )
    assert found["x"] == pytest.approx(0.6)
    assert found["n"] == 60
    assert found["c"] == "c"


@settings(max_examples=12)
@given(spaces, st.integers(0, 99))
def test_every_space_gives_valid_new_points(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points: list[dict[str, object]] = []
    with jax.enable_x64(True):
        score = Bowl(jnp.asarray(rng.uniform(-1, 1, space.dim)))
        for _ in range(3):
            try:
                x = minimise(score, space, _data(space, points), rng)
            except SpaceExhausted:
                assert len(points) >= space.size
                break
            params = space.decode(x)
            assert space.contains(params)
            assert all(np.abs(space.encode([p])[0] - x).max(initial=0) > 1e-9 for p in points)
            points.append(params)


def test_scores_that_are_not_finite_are_never_chosen(x64: None) -> None:
    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Cliff:
        def __call__(self, x: jax.Array) -> jax.Array:
            return jnp.where(x[:, 0] > 0, jnp.nan, x[:, 0] ** 2)

    space = Space.of([(0, 1)])
    found = minimise(Cliff(), space, _data(space), np.random.default_rng(0))
    assert found[0] <= 0
    assert np.all(evaluate(Cliff(), space, np.ones((3, 1))) == np.inf)


@pytest.mark.parametrize("surrogate", ["simple", "posterior", "linear"])
def test_gradients_of_a_drawn_function(x64: None, surrogate: str) -> None:
    rng = np.random.default_rng(0)
    data = Data.pad(rng.uniform(-1, 1, (5, 3)), rng.normal(size=5))
    drawn, _ = draw(
        jax.random.key(0), data, Recipe(MLP(width=32), gamma=(2.0, 2.0), surrogate=surrogate)
    )
    check_grads(
        lambda x: drawn(jnp.asarray(x)[None])[0], (jnp.array([0.1, -0.4, 0.7]),), order=1, rtol=1e-5
    )


@pytest.mark.parametrize("bounds", [(0.0, 1.0), neurobo.Int(0, 9)], ids=["floats", "finite"])
def test_a_score_without_any_number_is_announced(x64: None, bounds: Any) -> None:
    @jax.tree_util.register_static
    @dataclass(frozen=True)
    class Nothing:
        def __call__(self, x: jax.Array) -> jax.Array:
            return jnp.full(len(x), jnp.nan)

    space = Space.of({"x": bounds})
    with pytest.warns(NeuroboWarning, match="no finite score at any point"):
        found = minimise(Nothing(), space, _data(space), np.random.default_rng(0))
    assert space.contains(space.decode(found))


TREE: Any = {
    "depth": neurobo.Int(1, 3),
    **{f"w{i}": neurobo.Conditional((0.0, 1.0), when={"depth": (i, 3)}) for i in (1, 2, 3)},
    "x": (0.0, 1.0),
}


@settings(max_examples=12)
@given(conditional_spaces(), st.integers(0, 99), st.booleans())
def test_every_conditional_space_gives_valid_new_points(
    space: Space, seed: int, local: bool
) -> None:
    rng = np.random.default_rng(seed)
    points: list[dict[str, object]] = []
    with jax.enable_x64(True):
        score = Bowl(jnp.asarray(rng.uniform(-1, 1, len(space.movable))))
        for _ in range(3):
            region = Region(0, 0.1) if local and points else None
            try:
                x = minimise(score, space, _data(space, points), rng, region=region)
            except SpaceExhausted:
                assert len(points) >= space.size
                break
            params = space.decode(x)
            assert space.contains(params)
            assert np.all(x[~space.active_columns(x[None])[0]] == 0)
            assert all(np.abs(space.encode([p])[0] - x).max(initial=0) > 1e-9 for p in points)
            points.append(params)


def test_the_search_finds_the_best_branch_and_its_best_point(x64: None) -> None:
    space = Space.of(TREE)
    goal = {"depth": 2, "w1": 0.9, "w2": 0.15, "x": 0.7}
    centre = space.inputs(space.encode([goal]))[0]
    centre[space.columns["w3"]] = 0.05  # a step towards it would pay, but w3 is inactive
    starts: list[dict[str, object]] = [
        {"depth": 3, "w1": 0.9, "w2": 0.9, "w3": 0.9, "x": 0.1},
        {"depth": 1, "w1": 0.5, "x": 0.5},
    ]
    for start in starts:
        data = _data(space, [start])
        x = minimise(Bowl(jnp.asarray(centre)), space, data, np.random.default_rng(0))
        assert x[space.columns["w3"]] == 0
        assert space.decode(x) == pytest.approx(goal, abs=1e-3)


def test_a_trust_region_leaves_columns_free_that_are_inactive_at_its_centre(x64: None) -> None:
    space = Space.of(
        {
            "kind": neurobo.Categorical(["a", "b"]),
            "w": neurobo.Conditional((0.0, 1.0), when={"kind": ["b"]}),
            "v": neurobo.Conditional((0.0, 1.0), when={"kind": ["a"]}),
            "x": (0.0, 1.0),
        }
    )
    goal = {"kind": "b", "w": 0.97, "x": 0.5}
    score = Bowl(jnp.asarray(space.inputs(space.encode([goal]))[0]))
    # The region is far from 0 in v, which is 0 where it is inactive.
    data = _data(space, [{"kind": "a", "v": 0.9, "x": 0.48}])
    found = space.decode(
        minimise(score, space, data, np.random.default_rng(0), region=Region(0, 0.1))
    )
    assert found == {
        "kind": "b",
        "w": pytest.approx(0.97, abs=1e-3),
        "x": pytest.approx(0.5, abs=1e-3),
    }


def test_a_trust_region_counts_active_columns() -> None:
    """Forty columns, of which two take part: four failures in a row are enough."""
    n = LEAST_FAILURES + 1
    many = {f"w{i}": neurobo.Conditional((0.0, 1.0), when={"all": [True]}) for i in range(38)}
    space = Space.of({"all": neurobo.Categorical([True, False]), **many, "x": (0.0, 1.0)})
    points = [{"all": False, "x": 0.5 + 0.01 * i} for i in range(n)]
    data = Data.of(space, Trials(points, list(range(n))))
    assert radius(data) == RADIUS / 2
    assert radius(replace(data, active=None)) == RADIUS


def test_fixed_values_are_held_by_every_step_of_the_search(x64: None) -> None:
    space = Space.of({"x": (0.0, 1.0), "heat": (0.0, 1.0), "k": neurobo.Categorical("abc")})
    score = Bowl(jnp.asarray([0.3, 0.9, 1.0, 0.0, 0.0]))
    data = _data(space, [{"x": 0.1, "heat": 0.9, "k": "a"}, {"x": 0.2, "heat": 0.1, "k": "b"}])
    for fixed in ({"heat": 0.25}, {"heat": 0.25, "k": "c"}, {"x": 0.4}):
        found = space.decode(minimise(score, space.holding(fixed), data, np.random.default_rng(0)))
        assert {name: found[name] for name in fixed} == fixed
        rest = {"x": 0.65, "heat": 0.95, "k": "a"} | fixed
        assert found == {
            name: v if isinstance(v, str) else pytest.approx(v, abs=1e-3)
            for name, v in rest.items()
        }


def test_a_point_at_another_value_of_a_fixed_parameter_does_not_exhaust_the_space() -> None:
    space: Any = {"a": neurobo.Int(0, 1), "b": neurobo.Int(0, 1)}
    history = [({"a": 0, "b": 0}, 1.0), ({"a": 0, "b": 1}, 2.0), ({"a": 1, "b": 1}, 0.0)]
    fixed = {"a": 1}
    assert neurobo.suggest(space, history, seed=0, fixed=fixed) == [{"a": 1, "b": 0}]
    with pytest.raises(SpaceExhausted):
        neurobo.suggest(space, [*history, ({"a": 1, "b": 0}, 0.0)], seed=0, fixed=fixed)


@pytest.mark.parametrize("seed", range(8))
def test_what_the_polish_tells_is_the_score_where_it_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space, x = Space.of([(-1.0, 1.0)] * 3), rng.uniform(-1, 1, 3)
    data = _data(space)
    with jax.enable_x64(True):
        score = Kinks(jnp.asarray(rng.normal(size=(6, 3))))
        end, value = polish(score, space, x, Box.of(space, data, None))
        assert value == pytest.approx(float(evaluate(score, space, end[None])[0]), rel=1e-12)
