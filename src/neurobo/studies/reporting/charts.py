"""The charts of a study's report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial

from neurobo.analysis.predictions import Slice
from neurobo.page.charts import (
    COLOURS,
    Axis,
    Band,
    Bars,
    Bundle,
    Dots,
    Line,
    Mark,
    Parallel,
    Picture,
    Rug,
    Segments,
)
from neurobo.space.parameters import Parameter
from neurobo.studies.reporting.context import Context
from neurobo.studies.reporting.findings import Findings, Influence, plus_minus, shown, thinned

BEST, OTHER, GOOD, FAILED, GREY = *COLOURS[:4], "#8a8f98"
LINES = 300
"""Of the parallel coordinates."""
MOST_MARKS = 500
"""Of failed trials."""
_RANKS = ((0.5, 1.0, 0.28, COLOURS[1]), (0.1, 0.5, 0.5, COLOURS[4]), (0.0, 0.1, 0.9, COLOURS[0]))
"""Lines of the parallel coordinates: from which rank to which, how strong, in which colour. Bad
ones come first, so that good ones lie on top."""
_OUTLIERS = ((0.25, 50), (0.1, 10), (0.05, 4))
"""This share of the results is left out at first if the worst is so many times farther from the
best than the others are."""
_TRIAL = Axis("trial", whole=True)


def convergence(found: Findings) -> Picture:
    c = found.convergence
    marks: list[Mark] = []
    x, best = _stairs(c.step, c.best)
    if c.noise_sd and len(x):
        marks.append(Band(x, best - 2 * c.noise_sd, best + 2 * c.noise_sd, BEST))
    for good, name, colour in ((True, "result", OTHER), (False, "not feasible", GREY)):
        some = c.feasible == good
        if some.any():
            marks.append(_dots(c.number[some], c.value[some], name, colour, hollow=not good))
    if len(x):
        marks.append(Line(x, best, BEST, 2.5, tip="best so far: {y}"))
    if len(c.failed):
        marks.append(Rug(_even(c.failed, MOST_MARKS), FAILED, "trial {x} failed"))
    label = f"Values of {len(c.number)} results over trials"
    if len(x):
        label += f"; the best goes from {c.best[0]:.4g} to {c.best[-1]:.4g}"
    return Picture(label, marks, _TRIAL, Axis("value", view=view(found)), 340)


def _stairs(step: np.ndarray, best: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A line that keeps its height until the next step."""
    return np.repeat(step, 2)[1:], np.repeat(best, 2)[:-1]


def _even(values: np.ndarray, most: int) -> np.ndarray:
    """At most so many of them."""
    return values[np.unique(np.linspace(0, len(values) - 1, min(len(values), most)).astype(int))]


def view(found: Findings) -> tuple[float, float] | None:
    """The values worth seeing, if a few bad ones would flatten all others."""
    c = found.convergence
    values = c.value[c.feasible] if c.feasible.any() else c.value
    if len(values) < 8:
        return None
    sign = found.tally.sign
    worse = np.sort(sign * values) - np.min(sign * values)
    for share, times in _OUTLIERS:
        edge = float(np.quantile(worse, 1 - share))
        if edge > 0 and worse[-1] >= times * edge:
            good = float(np.min(sign * values))
            ends = sign * (good - 0.08 * edge), sign * (good + 1.3 * edge)
            return min(ends), max(ends)
    return None


def _dots(x: np.ndarray, y: np.ndarray, name: str, colour: str, *, hollow: bool = False) -> Dots:
    radius = 3.0 if len(x) < 400 else 2.0
    tip = f"trial {{x}}: {{y}} ({name})"
    return Dots(x, y, colour, "hollow" if hollow else "filled", radius, tip=tip)


# Parallel coordinates -------------------------------------------------------------------------


def parallel(found: Findings) -> Parallel:
    """One line for each result through all parameters to its value; good ones on top."""
    tally, parameters = found.tally, found.space.parameters
    trials = in_parallel(found)
    values = [float(t.value or 0.0) for t in trials]
    ends = view(found) or (min(values), max(values))
    if ends[0] == ends[1]:
        ends = ends[0] - 0.5, ends[1] + 0.5
    axes = [*(_axis(name, parameter) for name, parameter in parameters.items())]
    axes.append(Axis("value", low=ends[0], high=ends[1]))
    bundles = []
    for first, last, strength, colour in _RANKS:
        chosen = trials[math.ceil(first * len(trials)) : math.ceil(last * len(trials))]
        rows = [
            [*(_place(p, t.params.get(n)) for n, p in parameters.items()), _within(t, ends)]
            for t in chosen
        ]
        bundles.append(Bundle(rows, colour, strength, [_about(found, t) for t in chosen]))
    best = f"; the best result has the value {tally.best.value:.4g}" if tally.best else ""
    label = f"Parallel coordinates of {len(trials)} results over {len(parameters)} parameters{best}"
    return Parallel(label, axes, bundles)


def in_parallel(found: Findings) -> list[FrozenTrial]:
    """The results that are drawn, best first: of many the best tenth of `LINES`, and an even share
    of the others."""
    tally = found.tally
    trials = sorted(tally.feasible or tally.complete, key=tally.lower)
    if len(trials) <= LINES:
        return trials
    others = np.linspace(LINES // 10, len(trials) - 1, LINES - LINES // 10).astype(int)
    return [*trials[: LINES // 10], *(trials[i] for i in others)]


def _axis(name: str, parameter: Parameter) -> Axis:
    if isinstance(parameter.distribution, CategoricalDistribution):
        return Axis(name, categories=[shown(c) for c in parameter.distribution.choices])
    range_ = parameter.distribution
    return Axis(name, range_.log, range_.low, range_.high, whole=isinstance(range_.low, int))


def _place(parameter: Parameter, value: Any) -> float | None:
    if isinstance(parameter.distribution, CategoricalDistribution):
        choices = list(parameter.distribution.choices)
        return choices.index(value) if value in choices else None
    return None if value is None else float(f"{value:.6g}")


def _within(trial: FrozenTrial, ends: tuple[float, float]) -> float:
    return min(max(float(trial.value or 0.0), ends[0]), ends[1])


def _about(found: Findings, trial: FrozenTrial, most: int = 16) -> str:
    names = found.space.parameters
    lines = [f"{name} = {found.setting(name, trial.params.get(name, ''))}" for name in names]
    more = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join([f"trial {trial.number}: {found.value(trial.value)}", *lines[:most], *more])


# Around the best point, and over the whole space ----------------------------------------------


def slice_of(found: Findings, one: Slice) -> Picture:
    here = found.contenders[0].trial.params[one.name]
    low, high = one.mean - 2 * one.sd, one.mean + 2 * one.sd
    expected = [plus_minus(m, 2 * s) for m, s in zip(one.mean, one.sd, strict=True)]
    settings = [found.setting(one.name, x) for x in one.x]
    tips = [f"{x}: {words}" for x, words in zip(settings, expected, strict=True)]
    label = f"Expected value along {one.name}, from {one.mean.min():.4g} to {one.mean.max():.4g}"
    if one.numeric:
        x = np.array(one.x, dtype=float)
        axis = Axis(log=one.log, whole=isinstance(one.x[0], int))
        marks: list[Mark] = [
            Band(x, low, high, OTHER),
            Line(x, one.mean, OTHER, 2.2, tip=tips),
        ]
        mark, mean = float(here), float(np.interp(float(here), x, one.mean))
    else:
        x = np.arange(len(one.x), dtype=float)
        axis = Axis(categories=[shown(v) for v in one.x])
        bars = zip(x.tolist(), low.tolist(), high.tolist(), strict=True)
        marks = [
            Segments([(at, bottom, at, top) for at, bottom, top in bars], OTHER, 1.5),
            Dots(x, one.mean, OTHER, radius=4.5, tip=tips),
        ]
        place = list(one.x).index(here)
        mark, mean = float(place), float(one.mean[place])
    tip = f"recommended: {found.setting(one.name, here)}"
    diamond = Dots(np.array([mark]), np.array([mean]), BEST, "diamond", 6, tip=tip)
    return Picture(label, [*marks, diamond], axis, Axis("value"), 220)


def best_over(found: Findings, one: Context) -> Picture:
    """The best expected value for each value of a context parameter."""
    low, high = one.mean - 2 * one.sd, one.mean + 2 * one.sd
    tips = [
        f"{found.setting(one.name, value)}: {plus_minus(best.value, 2 * best.sd)}"
        for value, best in zip(one.values, one.found, strict=True)
    ]
    label = f"Best expected value over {one.name}, {one.mean.min():.4g} to {one.mean.max():.4g}"
    parameter = found.space.parameters[one.name]
    if isinstance(parameter.distribution, CategoricalDistribution):
        x = np.arange(len(one.values), dtype=float)
        bars = zip(x.tolist(), low.tolist(), high.tolist(), strict=True)
        marks: list[Mark] = [
            Segments([(at, bottom, at, top) for at, bottom, top in bars], OTHER, 1.5),
            Dots(x, one.mean, OTHER, radius=4.5, tip=tips),
        ]
    else:
        x = np.array(one.values, dtype=float)
        marks = [Band(x, low, high, OTHER), Line(x, one.mean, OTHER, 2.2, tip=tips)]
    return Picture(label, marks, _axis(one.name, parameter), Axis("best expected value"), 240)


def shares(rows: Sequence[Influence]) -> Picture:
    """How much of the variance parameters explain: alone, and with their combinations."""
    tips = [f"{r.name}: alone {r.alone:.0%}, with combinations {r.total:.0%}" for r in rows]
    marks = [
        Bars(np.array([100 * r.total for r in rows]), OTHER, 0.35, tips),
        Bars(np.array([100 * r.alone for r in rows]), OTHER, 1.0, tips),
    ]
    names = Axis(categories=[r.name for r in rows])
    label = "Importance: " + ", ".join(f"{r.name} {r.alone:.0%}" for r in rows[:5])
    return Picture(label, marks, Axis("% of the variation", zero=True), names, 60 + 26 * len(rows))


def speeds(rows: Sequence[Influence]) -> Picture:
    names = Axis(categories=[r.name for r in rows])
    bars = Bars(np.array([r.speed for r in rows]), GOOD)
    label = "Inverse length scales, relative to the largest"
    return Picture(label, [bars], Axis(zero=True), names, 44 + 26 * len(rows))


# Troubles and the search ----------------------------------------------------------------------


def failures(found: Findings) -> Picture:
    failed = found.convergence.failed
    last = float(max(t.number for t in found.tally.trials))
    total = np.arange(1.0, len(failed) + 1)
    # Every failure is a step up.
    x = np.concatenate([[0.0], np.repeat(failed, 2), [last]])
    y = np.concatenate([[0.0], np.stack([total - 1, total], axis=1).ravel(), total[-1:]])
    if len(failed) > MOST_MARKS:
        x, y = _even(x, MOST_MARKS), _even(y, MOST_MARKS)
    line = Line(x, y, FAILED, tip="{y} failed until trial {x}")
    label = f"{len(failed)} failures over trials"
    return Picture(label, [line], _TRIAL, Axis("failed so far", zero=True, whole=True), 220)


def constraint(found: Findings, name: str) -> tuple[Picture, float]:
    """A constraint over the trials, and the share of results that meet it."""
    trials = thinned([t for t in found.tally.trials if name in t.constraints], set())
    x = np.array([t.number for t in trials], dtype=float)
    y = np.array([t.constraints[name] for t in trials], dtype=float)
    met = y <= 0
    marks: list[Mark] = [
        _dots(x[met], y[met], "met", GOOD),
        _dots(x[~met], y[~met], "violated", BEST, hollow=True),
        Segments([(None, 0.0, None, 0.0)], dash="dot"),
    ]
    share = float(np.mean(met)) if len(y) else 0.0
    label = f"Constraint {name} over trials, met by {share:.0%} of the results"
    return Picture(label, marks, _TRIAL, Axis("at most 0")), share


def distances(found: Findings) -> Picture:
    x, y = found.jumps
    step = max(len(x) // 1500, 1)
    dots = Dots(x[::step], y[::step], OTHER, tip="trial {x}: {y}")
    label = "Distance of each point from the best one before it"
    return Picture(label, [dots], _TRIAL, Axis("distance", zero=True))
