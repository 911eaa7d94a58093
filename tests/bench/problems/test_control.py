from __future__ import annotations

import math

import numpy as np
import pytest

from neurobo.bench.problem import Evaluation, Problem
from neurobo.bench.problems import problem
from neurobo.bench.problems.control import (
    GOAL,
    HALF_WIDTH,
    HEURISTIC,
    OBSTACLES,
    START,
    blocked,
    lander_action,
    route,
)
from neurobo.bench.run_one import start_design
from neurobo.errors import InvalidInput
from neurobo.space.search_space import Params

LANDER, ROVER, PUSHING = map(problem, ["lunar-lander-12", "rover-20", "robot-pushing-14"])
FIRST = [0.548814, 0.978618, 0.359508]
"""Of the authors' first run."""
AUTHORS_BOXES = [(0.11353145, 0.17251116), (0.37418262, 0.69210095)]
STRAIGHT = np.linspace(START, GOAL, 12)[1:-1].ravel()


def at(given: Problem, x: object, seed: int = 0) -> Evaluation:
    return given.evaluate(given.space.params(x), np.random.default_rng(seed))


def state(**parts: float) -> np.ndarray:
    names = ["x", "y", "vx", "vy", "angle", "spin", "left", "right"]
    return np.array([parts.get(name, 0.0) for name in names])


def test_the_hand_made_lander_does_the_obvious() -> None:
    gains = 2 * np.array(HEURISTIC)
    assert lander_action(gains, state(y=1)) == 0
    assert lander_action(gains, state(y=1, vy=-3)) == 2  # falls: main engine
    assert lander_action(gains, state(y=1, angle=0.5)) == 3  # leans left
    assert lander_action(gains, state(y=1, angle=-0.5)) == 1
    assert lander_action(gains, state(vy=-0.2, angle=0.5, left=1)) == 2  # on a leg: only brakes


@pytest.mark.peers
def test_the_hand_made_lander_lands() -> None:
    first = at(LANDER, HEURISTIC)
    assert first.value < -200  # Gymnasium calls a mean return of 200 solved
    assert at(LANDER, HEURISTIC) == first
    assert at(LANDER, HEURISTIC, seed=1) != first
    assert at(LANDER, [0.0] * 12).value > 0  # never fires, so it crashes
    assert LANDER.noisy


@pytest.mark.parametrize("given", [LANDER, PUSHING], ids=lambda p: p.name)
def test_a_point_outside_the_box_is_refused(given: Problem) -> None:
    params = given.space.decode(np.zeros(given.dim))
    name = next(iter(params))
    with pytest.raises(InvalidInput, match="must lie in"):
        given.evaluate(params | {name: 100.0}, np.random.default_rng(0))


def test_a_route_passes_its_points() -> None:
    x = np.random.default_rng(0).uniform(-0.1, 1.1, 20)
    places = route(x)
    assert places.shape == (1000, 2)
    for end, place in ((0, START), (-1, GOAL)):
        np.testing.assert_allclose(places[end], place, atol=1e-12)
    for point in x.reshape(10, 2):
        assert np.linalg.norm(places - point, axis=1).min() < 0.02


def test_runs_of_the_lander_begin_as_the_published_ones() -> None:
    """With the 20 points of one of the authors' five runs, whatever the seed."""
    assert LANDER.start is not None
    runs = [LANDER.start(seed) for seed in range(1000, 1006)]
    assert [len(points) for points in runs] == [20] * 6
    assert runs[5] == runs[0] != runs[1]
    first = LANDER.space.point(runs[0][0])
    np.testing.assert_allclose(first[:3], FIRST, atol=1e-6)
    begun = start_design(LANDER.space, 22, 1000, runs[0])
    assert begun[:20] == runs[0]
    assert len({tuple(p.values()) for p in begun}) == 22
    assert start_design(LANDER.space, 8, 1000, runs[0]) == runs[0][:8]


def test_obstacles_block() -> None:
    assert OBSTACLES.shape == (30, 2)
    np.testing.assert_array_equal(OBSTACLES[[0, -1]], AUTHORS_BOXES)
    assert blocked(OBSTACLES).all()
    assert blocked(OBSTACLES[:1] + 0.9 * HALF_WIDTH).all()
    assert blocked(np.array([[0.5, 1.01], [-0.01, 0.5]])).all()
    assert not blocked(np.array([START, GOAL])).any()


def test_the_rover_pays_for_length_and_for_crossing() -> None:
    """On the diagonal the cost has a closed form, up to the steps at the boxes' sides."""
    places = np.linspace(START, GOAL, 20_001)
    length = math.dist(START, GOAL)
    expected = length * (0.05 + 20 * blocked(places).mean())
    found = at(ROVER, STRAIGHT).value
    assert found == pytest.approx(expected, abs=20 * length * 4e-3)
    assert expected > 1
    away = at(ROVER, np.full(20, 1.1)).value  # outside the square most of the time
    assert away > found
    assert not ROVER.noisy


def test_equal_points_make_a_route() -> None:
    assert math.isfinite(at(ROVER, np.full(20, 0.5)).value)


def pushes(**changes: float) -> Params:
    """Both hands stand far from both things, and do not move."""
    rest: Params = {"angle1": 0.0, "turn1": 0.0, "angle2": 0.0, "turn2": 0.0}
    for robot, x in (("1", -5.0), ("2", 5.0)):
        rest |= {f"x{robot}": x, f"y{robot}": -5.0, f"tenths{robot}": 2.0}
        rest |= {f"speed_x{robot}": 0.0, f"speed_y{robot}": 0.0}
    return rest | changes


@pytest.mark.peers
def test_pushing_moves_things() -> None:
    assert at(PUSHING, pushes()).value == pytest.approx(0, abs=1e-9)
    right = {"x1": -2.0, "y1": 2.0, "angle1": math.pi / 2, "tenths1": 10.0, "speed_x1": 4.0}
    pushed = at(PUSHING, pushes(**right))
    assert -4.28 < pushed.value < -1  # the box is 4.27 from its goal
    assert at(PUSHING, pushes(**right)) == pushed
    assert at(PUSHING, pushes(**right), seed=1) != pushed
    left = right | {"x1": 2.0, "speed_x1": -4.0}
    assert at(PUSHING, pushes(**left)).value > 1


def test_the_pushing_space_is_the_papers() -> None:
    sides = sorted((d.low, d.high) for d in PUSHING.space.distributions.values())  # type: ignore[attr-defined]
    expected = [(-10, 10)] * 4 + [(-5, 5)] * 6 + [(0, 2 * math.pi)] * 2 + [(2, 30)] * 2
    assert sides == expected
    assert "11.073" in PUSHING.summary
