from __future__ import annotations

import numpy as np
import pytest

import neurobo
from neurobo.errors import InvalidInput
from neurobo.search.initial_design import DESIGNS, default_size, paper_size, start_point, start_size
from neurobo.space.search_space import Space

SPACE = Space.of([(0, 1)] * 3)


@pytest.mark.parametrize(
    ("dim", "budget", "expected"),
    [
        (2, 50, 3),
        (3, 100, 7),
        (6, 200, 15),
        (20, 200, 15),
        (2, 1000, 25),
        (100, 1000, 75),
        (1, 5, 1),
    ],
)
def test_the_paper_s_size(dim: int, budget: int, expected: int) -> None:
    assert paper_size(dim, budget) == expected


def test_our_size_grows_with_the_parameters() -> None:
    sizes = [default_size(Space.of([(0, 1)] * d)) for d in (1, 3, 10, 18, 100)]
    assert sizes == [5, 5, 12, 20, 20]
    assert start_size(SPACE, None) == 5
    assert start_size(SPACE, 0) == 0
    assert start_size(SPACE, "paper", 200) == 15


def test_a_law_halves_the_start() -> None:
    sizes = [default_size(Space.of([(0, 1)] * d), lawful=True) for d in (1, 2, 10, 100)]
    assert sizes == [2, 2, 6, 10]
    assert start_size(SPACE, None, lawful=True) == 2
    assert start_size(SPACE, 7, lawful=True) == 7


@pytest.mark.parametrize("design", DESIGNS)
def test_designs_are_deterministic_distinct_and_follow_the_number(design: str) -> None:
    def points(seed: int) -> np.ndarray:
        return np.array(
            [
                start_point(SPACE, np.zeros((0, 3)), design=design, size=16, seed=seed, number=i)
                for i in range(16)
            ]
        )

    x = points(5)
    np.testing.assert_array_equal(x, points(5))
    assert np.abs(x - points(6)).max() > 0.1
    assert len(np.unique(x, axis=0)) == 16
    if design != "random":  # one point in each sixteenth of every axis
        for column in x.T:
            assert sorted(((column + 1) * 8).astype(int)) == list(range(16))


def test_a_taken_start_point_is_passed_over() -> None:
    space = Space.of({"n": neurobo.Int(0, 3)})
    taken = np.zeros((0, 1))
    for number in range(4):
        x = start_point(space, taken, design="sobol", size=4, seed=0, number=number)
        taken = np.concatenate([taken, x[None]])
    assert sorted(space.decode(x)["n"] for x in taken) == [0, 1, 2, 3]


@pytest.mark.parametrize("given", [-1, 1.5, "all", True])
def test_bad_sizes_are_refused(given: object) -> None:
    with pytest.raises(InvalidInput, match="n_startup_trials"):
        start_size(SPACE, given)  # type: ignore[arg-type]


def test_the_paper_s_rule_needs_a_budget() -> None:
    with pytest.raises(InvalidInput, match="needs the budget"):
        start_size(SPACE, "paper")


def _worst_gap(points: np.ndarray) -> float:
    """The largest distance of any place in the box from its nearest point."""
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 21)] * points.shape[1]), -1)
    grid = grid.reshape(-1, points.shape[1])
    return float(np.linalg.norm(grid[:, None] - points[None], axis=2).min(axis=1).max())


def test_the_uncertainty_design_leaves_no_place_far_from_a_point() -> None:
    """Sequential choice of the least known point fills the box better than chance."""
    space = Space.of([(0, 1)] * 2)
    gaps = {}
    for design in ("uncertainty", "random"):
        found = []
        for seed in range(3):
            taken = np.empty((0, 2))
            for number in range(10):
                x = start_point(space, taken, design=design, size=10, seed=seed, number=number)
                taken = np.concatenate([taken, x[None]])
            found.append(_worst_gap(taken))
        gaps[design] = found
    assert max(gaps["uncertainty"]) < min(gaps["random"])


def test_the_uncertainty_design_in_a_mixed_space() -> None:
    space = {"x": (0.0, 1.0), "c": neurobo.Categorical(["a", "b", "c"]), "n": neurobo.Int(0, 3)}
    points = neurobo.suggest(space, n=6, seed=0, start="uncertainty", n_startup_trials=6)
    assert {p["c"] for p in points} == {"a", "b", "c"}
    assert points == neurobo.suggest(space, n=6, seed=0, start="uncertainty", n_startup_trials=6)


def test_the_design_covers_every_branch() -> None:
    """Each set of parameters that can be active together, however unequal their shares."""
    space = {
        "kind": neurobo.Categorical(["a", "b", "c"]),
        **{k: neurobo.Conditional((0.0, 1.0), when={"kind": [k]}) for k in "abc"},
        "n": neurobo.Int(1, 100),
        "large": neurobo.Conditional((0.0, 1.0), when={"n": (99, 100)}),
    }
    for design in ("sobol", "lhs", "random"):
        for seed in range(5):
            points = neurobo.suggest(space, n=8, seed=seed, start=design, n_startup_trials=8)
            sets = {frozenset(p) - {"kind", "n"} for p in points}
            expected = {frozenset(s) for k in "abc" for s in ([k], [k, "large"])}
            assert sets == expected
            inner = [p[k] for p in points for k in "abc" if k in p]
            assert np.std(inner) > 0.1


def test_known_constraints_and_conditions_together_leave_out_no_branch() -> None:
    """A branch that only one of twenty values opens has its turn, and every point meets the
    constraints, also one between a number and the parent."""
    space = Space.of(
        {
            "a": (0.0, 1.0), "b": (0.0, 1.0), "level": neurobo.Int(0, 19),
            "rare": neurobo.Conditional((0.0, 1.0), when={"level": [19]}),
        },
        where=["a + b == 1", "20 * a >= level - 19"],
    )  # fmt: skip
    nothing = np.empty((0, space.dim))
    for seed in range(4):
        points = [
            start_point(space, nothing, design="sobol", size=6, seed=seed, number=i)
            for i in range(6)
        ]
        found = [space.decode(point) for point in points]
        assert sum("rare" in p for p in found) == 3
        assert all(abs(p["a"] + p["b"] - 1) < 1e-9 for p in found)
        assert all(space.contains(p) for p in found)
