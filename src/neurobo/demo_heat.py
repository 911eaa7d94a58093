"""The second demo: where is a plate hottest? With and without the law of steady heat.

The temperature of the plate is known only where it is asked for. Nobody knows what the sides are
held at; but everybody knows that inside ∇²T = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from neurobo.bench.problems.fields import Sides, between_nodes, steady_field
from neurobo.minimize import minimize
from neurobo.optional import require
from neurobo.physics import PDE, laplacian
from neurobo.space import Space
from neurobo.start import start_size

SIZE = 2.0
"""Metres."""
SPACE = {"x": (0.0, SIZE), "y": (0.0, SIZE)}
HEAT = PDE(lambda u, x: laplacian(u)(x))
_CELLS = 256


def _sides() -> Sides:
    """Two heaters on the upper side, a cold bridge on the right, in °C."""

    def bump(along: np.ndarray, place: float, width: float) -> np.ndarray:
        return np.exp(-(((along - place) / width) ** 2))

    return Sides(
        size=SIZE,
        bottom=lambda x: 20 + 10 * np.sin(2.2 * x),
        top=lambda x: 20 + 70 * bump(x, 0.45, 0.22) + 50 * bump(x, 1.5, 0.25),
        left=lambda y: 20 + 12 * np.sin(1.5 * np.pi * y / SIZE) ** 2,
        right=lambda y: 20 - 25 * bump(y, 1.1, 0.3),
    )


@dataclass(frozen=True)
class Plate:
    field: Float[np.ndarray, "nodes nodes"]
    at: Callable[[np.ndarray], float]

    @staticmethod
    def of() -> Plate:
        field = steady_field(_sides(), _CELLS)
        return Plate(field, between_nodes(field, SIZE))

    @property
    def hottest(self) -> float:
        return float(self.field.max())


@dataclass(frozen=True)
class Search:
    """One run."""

    name: str
    points: Float[np.ndarray, "n 2"]
    best: Float[np.ndarray, " n"]
    """The highest temperature so far."""
    start: int
    """How many points were there before the first suggestion."""

    def evaluations_to(self, temperature: float) -> int | None:
        reached = np.flatnonzero(self.best >= temperature)
        return int(reached[0]) + 1 if len(reached) else None


def search(plate: Plate, trials: int, seed: int, *, law: bool, progress: bool) -> Search:
    """The same call with the law or without: all else is as users have it by default."""
    study = minimize(
        lambda p: -plate.at(np.array([p["x"], p["y"]])), SPACE, trials,
        physics=HEAT if law else None, seed=seed, progress=progress,
    )  # fmt: skip
    done = [t for t in study.trials if t.value is not None]
    points = np.array([[t.params["x"], t.params["y"]] for t in done])
    best = np.maximum.accumulate([-float(t.value or 0.0) for t in done])
    start = start_size(Space.of(SPACE), None, lawful=law)
    return Search("with the law" if law else "without", points, best, start)


def picture(plate: Plate, runs: list[Search], path: Path) -> None:
    """The field with the points that were asked for, and how the best grew."""
    figures = require("matplotlib.figure", extra="report")
    figure = figures.Figure(figsize=(12, 3.9), layout="constrained")
    *fields, curves = figure.subplots(1, len(runs) + 1)
    for axis, run in zip(fields, runs, strict=True):
        image = axis.imshow(
            plate.field.T, origin="lower", extent=(0, SIZE, 0, SIZE), cmap="inferno"
        )
        axis.contour(
            plate.field.T, levels=12, extent=(0, SIZE, 0, SIZE), colors="white", linewidths=0.3
        )
        start, asked = run.points[: run.start], run.points[run.start :]
        axis.plot(*start.T, "o", mfc="none", mec="white", ms=6, label="start", clip_on=False)
        axis.plot(
            *asked.T, "o", color="deepskyblue", mec="black", ms=5, label="asked", clip_on=False
        )
        axis.set(title=run.name, xlabel="x [m]", ylabel="y [m]")
    fields[0].legend(loc="lower center", ncols=2, fontsize=8, framealpha=0.4)
    figure.colorbar(image, ax=fields, label="temperature [°C]", shrink=0.9)
    for run, style in zip(runs, ("-", "--"), strict=False):
        curves.step(np.arange(1, len(run.best) + 1), run.best, style, where="post", label=run.name)
    curves.axhline(plate.hottest, color="grey", lw=0.8)
    curves.set(title="hottest place found", xlabel="evaluations", ylabel="temperature [°C]")
    curves.legend(loc="center right")
    figure.savefig(path, dpi=130)
