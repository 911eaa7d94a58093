"""The second demo: where is a plate hottest? With and without the law of steady heat.

The plates are the three of the PINN-BO experiments (`heat-1` to `heat-3` of the benchmark suite),
so no plate was picked on which the law looks good. A run with the law can still be the slower
one: medians over seeds count.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from neurobo.bench.problem import Problem
from neurobo.bench.problems import problem
from neurobo.bench.problems.physics import temperature
from neurobo.errors import NeuroboWarning, require
from neurobo.physics.pde import PDE
from neurobo.running.minimisation import minimize
from neurobo.search.initial_design import start_size

GOAL = 0.95
"""A search has arrived at this share of the highest temperature."""
SIZE = 2 * math.pi
"""How long the sides of the plates are."""
KINDS = {True: "with the law", False: "without"}


@dataclass(frozen=True)
class Plate:
    number: int
    about: Problem

    @property
    def name(self) -> str:
        return f"plate {self.number}"

    @property
    def hottest(self) -> float:
        assert self.about.optimum is not None
        return -self.about.optimum

    def at(self, point: Float[np.ndarray, " 2"]) -> float:
        return temperature(self.number - 1)(point)


def plates() -> list[Plate]:
    return [Plate(number, problem(f"heat-{number}")) for number in (1, 2, 3)]


@dataclass(frozen=True)
class Search:
    """One run."""

    plate: Plate
    law: bool
    points: Float[np.ndarray, "n 2"]
    share: Float[np.ndarray, " n"]
    """The highest temperature so far, as a share of the plate's highest."""
    start: int
    """How many points were there before the first suggestion."""
    contradicted: bool
    """Whether the law was set aside, because the observations did not fit it."""

    @property
    def evaluations(self) -> int | None:
        """How many it took to arrive, the start included."""
        arrived = np.flatnonzero(self.share >= GOAL)
        return int(arrived[0]) + 1 if len(arrived) else None


def search(
    plate: Plate, trials: int, seed: int, *, law: bool, callback: Callable[[Any, Any], None]
) -> Search:
    """The same call with the law or without: all else is as users have it by default."""
    laws = [PDE(residual) for residual in plate.about.laws] if law else None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", NeuroboWarning)
        study = minimize(
            lambda x: -plate.at(x), [(0.0, SIZE)] * 2, trials,
            physics=laws, seed=seed, progress=False, callbacks=[callback],
        )  # fmt: skip
    for warning in said:
        if not issubclass(warning.category, NeuroboWarning):  # not the law's: for the user
            warnings.warn(warning.message, stacklevel=2)
    contradicted = any(issubclass(warning.category, NeuroboWarning) for warning in said)
    points = np.array([list(t.params.values()) for t in study.trials])
    share = np.maximum.accumulate([-t.values[0] for t in study.trials]) / plate.hottest
    start = start_size(plate.about.space, None, lawful=law)
    return Search(plate, law, points, share, start, contradicted)


def median_evaluations(runs: Sequence[Search]) -> float | None:
    """Over runs; one that did not arrive counts as longer than any other."""
    median = float(np.median([run.evaluations or np.inf for run in runs]))
    return median if np.isfinite(median) else None


def picture(runs: Sequence[Search], path: Path) -> None:
    """For each plate its field with the points of one run, and the median share over time."""
    figures = require("matplotlib.figure", extra="report")
    shown = sorted({run.plate.number for run in runs})
    figure = figures.Figure(figsize=(4 * len(shown), 7.2), layout="constrained")
    axes = figure.subplots(2, len(shown), squeeze=False)
    for (field, curves), number in zip(axes.T, shown, strict=True):
        here = [run for run in runs if run.plate.number == number]
        _draw_field(field, next(run for run in here if run.law))
        _draw_shares(curves, here)
    axes[0, 0].set_ylabel("asked with the law, first seed")
    axes[1, 0].set_ylabel("highest temperature so far, share")
    figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.savefig(path, dpi=130)


def _draw_field(axis: Any, run: Search) -> None:
    along = np.linspace(0, SIZE, 121)
    field = np.array([[run.plate.at(np.array([x, y])) for x in along] for y in along])
    box = (0, SIZE, 0, SIZE)
    axis.imshow(field, origin="lower", extent=box, cmap="inferno")
    axis.contour(field, levels=14, extent=box, colors="white", linewidths=0.3)
    start, asked = run.points[: run.start], run.points[run.start :]
    axis.plot(*start.T, "o", mfc="none", mec="white", ms=7, label="start", clip_on=False)
    axis.plot(*asked.T, "o", color="deepskyblue", mec="black", ms=5, label="asked", clip_on=False)
    axis.set_title(f"{run.plate.name}, up to {run.plate.hottest:.0f} °C")
    axis.legend(loc="lower left", fontsize=8, framealpha=0.4, labelcolor="white", facecolor="black")


def _draw_shares(axis: Any, runs: Sequence[Search]) -> None:
    for law, colour in ((True, "tab:blue"), (False, "tab:orange")):
        shares = np.array([run.share for run in runs if run.law is law])
        evaluations = np.arange(1, shares.shape[1] + 1)
        for one in shares:
            axis.step(evaluations, one, where="post", color=colour, lw=0.8, alpha=0.35)
        median = np.median(shares, axis=0)
        axis.step(evaluations, median, where="post", color=colour, lw=2.2, label=KINDS[law])
    axis.axhline(GOAL, color="grey", lw=0.8, ls=":")
    axis.set(xlabel="evaluations", ylim=(0, 1.03))
