"""Controllers to tune: landing on the moon, and a rover's way between obstacles."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.interpolate import make_interp_spline

from neurobo.bench.problem import Evaluation, Problem, Vector, of_vector
from neurobo.bench.problems.pushing import box2d
from neurobo.bench.problems.stored import stored
from neurobo.errors import require
from neurobo.space.search_space import Params, Space

EPISODES = 20
STEPS = 1000
HEURISTIC = (0.25, 0.5, 0.2, 0.275, 0.25, 0.5, 0.25, 0.25, 0.0, 0.25, 0.025, 0.025)
"""Gymnasium's own hand-made controller as a point of the lander's box."""

_LANDER = Space.of([(0.0, 1.0)] * 12)


def lander_start(seed: int) -> list[Params]:
    """The 20 points that one of the five runs in the STO-BNTS authors' program began with."""
    runs = stored("lander_start")["x"]
    return [_LANDER.params(x) for x in runs[seed % len(runs)]]


def lander_action(w: Vector, s: Float[np.ndarray, " 8"]) -> int:
    """What a controller with gains `w` fires in state `s`: nothing, left, main or right engine.

    The state is x, y, their speeds, the angle, its speed, and whether each leg touches the ground.
    """
    angle_target = min(max(w[0] * s[0] + w[1] * s[2], -w[2]), w[2])
    angle = w[4] * (angle_target - s[4]) - w[5] * s[5]
    hover = w[6] * (w[3] * abs(s[0]) - s[1]) - w[7] * s[3]
    if s[6] or s[7]:
        angle, hover = w[8], -w[9] * s[3]
    if hover > abs(angle) and hover > w[10]:
        return 2
    if angle < -w[11]:
        return 3
    return 1 if angle > w[11] else 0


def _land(params: Params, rng: np.random.Generator) -> Evaluation:
    """Minus the mean return of some episodes, whose weather the generator chooses."""
    gains = 2 * _LANDER.point(_LANDER.params(params))
    box2d()
    env = require("gymnasium").make("LunarLander-v3", disable_env_checker=True).unwrapped
    try:
        returns = [_episode(env, gains, seed) for seed in rng.integers(2**31, size=EPISODES)]
    finally:
        env.close()
    return Evaluation(-float(np.mean(returns)))


def _episode(env: Any, gains: Vector, seed: int) -> float:
    state, _ = env.reset(seed=int(seed))
    total = 0.0
    for _ in range(STEPS):
        state, reward, landed, _, _ = env.step(lander_action(gains, state))
        total += float(reward)
        if landed:
            break
    return total


POINTS = 10
HALF_WIDTH = 0.05
START, GOAL = np.array([0.05, 0.05]), np.array([0.95, 0.95])
SAMPLES = 1000

Places = Float[np.ndarray, "n 2"]

# fmt: off
OBSTACLES: Places = np.array([
    (0.11353145, 0.17251116), (0.4849413, 0.7684513), (0.38840863, 0.10730809),
    (0.32968556, 0.37542275), (0.64342773, 0.32438415), (0.42, 0.35), (0.38745546, 0.0688907),
    (0.05771529, 0.1670573), (0.48750001, 0.67864249), (0.5294646, 0.66245226),
    (0.88495861, 0.76770809), (0.71132462, 0.46580745), (0.02038182, 0.32146063),
    (0.34077448, 0.70446464), (0.61490175, 0.79081785), (0.37367616, 0.6720441),
    (0.14711569, 0.57060365), (0.76084188, 0.65168123), (0.51038721, 0.78655373),
    (0.50396508, 0.90299952), (0.23763956, 0.38260748), (0.40169679, 0.72553068),
    (0.59670114, 0.08541569), (0.5514408, 0.62855134), (0.84606733, 0.94264543), (0.8, 0.19590218),
    (0.39181603, 0.46357532), (0.44800403, 0.27380116), (0.5681913, 0.1468706),
    (0.37418262, 0.69210095),
])
# fmt: on
"""The middles of the boxes in the rover's way, from the authors' program."""


def blocked(places: Places) -> Bool[np.ndarray, " n"]:
    """Whether a place lies in an obstacle or outside the unit square."""
    hit = np.abs(places[:, None] - OBSTACLES).max(2) < HALF_WIDTH
    return hit.any(1) | (np.abs(places - 0.5).max(1) > 0.5)


def route(x: Vector) -> Places:
    """A cubic spline from the start through the given points, in equal times, to the goal."""
    through = np.vstack([START, x.reshape(POINTS, 2), GOAL])
    spline = make_interp_spline(np.linspace(0, 1, len(through)), through, k=3)
    return np.asarray(spline(np.linspace(0, 1, SAMPLES)))


def _drive(x: Vector) -> float:
    """The cost along the way: 0.05 per length, and 20 more where it is blocked."""
    places = route(x)
    cost = 0.05 + 20.0 * blocked(places)
    lengths = np.linalg.norm(np.diff(places, axis=0), axis=1)
    return float(lengths @ (cost[:-1] + cost[1:]) / 2)


PROBLEMS = (
    Problem(
        "lunar-lander-12",
        f"gains of a moon lander's controller: minus the mean return of {EPISODES} landings",
        source="Eriksson et al. 2019, Scalable Global Optimization via Local Bayesian Optimization",
        space=_LANDER,
        evaluate=_land,
        budget=520,
        noisy=True,
        start=lander_start,
    ),
    of_vector(
        "rover-20",
        "a rover's way between the authors' 30 obstacles: its length, and a penalty where blocked",
        _drive,
        [(-0.1, 1.1)] * (2 * POINTS),
        source="Wang et al. 2018, Batched Large-scale Bayesian Optimization",
        budget=520,
    ),
)
