from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from space.strategies import spaces

from neurobo.data.observations import Data
from neurobo.search.neighbours import neighbours
from neurobo.search.optimiser import minimise
from neurobo.space.search_space import Space


def test_neighbours_differ_in_one_discrete_parameter() -> None:
    space = Space(
        {
            "a": IntDistribution(0, 3),
            "b": CategoricalDistribution(["x", "y", "z"]),
            "c": FloatDistribution(0, 1),
            "d": IntDistribution(0, 1000),
        }
    )
    points: list[Any] = [
        {"a": 1, "b": "y", "c": 0.5, "d": 7},
        {"a": 3, "b": "x", "c": 0.25, "d": 900},
    ]
    near, owner = neighbours(space, space.encode(points), np.random.default_rng(0))
    for i, point in enumerate(points):
        found = [space.decode(row) for row in near[owner == i]]
        changes = [{name for name in point if p[name] != point[name]} for p in found]
        assert all(len(change) == 1 for change in changes)
        others = [(p["a"], p["b"]) for p, change in zip(found, changes, strict=True)]
        small = [pair for pair, change in zip(others, changes, strict=True) if change != {"d"}]
        expected = [(a, point["b"]) for a in range(4) if a != point["a"]]
        expected += [(point["a"], b) for b in "xyz" if b != point["b"]]
        assert small == expected  # all of them, parameter after parameter
        assert 5 < sum(change == {"d"} for change in changes) < 16


@settings(max_examples=100)
@given(spaces, st.integers(0, 2**32 - 1))
def test_neighbours_are_those_of_each_point_alone(space: Space, seed: int) -> None:
    """In one call, in the same order, with the same draws."""
    x = space.from_unit(np.random.default_rng(seed).random((3, space.n_parameters)))
    near, owner = neighbours(space, x, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    for i, point in enumerate(x):
        parts = [np.zeros((0, space.dim))]
        for parameter, columns in space.blocks():
            moves = parameter.moves(point[columns], rng)
            parts.append(np.tile(point, (len(moves), 1)))
            parts[-1][:, columns] = moves
        np.testing.assert_array_equal(near[owner == i], np.concatenate(parts))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Pairs:
    """Weights of switches, and of pairs of neighbours."""

    alone: jax.Array
    pairs: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        on = x[:, 1 : 2 * len(self.alone) : 2]
        return on @ self.alone + (on[:, 1:] * on[:, :-1]) @ self.pairs + x[:, -1] ** 2


def test_fifty_switches_are_searched_to_an_optimum(x64: None) -> None:
    """One change a round would set 12 of them."""
    rng = np.random.default_rng(0)
    switches = {f"s{i}": CategoricalDistribution([False, True]) for i in range(50)}
    space = Space(switches | {"x": FloatDistribution(-1, 1)})
    score = Pairs(jnp.asarray(rng.normal(size=50)), jnp.asarray(0.5 * rng.normal(size=49)))
    found = minimise(score, space, Data.pad(np.zeros((0, 101)), np.zeros(0)), rng)
    near, _ = neighbours(space, found[None], rng)
    values = np.asarray(score(jnp.asarray(np.concatenate([found[None], near]))))
    assert values[0] <= values.min() + 1e-9
