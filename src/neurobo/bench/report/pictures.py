"""Still pictures for the markdown report, as SVG through matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neurobo.bench.report.blocks import Panel, Style
from neurobo.bench.report.contests import Ranking
from neurobo.errors import require
from neurobo.page.still import new_figure, plain, save, styled

_DASHES = {"solid": "-", "dash": "--", "dot": ":"}


def draw_panels(path: Path, panels: Sequence[Panel], styles: Mapping[str, Style]) -> None:
    """Small multiples with one legend."""
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    shown = [m for m in styles if any(line.method == m for p in panels for line in p.lines)]
    legend_rows = math.ceil(len(shown) / _legend_columns(columns))
    with styled():
        size = (3.4 * columns + 0.6, 2.5 * rows + 0.22 * legend_rows + 0.2)
        figure = new_figure(size)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            _draw_panel(axis, panel, styles)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        handles = [_key(styles[m]) for m in shown]
        figure.legend(
            handles, [plain(m) for m in shown], loc="outside lower center",
            ncols=_legend_columns(columns), fontsize=8.5,
        )  # fmt: skip
        save(figure, path)


def draw_ranks(path: Path, ranking: Ranking, styles: Mapping[str, Style]) -> None:
    """Mean ranks, best on top; bars on the right join what does not differ significantly."""
    k = len(ranking.methods)
    with styled():
        figure = new_figure((6.4, 0.27 * k + 1.0))
        axis = figure.subplots()
        axis.grid(axis="y", visible=False)
        for row, name in enumerate(ranking.methods):
            style = styles[name]
            axis.plot(
                [ranking.low[row], ranking.high[row]], [row, row], color=style.colour, alpha=0.45,
                linewidth=2,
            )  # fmt: skip
            axis.plot(
                ranking.mean_rank[row], row, "o", color=style.colour,
                markersize=8 if style.ours else 6,
            )  # fmt: skip
        axis.set_yticks(
            range(k),
            [
                f"{plain(n)}  {r:.2f}"
                for n, r in zip(ranking.methods, ranking.mean_rank, strict=True)
            ],
        )
        for label, name in zip(axis.get_yticklabels(), ranking.methods, strict=True):
            label.set_fontweight("bold" if styles[name].ours else "normal")
        for place, (first, last) in enumerate(ranking.cliques):
            x = k + 0.35 + 0.22 * place
            axis.plot([x, x], [first - 0.25, last + 0.25], color="#333333", linewidth=2.5)
        width = ranking.critical_difference
        axis.plot([1, 1 + width], [-0.85, -0.85], color="#333333", linewidth=1.5)
        axis.text(1, -1.05, f"critical difference {width:.2f}", va="bottom", fontsize=8)
        axis.set_ylim(k - 0.4, -1.8)
        axis.set_xlim(0.7, max(k + 0.6 + 0.22 * len(ranking.cliques), 1.2 + width))
        axis.set_xlabel("mean rank, 1 is best")
        save(figure, path)


def _draw_panel(axis: Any, panel: Panel, styles: Mapping[str, Style]) -> None:
    # Ours last, so that they lie on top.
    for line in sorted(panel.lines, key=lambda one: styles[one.method].ours):
        style = styles[line.method]
        axis.plot(
            line.x, line.y, color=style.colour, linestyle=_DASHES[style.dash],
            linewidth=2.2 if style.ours else 1.1,
        )  # fmt: skip
        if line.low is not None and line.high is not None:
            axis.fill_between(
                line.x, line.low, line.high, color=style.colour, alpha=0.12, linewidth=0
            )
    if panel.start is not None:
        axis.axvline(panel.start, color="#999999", linewidth=0.8, linestyle=":")
    if panel.log_x:
        axis.set_xscale("log")
    if panel.log_y:
        axis.set_yscale("log")
    if panel.y_range is not None:
        axis.set_ylim(*panel.y_range)
    axis.set_title(plain(panel.title), fontsize=9, fontweight="bold")
    axis.set_xlabel(panel.x_label, fontsize=8)
    axis.set_ylabel(panel.y_label, fontsize=8)
    axis.tick_params(labelsize=8)


def _key(style: Style) -> Any:
    lines = require("matplotlib.lines", extra="report")
    return lines.Line2D(
        [], [], color=style.colour, linestyle=_DASHES[style.dash],
        linewidth=2.2 if style.ours else 1.1,
    )  # fmt: skip


def _legend_columns(columns: int) -> int:
    return 2 * columns
