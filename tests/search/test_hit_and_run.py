"""Points of feasible sets: inside, and evenly spread."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import kstest, qmc
from search.regions import REGIONS, outside, parts, region

import neurobo
from neurobo.errors import InvalidInput
from neurobo.search.feasible_points import (
    KEPT,
    check_not_empty,
    even_points,
    local_points,
    mutated_points,
    spread_points,
)
from neurobo.space.search_space import Space


@pytest.mark.parametrize("name", REGIONS)
def test_every_way_to_make_a_point_stays_inside(name: str) -> None:
    space, rng = region(name), np.random.default_rng(0)
    assert space.feasible is not None
    ends = -np.ones(space.dim), np.ones(space.dim)
    everywhere = spread_points(space, 300, rng)
    near = mutated_points(space, everywhere, rng, np.full(300, 0.1), np.ones(300), *ends)
    centre = everywhere[0]
    low, high = np.maximum(centre - 0.2, -1), np.minimum(centre + 0.2, 1)
    low, high = np.where(space.numeric, low, -1), np.where(space.numeric, high, 1)
    local = local_points(space, centre, low, high, everywhere, rng)
    assert np.all((local >= low - 1e-9) & (local <= high + 1e-9))
    if not space.feasible.groups and not len(space.feasible.lattice):
        assert np.median(np.max(np.abs(near - everywhere)[:, space.numeric], axis=1)) <= 0.2
    for x in (everywhere, near, local, even_points(space, 40, seed=1)):
        assert outside(space, x) == []
        np.testing.assert_allclose(space.snap(x), x, atol=1e-12)
    assert len(np.unique(near.round(9), axis=0)) > 10  # they do move


@pytest.mark.slow
@pytest.mark.parametrize("name", list(REGIONS)[:5])
def test_ten_thousand_points_and_designs_are_inside(name: str) -> None:
    space = region(name)
    assert space.where is not None
    x = spread_points(space, 6000, np.random.default_rng(0))
    designs = [even_points(space, 20, seed) for seed in range(200)]
    assert outside(space, np.concatenate([x, *designs])) == []


@pytest.mark.parametrize("count", [3, 8, 30])
def test_mixtures_are_uniform_on_the_simplex(count: int) -> None:
    """Each part of a uniform point is Beta(1, parts - 1); error rate 1e-3 for all together."""
    space = region(f"mixture of {count}")
    x = (spread_points(space, KEPT, np.random.default_rng(3)) + 1) / 2
    found = [kstest(x[:, i], "beta", args=(1, count - 1)).pvalue for i in range(count)]
    assert min(found) > 1e-3 / count


def test_a_polytope_is_covered_as_by_rejection() -> None:
    """The chance to be in any of 60 half spaces, against rejection sampling; error rate 1e-3."""
    where = ["2 * p0 <= p1 + 0.3", "p1 + p2 + p3 <= 1.2", "p3 >= 0.5 * p0"]
    space = Space.of(parts(4), where)
    assert space.where is not None
    cube = np.random.default_rng(1).random((400_000, 4))
    inside = (2 * cube[:, 0] <= cube[:, 1] + 0.3) & (cube[:, 1:].sum(axis=1) <= 1.2)
    truth = cube[inside & (cube[:, 3] >= 0.5 * cube[:, 0])]
    x = (spread_points(space, KEPT, np.random.default_rng(2)) + 1) / 2
    normals = np.random.default_rng(5).normal(size=(60, 4))
    found = [kstest(x @ v, truth @ v).pvalue for v in normals]
    assert min(found) > 1e-3 / 60


def test_logarithmic_ranges_are_log_uniform() -> None:
    space = Space.of({"r": neurobo.Float(1e-5, 1e-1, log=True), "b": (0.0, 1.0)}, ["b + r <= 2"])
    x = spread_points(space, KEPT, np.random.default_rng(2))
    assert kstest(x[:, 0], "uniform", args=(-1, 2)).pvalue > 1e-3
    assert kstest(x[:, 1], "uniform", args=(-1, 2)).pvalue > 1e-3


def test_whole_points_are_equally_likely() -> None:
    """All 37 solutions of the equation; chi square, error rate 1e-3."""
    from scipy.stats import chisquare

    space = region("whole")
    x = np.concatenate([spread_points(space, KEPT, np.random.default_rng(i)) for i in range(4)])
    _, counts = np.unique(x.round(6), axis=0, return_counts=True)
    assert len(counts) == space.n_points
    # Consecutive samples of a chain are alike: only every fourth counts.
    assert chisquare(counts / 4).pvalue > 1e-3


def test_at_most_uses_every_choice_of_components() -> None:
    space = region("3 of 8")
    x = spread_points(space, KEPT, np.random.default_rng(0))
    supports, counts = np.unique(x > -1 + 1e-9, axis=0, return_counts=True)
    assert len(supports) == 56
    assert counts.max() < 5 * counts.mean()


def test_a_design_is_more_even_than_random_points() -> None:
    """Centred discrepancy of triangles mapped to the square, 20 points, mean of 20 seeds."""
    space = region("mixture of 3")

    def discrepancy(x: np.ndarray) -> float:
        p = (x + 1) / 2
        # Uniform on the triangle: (1 - a)^2 and b / (1 - a) are uniform and independent.
        square = np.c_[(1 - p[:, 0]) ** 2, p[:, 1] / (1 - p[:, 0])]
        return float(qmc.discrepancy(np.clip(square, 0, 1)))

    designs = [discrepancy(even_points(space, 20, seed)) for seed in range(20)]
    random = [
        discrepancy(spread_points(space, 20, np.random.default_rng(seed))) for seed in range(20)
    ]
    assert np.mean(designs) < 0.6 * np.mean(random)


def test_callables_that_allow_nothing_are_refused() -> None:
    space = Space.of(parts(2), [lambda p: p["p0"] + p["p1"] + 0.01])
    with pytest.raises(InvalidInput, match=r"lowest value of the callables is 0.01"):
        check_not_empty(space)


def _rejected(name: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform points of a region, by means that share nothing with ours: rejection sampling where
    that is possible, Dirichlet draws for mixtures."""
    if name == "12 rows in 20-D":
        found = [np.empty((0, 20))]
        space, where = REGIONS[name]
        rows = Space.of(space, where).where
        assert rows is not None
        a = np.array([[float(c) for _, c in row.coefficients] for row in rows.linear])
        b = np.array([float(row.bound) for row in rows.linear])
        while sum(map(len, found)) < count:
            cube = rng.random((200_000, 20))
            found.append(cube[np.all(cube @ a.T <= b, axis=1)])
        return np.concatenate(found)[:count]
    if name == "3 of 8":
        x = np.zeros((count, 8))
        for row in x:
            row[rng.choice(8, 3, replace=False)] = rng.dirichlet(np.ones(3))
        return x
    return rng.dirichlet(np.ones(int(name.split()[-1])), size=count)


def _energy(x: np.ndarray, truth: np.ndarray) -> float:
    """The energy distance of points from a distribution: a discrepancy for regions of any shape,
    0 only for a perfect cover."""
    return float(2 * cdist(x, truth).mean() - cdist(x, x).mean() - cdist(truth, truth).mean())


@pytest.mark.parametrize("name", list(REGIONS)[:5])
def test_a_design_covers_a_region_better_than_rejection_sampling(name: str) -> None:
    """Discrepancy of designs of 40 points, mean of 8 seeds, from 2000 uniform ones."""
    space, rng = region(name), np.random.default_rng(0)
    truth = _rejected(name, 2000, rng)
    designs = [_energy((even_points(space, 40, seed) + 1) / 2, truth) for seed in range(8)]
    random = [_energy(_rejected(name, 40, rng), truth) for _ in range(8)]
    assert np.mean(designs) < 0.7 * np.mean(random), (np.mean(designs), np.mean(random))


def test_twelve_inequalities_are_covered_as_by_rejection() -> None:
    """Coordinates and 40 directions in 20 dimensions; error rate 1e-3 for all together."""
    name = "12 rows in 20-D"
    truth = _rejected(name, 4000, np.random.default_rng(1))
    x = (spread_points(region(name), KEPT, np.random.default_rng(2)) + 1) / 2
    along = np.concatenate([np.eye(20), np.random.default_rng(5).normal(size=(40, 20))])
    assert min(kstest(x @ v, truth @ v).pvalue for v in along) > 1e-3 / len(along)
