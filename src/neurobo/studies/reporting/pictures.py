"""`neurobo plot`: the report's pictures as PNG or SVG files, drawn by matplotlib.

Figures are made without pyplot, so the host program's backend and open figures are left alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from optuna.study import Study

from neurobo.analysis.predictions import Slice
from neurobo.errors import InvalidInput, require
from neurobo.page.charts import COLOURS
from neurobo.page.still import new_figure, plain, save, styled
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.reporting.findings import Findings, shown

BEST, OTHER, GREY = COLOURS[0], COLOURS[1], "#8a8f98"


def write_pictures(file: StudyFile, study: Study, folder: Path, form: str) -> list[Path]:
    found = Findings.of(file, study)
    if not found.tally.complete:
        raise InvalidInput(f"pictures need a result, got none in {file.table.name!r}")
    drawers: dict[str, Callable[[Findings], Any]] = {"convergence": _convergence}
    if found.slices:
        drawers["slices"] = _slices
    if found.influence:
        drawers["inputs"] = _influence
    require("matplotlib", extra="report")
    paths = []
    with styled():
        for name, draw in drawers.items():
            path = folder / f"{name}.{form}"
            save(draw(found), path)
            paths.append(path)
    return paths


def _convergence(found: Findings) -> Any:
    c = found.convergence
    figure = new_figure((6.4, 3.6))
    axis = figure.subplots()
    good = c.feasible
    axis.plot(c.number[good], c.value[good], "o", color=OTHER, markersize=3.5, alpha=0.7,
              label="result")  # fmt: skip
    if not good.all():
        axis.plot(c.number[~good], c.value[~good], "o", color=GREY, markersize=3.5,
                  fillstyle="none", label="not feasible")  # fmt: skip
    if len(c.step):
        axis.step(c.step, c.best, where="post", color=BEST, linewidth=1.8, label="best so far")
        if c.noise_sd:
            low, high = c.best - 2 * c.noise_sd, c.best + 2 * c.noise_sd
            axis.fill_between(c.step, low, high, step="post", color=BEST, alpha=0.12, linewidth=0,
                              label="noise, ± 2 sd")  # fmt: skip
    if len(c.failed):
        axis.plot(c.failed, np.full(len(c.failed), 0.015), "|", color=COLOURS[3], markersize=7,
                  transform=axis.get_xaxis_transform(), label="failed")  # fmt: skip
    axis.set_xlabel("trial")
    axis.set_ylabel("value")
    axis.set_title(plain(found.file.table.name), fontsize=9, fontweight="bold")
    axis.legend(fontsize=8)
    return figure


def _slices(found: Findings) -> Any:
    columns = min(3, len(found.slices))
    rows = math.ceil(len(found.slices) / columns)
    figure = new_figure((2.9 * columns + 0.4, 2.2 * rows + 0.3))
    axes = figure.subplots(rows, columns, squeeze=False, sharey=False).ravel()
    for axis, one in zip(axes, found.slices, strict=False):
        _slice(axis, one, found.contenders[0].trial.params[one.name])
    for axis in axes[len(found.slices) :]:
        axis.set_visible(False)
    return figure


def _slice(axis: Any, one: Slice, here: Any) -> None:
    if one.numeric:
        x: Any = np.array(one.x, dtype=float)
        axis.plot(x, one.mean, color=OTHER, linewidth=1.8)
        low, high = one.mean - 2 * one.sd, one.mean + 2 * one.sd
        axis.fill_between(x, low, high, color=OTHER, alpha=0.15, linewidth=0)
        axis.plot([here], [np.interp(here, x, one.mean)], "D", color=BEST, markersize=5)
        if one.log:
            axis.set_xscale("log")
    else:
        x = range(len(one.x))
        axis.errorbar(x, one.mean, 2 * one.sd, fmt="o", color=OTHER, capsize=3)
        place = list(one.x).index(here)
        axis.plot([place], [one.mean[place]], "D", color=BEST, markersize=5)
        axis.set_xticks(x, [plain(shown(v)[:16]) for v in one.x])
        axis.set_xlim(-0.5, len(one.x) - 0.5)
    axis.set_title(plain(one.name), fontsize=9, fontweight="bold")
    axis.tick_params(labelsize=8)


def _influence(found: Findings) -> Any:
    rows = found.influence[:20][::-1]
    figure = new_figure((6.4, 0.26 * len(rows) + 1.0))
    names = [plain(one.name) for one in rows]
    shares, speeds = figure.subplots(1, 2, sharey=True)
    shares.barh(names, [one.total for one in rows], color=OTHER, alpha=0.35, height=0.6,
                label="with combinations")  # fmt: skip
    shares.barh(names, [one.alone for one in rows], color=OTHER, height=0.6, label="alone")
    shares.set_title("share of the variance", fontsize=9)
    shares.legend(fontsize=8)
    speeds.barh(names, [one.speed for one in rows], color=COLOURS[2], height=0.6)
    speeds.set_title("speed of change", fontsize=9)
    for axis in (shares, speeds):
        axis.grid(axis="y", visible=False)
    return figure
