"""Wrap a problem to vary it: noise, shift, rotation, failures, delay, batches.

A problem's name lists its wrappers: `levy-15+shift+noise=0.05` is Levy with its optimum moved and
Gaussian noise whose standard deviation is 5 % of the function's range. Shift and rotation depend on
the seed of the run, so that every seed is another instance, the same for every method.

Noise is on the constraints, too, as in Neural-CBO's text: each has its own, by its own range.

Neural-BO, Neural-CBO and PINN-BO state a noise variance of 1 % of the range (`+variance=0.01`).
What their programs add is noise whose standard deviation is a share of that of the values over the
box: `+spread=0.1`, in Neural-CBO `+spread=0.05`.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ortho_group, qmc

from neurobo.bench.problem import Evaluation, Problem, Vector
from neurobo.errors import InvalidInput, check_number, did_you_mean
from neurobo.space.search_space import Params, Space

MARGIN = 0.1
"""A shifted optimum stays this share of the box away from every side."""


def shift(problem: Problem, seed: int) -> Problem:
    """Move the optimum to a uniformly random place in the middle of the box."""
    low, high, best = _box(problem, "shifted")
    place = _rng(problem, seed, "shift").uniform(MARGIN, 1 - MARGIN, len(low))
    new = low + place * (high - low)
    return _moved(problem, "shift", new, lambda x: x - new + best)


def rotate(problem: Problem, seed: int) -> Problem:
    """Turn the function around its optimum, in the coordinates of the unit cube."""
    low, high, best = _box(problem, "rotated")
    size = high - low
    if len(low) > 1:
        turn = ortho_group.rvs(len(low), random_state=_rng(problem, seed, "rotate"))
    else:
        turn = np.array([[-1.0]])
    return _moved(problem, "rotate", best, lambda x: best + turn @ ((x - best) / size) * size)


def noise(problem: Problem, share: float) -> Problem:
    """Add Gaussian noise; `share` is its standard deviation as a share of the range of values."""
    return _noisy(problem, "noise", share, ranges, lambda size: share * size)


def variance(problem: Problem, share: float) -> Problem:
    """Add Gaussian noise; `share` is its variance as a share of the range of values."""
    return _noisy(problem, "variance", share, ranges, lambda size: math.sqrt(share * size))


def spread(problem: Problem, share: float) -> Problem:
    """Add Gaussian noise; `share` is its standard deviation as a share of that of the values."""
    return _noisy(problem, "spread", share, spreads, lambda size: share * size)


def _noisy(
    problem: Problem,
    word: str,
    share: float,
    measure: Callable[[Problem], Sizes],
    sd: Callable[[float], float],
) -> Problem:
    check_number(word, share, above=0)
    sizes: list[Sizes] = []  # measured when first needed

    def evaluate(params: Params, rng: np.random.Generator) -> Evaluation:
        if not sizes:
            sizes.append(measure(problem))
        clean = problem.evaluate(params, rng)
        noise = sd(sizes[0].value) * rng.normal()
        told = {
            name: limit + sd(sizes[0].constraints[name]) * rng.normal()
            for name, limit in clean.constraints.items()
        }
        return replace(
            clean,
            value=clean.value + noise,
            truth=clean.noiseless,
            constraints=told,
            true_constraints=clean.noiseless_constraints if told else None,
        )

    return problem.renamed(f"{word}={share:g}", evaluate=evaluate, noisy=True)


def failures(problem: Problem, rate: float) -> Problem:
    """Let evaluations fail at random."""
    check_number("failures", rate, above=0)
    if rate >= 1:
        raise InvalidInput(f"failures must be a rate below 1, got {rate}")

    def evaluate(params: Params, rng: np.random.Generator) -> Evaluation:
        if rng.random() < rate:
            return Evaluation(math.nan, failure="failed at random, as the problem asks for")
        return problem.evaluate(params, rng)

    return problem.renamed(f"failures={rate:g}", evaluate=evaluate)


def delay(problem: Problem, seconds: float) -> Problem:
    """Let every evaluation take some time."""
    check_number("delay", seconds, above=0)

    def evaluate(params: Params, rng: np.random.Generator) -> Evaluation:
        time.sleep(seconds)
        return problem.evaluate(params, rng)

    return problem.renamed(f"delay={seconds:g}", evaluate=evaluate)


def batch(problem: Problem, size: float) -> Problem:
    """Ask for so many points before any of their values is told."""
    if size != int(size) or size < 2:
        raise InvalidInput(f"batch must be a whole number of at least 2, got {size:g}")
    return problem.renamed(f"batch={size:g}", batch=int(size))


_BY_SEED = {"shift": shift, "rotate": rotate}
_BY_AMOUNT = {
    "noise": noise, "variance": variance, "spread": spread, "failures": failures, "delay": delay,
    "batch": batch,
}  # fmt: skip


def wrap(problem: Problem, wrappers: list[str], seed: int) -> Problem:
    """Apply what a name says after its first plus sign, from left to right.

    Only failures and delays come last, wherever they are written: noise measures the range of the
    function with thousands of evaluations, none of which should fail or wait.
    """
    written = "+".join([problem.name, *wrappers])
    for text in sorted(wrappers, key=lambda w: w.partition("=")[0] in ("failures", "delay")):
        word, equals, amount = text.partition("=")
        if word in _BY_SEED and not equals:
            problem = _BY_SEED[word](problem, seed)
        elif word in _BY_AMOUNT and equals:
            problem = _BY_AMOUNT[word](problem, _number(text, amount))
        else:
            raise InvalidInput(
                f"a wrapper must be one of {list(_BY_SEED)} or, with =amount, of "
                f"{list(_BY_AMOUNT)}, got {text!r}{did_you_mean(word, [*_BY_SEED, *_BY_AMOUNT])}"
            )
    return replace(problem, name=written) if wrappers else problem


class Sizes(NamedTuple):
    """How large the value and each constraint are, without noise."""

    value: float
    constraints: dict[str, float]


def ranges(problem: Problem) -> Sizes:
    """Highest minus lowest over Sobol points, for the value over the known optimum, too."""
    values, limits = _sampled(problem)
    values += [] if problem.optimum is None else [problem.optimum]
    return Sizes(_range(values), {name: _range(c) for name, c in limits.items()})


def spreads(problem: Problem) -> Sizes:
    """Standard deviations over Sobol points."""
    values, limits = _sampled(problem)
    return Sizes(float(np.nanstd(values)), {k: float(np.nanstd(c)) for k, c in limits.items()})


def _sampled(problem: Problem, n: int = 4096) -> tuple[list[float], dict[str, list[float]]]:
    """Values and constraints over Sobol points, without noise."""
    space, rng = problem.space, np.random.default_rng(0)
    unit = np.asarray(qmc.Sobol(space.n_parameters, rng=rng).random(n))
    if space.as_array:  # a plain box: decoding 100 parameters one by one takes seconds
        low, high = _bounds(space)
        points = map(space.params, low + unit * (high - low))
    else:
        points = map(space.decode, space.from_unit(unit))
    found = [problem.evaluate(params, rng) for params in points]
    limits = {
        name: [o.noiseless_constraints.get(name, math.nan) for o in found]
        for name in problem.constraints
    }
    return [o.noiseless for o in found], limits


def _range(values: list[float]) -> float:
    return float(np.nanmax(values) - np.nanmin(values))


def _number(text: str, amount: str) -> float:
    try:
        return float(amount)
    except ValueError:
        raise InvalidInput(f"a wrapper's amount must be a number, got {text!r}") from None


def _rng(problem: Problem, seed: int, word: str) -> np.random.Generator:
    base = problem.name.partition("+")[0]
    return np.random.default_rng([seed, zlib.crc32(f"{base}:{word}".encode())])


def _box(problem: Problem, verb: str) -> tuple[Vector, Vector, Vector]:
    """The bounds and the best point of a problem that may be moved."""
    if not problem.everywhere or problem.best is None or problem.constraints:
        raise InvalidInput(
            f"a problem can be {verb} if its optimum is known and its formula has no lower "
            f"values outside the box, which does not hold for {problem.name!r}"
        )
    return *_bounds(problem.space), problem.space.point(problem.best)


def _bounds(space: Space) -> tuple[Vector, Vector]:
    ranges: list[Any] = list(space.distributions.values())
    return np.array([float(d.low) for d in ranges]), np.array([float(d.high) for d in ranges])


def _moved(problem: Problem, word: str, best: Vector, back: Callable[[Vector], Vector]) -> Problem:
    """The problem whose point x stands for the old problem's point back(x)."""
    space: Space = problem.space

    def evaluate(params: Params, rng: np.random.Generator) -> Evaluation:
        old = back(space.point(params))
        names = space.distributions
        return problem.evaluate(dict(zip(names, old.tolist(), strict=True)), rng)

    # The law is about the old coordinates and no longer holds as it is written.
    return problem.renamed(word, evaluate=evaluate, best=space.params(best), laws=())
