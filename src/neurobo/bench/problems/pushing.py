"""Two robots push two things over a table to their goals (Wang et al. 2018), simulated by Box2D."""

from __future__ import annotations

import math
import warnings
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Float

from neurobo.bench.problem import Evaluation, Problem
from neurobo.errors import require
from neurobo.space.search_space import Params, Space

Place = Float[np.ndarray, " 2"]

STARTS = np.array([(0.0, 2.0), (0.0, -2.0)])
GOALS = np.array([(4.0, 3.5), (-4.0, 3.5)])
STEP = 0.01
"""Seconds between two states of the simulation."""
COAST = 100
"""Steps after both robots have let go."""
GRIP = 30.0
"""How fast a robot reaches the speed it wants, per second."""
SLIP = 0.01
"""Standard deviation of a robot's speeds around the wanted ones."""

_SPACE = Space.of(
    {
        name: bounds
        for robot in ("1", "2")
        for name, bounds in {
            f"x{robot}": (-5, 5),
            f"y{robot}": (-5, 5),
            f"speed_x{robot}": (-10, 10),
            f"speed_y{robot}": (-10, 10),
            f"tenths{robot}": (2, 30),  # of a second
            f"angle{robot}": (0, 2 * math.pi),
            f"turn{robot}": (-5, 5),
        }.items()
    }
)


def box2d() -> ModuleType:
    """Box2D, whose import ends the whole process where warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return require("Box2D")


def _push(params: Params, rng: np.random.Generator) -> Evaluation:
    p = _SPACE.params(params)
    b2 = box2d()
    world = b2.b2World(gravity=(0, 0), doSleep=True)
    table = world.CreateStaticBody()
    box, ball = b2.b2PolygonShape(box=(0.5, 0.5)), b2.b2CircleShape(radius=1)
    things = [_thing(world, table, s, at) for s, at in zip((box, ball), STARTS, strict=True)]
    robots = [_Robot(world, table, p, which, rng) for which in ("1", "2")]
    for step in range(max(r.steps for r in robots) + COAST):
        for robot in robots:
            if step < robot.steps:
                robot.drive()
        world.Step(STEP, 10, 10)
    ends = np.array([list(thing.position) for thing in things])
    return Evaluation(_distance(ends) - _distance(STARTS))


def _distance(places: Float[np.ndarray, "2 2"]) -> float:
    """How far both things are from their goals, together."""
    return float(np.linalg.norm(places - GOALS, axis=1).sum())


def _thing(world: Any, table: Any, shape: Any, at: Place) -> Any:
    thing = world.CreateDynamicBody(position=at.tolist())
    thing.CreateFixture(shape=shape, density=0.05, friction=0.01)
    # The table does not touch what lies on it in this flat world: a joint brakes instead.
    world.CreateFrictionJoint(bodyA=table, bodyB=thing, maxForce=5, maxTorque=2)
    return thing


class _Robot:
    """A flat hand that tries to keep its speed and its rate of turning."""

    def __init__(self, world: Any, table: Any, p: Params, which: str, rng: np.random.Generator):
        b2 = box2d()
        place = (p[f"x{which}"], p[f"y{which}"])
        self.hand = world.CreateDynamicBody(position=place, angle=p[f"angle{which}"])
        self.hand.CreateFixture(shape=b2.b2PolygonShape(box=(1, 0.3)), density=0.1, friction=0.1)
        world.CreateFrictionJoint(bodyA=table, bodyB=self.hand, maxForce=2, maxTorque=2)
        wanted = np.array([p[f"speed_x{which}"], p[f"speed_y{which}"]])
        self.speed = b2.b2Vec2((wanted + rng.normal(0, SLIP, 2)).tolist())
        self.turn = p[f"turn{which}"]
        self.steps = int(10 * p[f"tenths{which}"])

    def drive(self) -> None:
        hand, grip = self.hand, GRIP * self.hand.mass
        hand.ApplyTorque(grip * (self.turn - hand.angularVelocity), wake=True)
        hand.ApplyForce(grip * (self.speed - hand.linearVelocity), hand.position, wake=True)


PROBLEMS = (
    Problem(
        "robot-pushing-14",
        "two robots push a box and a ball: minus the distance by which they come nearer to their "
        f"goals, of {_distance(STARTS):.3f} in all",
        source="Wang et al. 2018, Batched Large-scale Bayesian Optimization",
        space=_SPACE,
        evaluate=_push,
        budget=6000,
        noisy=True,
    ),
)
