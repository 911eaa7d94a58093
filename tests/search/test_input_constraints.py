"""The acquisition optimiser where input constraints are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from search.regions import REGIONS, outside, region

import neurobo
from neurobo.data.observations import Data
from neurobo.errors import SpaceExhausted
from neurobo.search.candidates import Box
from neurobo.search.exclusion import any_free
from neurobo.search.feasible_points import spread_points
from neurobo.search.feasible_steps import allowed_part, reachable
from neurobo.search.neighbours import neighbours
from neurobo.search.optimiser import minimise
from neurobo.search.trust_region import Region
from neurobo.space.search_space import Space


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Distance:
    """x -> its squared distance from a point."""

    point: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.sum((x - self.point) ** 2, axis=1)


def _data(space: Space, points: np.ndarray | None = None) -> Data:
    x = np.zeros((0, space.dim)) if points is None else points
    return Data.pad(x, np.arange(len(x), dtype=float))


def _projected(space: Space, point: np.ndarray) -> float:
    """The squared distance of a polytope from a point, by SLSQP to the end."""
    f = space.feasible
    assert f is not None
    constraints: Any = [
        {"type": "eq", "fun": lambda z: f.e @ z - f.f, "jac": lambda z: f.e},
        {"type": "ineq", "fun": lambda z: f.b - f.a @ z, "jac": lambda z: -f.a},
    ]
    found: Any = scipy_minimize(
        lambda z: float(np.sum((z - point) ** 2)),
        f.starts.mean(axis=0),
        jac=lambda z: 2 * (z - point),
        method="SLSQP",
        bounds=[(-1, 1)] * len(point),
        constraints=constraints,
        options={"maxiter": 500, "ftol": 1e-14},
    )  # type: ignore[call-overload]
    return float(found.fun)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", ["mixture of 3", "mixture of 8", "12 rows in 20-D", "thin"])
def test_the_lowest_point_of_a_polytope_is_found(x64: None, name: str, seed: int) -> None:
    """Often it lies on a face or in a corner."""
    space = region(name)
    point = np.random.default_rng(seed).uniform(-1, 1, space.dim)
    found = minimise(Distance(jnp.asarray(point)), space, _data(space), np.random.default_rng(0))
    assert outside(space, found[None]) == []
    expected = _projected(space, point)
    assert np.sum((found - point) ** 2) <= expected * (1 + 1e-4) + 1e-9


@pytest.mark.parametrize("name", REGIONS)
def test_every_suggestion_is_inside(x64: None, name: str) -> None:
    """Everywhere and in a trust region, after observations inside and outside."""
    space, rng = region(name), np.random.default_rng(1)
    assert space.feasible is not None
    inside = spread_points(space, 12, rng)
    beyond = space.from_unit(rng.random((12, space.n_parameters)))
    for observed in (inside, beyond):
        data = _data(space, observed)
        score = Distance(jnp.asarray(rng.uniform(-1, 1, space.dim)))
        for trust in (None, Region(0, 0.2)):
            found = minimise(score, space, data, rng, region=trust)
            assert outside(space, found[None]) == []
            if trust is not None and observed is inside:
                away = np.abs(found - observed[0])[space.numeric]
                assert np.all(away <= 0.2 + 1e-9) or space.size < np.inf


def test_the_best_components_of_a_mixture_are_found(x64: None) -> None:
    """At most 3 of 8: the three that the target has, from any start."""
    space = region("3 of 8")
    for seed in range(4):
        rng = np.random.default_rng(seed)
        parts = np.zeros(8)
        parts[rng.choice(8, 3, replace=False)] = [0.5, 0.3, 0.2]
        found = minimise(Distance(jnp.asarray(2 * parts - 1)), space, _data(space), rng)
        np.testing.assert_allclose((found + 1) / 2, parts, atol=1e-3)


def test_whole_numbers_move_along_an_equation(x64: None) -> None:
    space = region("whole")
    best = {"a": 4, "b": 5, "c": 2}
    score = Distance(jnp.asarray(space.encode([best])[0]))
    assert space.decode(minimise(score, space, _data(space), np.random.default_rng(0))) == best


def test_a_callable_is_met_at_its_boundary(x64: None) -> None:
    """The nearest point of a disc."""
    space = Space.of([(-1, 1)] * 2, [lambda x: x[0] ** 2 + x[1] ** 2 - 0.25])
    point = np.array([0.8, 0.6])
    found = minimise(Distance(jnp.asarray(point)), space, _data(space), np.random.default_rng(0))
    np.testing.assert_allclose(found, point / 2, atol=1e-4)
    assert np.sum(found**2) <= 0.25


def test_a_projected_step_is_the_nearest_point(x64: None) -> None:
    """Of the simplex, where Michelot's projection is exact; from points on faces too."""
    space = region("mixture of 8")
    rng = np.random.default_rng(0)
    at = 2 * rng.dirichlet(np.full(8, 0.3), size=32) - 1
    at[:8] = 2 * np.eye(8) - 1
    to = rng.uniform(-1, 1, at.shape)
    inside = reachable(space, at, Box(-np.ones(8), np.ones(8)), rng)
    assert inside is not None
    found = np.asarray(inside.toward(jnp.asarray(at), jnp.asarray(to), jnp.ones_like(at)))
    assert np.max(np.abs(found.sum(axis=1) + 6)) < 1e-12
    for end, target in zip(found, to, strict=True):
        assert np.sum((end - target) ** 2) <= _projected(space, target) + 1e-7


def test_a_step_with_many_rows_stays_inside(x64: None) -> None:
    space, rng = region("12 rows in 20-D"), np.random.default_rng(0)
    at = spread_points(space, 64, rng)
    inside = reachable(space, at, Box(-np.ones(20), np.ones(20)), rng)
    assert inside is not None
    for _ in range(20):
        to = at + rng.normal(size=at.shape) * 0.3
        at = np.asarray(inside.moved(jnp.asarray(at), jnp.asarray(to)))
        assert outside(space, at) == []


def test_what_callables_refuse_is_cut(x64: None) -> None:
    space = region("callable")
    start = spread_points(space, 50, np.random.default_rng(0))
    end = start + 0.5 * (np.array([1.0, -1.0, -1.0]) - start)  # all towards pure p0
    kept = allowed_part(space, start, end)
    assert outside(space, kept) == []
    assert np.sum(np.any(kept != start, axis=1)) > 40


@pytest.mark.parametrize("name", ["3 of 8", "2 of 6 whole", "whole", "callable on categories"])
def test_neighbours_are_inside_and_lead_elsewhere(name: str) -> None:
    space, rng = region(name), np.random.default_rng(0)
    x = spread_points(space, 64, rng)
    near, owner = neighbours(space, x, rng)
    assert outside(space, near) == []
    assert len(near) > 1
    discrete = ~space.continuous if name != "3 of 8" else np.ones(space.dim, dtype=bool)
    assert np.all(np.any(near != x[owner], axis=1, where=discrete))


def test_a_region_of_few_points_is_exhausted() -> None:
    space = Space.of(
        dict.fromkeys("abc", (0.0, 1.0)), ["a + b + c == 1", neurobo.AtMost(1, list("abc"))]
    )
    assert space.feasible is not None
    rng, taken = np.random.default_rng(0), np.zeros((0, 3))
    for _ in range(3):
        taken = np.concatenate([taken, any_free(space, taken, rng)[None]])
    np.testing.assert_array_equal(np.sort((taken + 1) / 2, axis=0)[-1], [1, 1, 1])
    with pytest.raises(SpaceExhausted, match="constraints allow"):
        any_free(space, taken, rng)
