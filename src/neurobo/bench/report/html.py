"""A benchmark's report as one HTML page with interactive plots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from neurobo import page as pages
from neurobo.bench.report.blocks import (
    Block,
    Cards,
    Figure,
    Line,
    Page,
    Panel,
    RankFigure,
    Style,
)
from neurobo.bench.report.contests import Ranking
from neurobo.page import Card, Grid, Picture
from neurobo.page.html import axis, band, numbers, text


def write_html(page: Page, folder: Path) -> Path:
    sections = [
        pages.Section(s.title, [_block(block, page.styles) for block in s.blocks])
        for s in page.sections
    ]
    legend = "".join(
        f'<button type="button" aria-pressed="true" data-method="{text(name)}"'
        f"{' class=ours' if style.ours else ''}>{_swatch(style)}{text(name)}</button>"
        for name, style in page.styles.items()
    )
    return pages.write_page(folder / "report.html", page.title, sections, legend)


def _block(block: Block, styles: Mapping[str, Style]) -> pages.Block:
    match block:
        case Figure():
            cards = [Card(_lines(panel, styles), panel.title) for panel in block.panels]
            return Grid(cards, block.caption)
        case RankFigure():
            return Grid([Card(_ranks(block.ranking, styles))], block.caption, wide=True)
        case Cards():
            cards = [
                Card(_lines(card.panel, styles), card.title, card.note, card.table)
                for card in block.cards
            ]
            return Grid(cards, block.caption)
    return block


def _lines(panel: Panel, styles: Mapping[str, Style]) -> Picture:
    # Ours last, so that they lie on top.
    ordered = sorted(panel.lines, key=lambda one: styles[one.method].ours)
    traces = [t for line in ordered for t in _traces(line, styles[line.method])]
    layout = {
        "xaxis": axis(panel.x_label, log=panel.log_x) | (_FEW_TICKS if panel.log_x else {}),
        "yaxis": {
            **axis(panel.y_label, log=panel.log_y),
            "automargin": True,
            **({"range": list(panel.y_range)} if panel.y_range else {}),
        },
        "margin": {"l": 10, "r": 10, "t": 8, "b": 42},
        "shapes": _start(panel.start),
    }
    return Picture(panel.title, traces, layout)


def _ranks(ranking: Ranking, styles: Mapping[str, Style]) -> Picture:
    k = len(ranking.methods)
    names = [text(name) for name in ranking.methods]
    traces = []
    for row, name in enumerate(ranking.methods):
        style = styles[name]
        low, mean, high = ranking.low[row], ranking.mean_rank[row], ranking.high[row]
        traces.append(
            {
                "x": [round(float(mean), 3)],
                "y": [row],
                "error_x": {
                    "array": [float(high - mean)],
                    "arrayminus": [float(mean - low)],
                    "color": style.colour,
                    "thickness": 2,
                    "width": 0,
                },
                "mode": "markers",
                "marker": {"color": style.colour, "size": 13 if style.ours else 9},
                "hovertemplate": f"<b>{names[row]}</b><br>mean rank {mean:.2f}"
                f"<br>{low:.2f} to {high:.2f}<extra></extra>",
            }
        )
    bars = [
        _segment(k + 0.35 + 0.22 * place, first - 0.25, k + 0.35 + 0.22 * place, last + 0.25, 4)
        for place, (first, last) in enumerate(ranking.cliques)
    ]
    width = ranking.critical_difference
    labels = [
        f"<b>{name}</b>" if styles[raw].ours else name
        for raw, name in zip(ranking.methods, names, strict=True)
    ]
    layout = {
        "xaxis": {
            **axis("mean rank, 1 is best"),
            "range": [0.7, max(k + 0.6 + 0.22 * len(bars), 1.2 + width)],
        },
        "yaxis": {
            "range": [k - 0.4, -1.7],
            "tickvals": list(range(k)),
            "ticktext": labels,
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
        },
        "margin": {"l": 10, "r": 10, "t": 4, "b": 42},
        "shapes": [*bars, _segment(1, -0.85, 1 + width, -0.85, 2)],
        "annotations": [
            {
                "x": 1, "y": -1.35, "xanchor": "left", "showarrow": False,
                "text": f"critical difference {width:.2f}", "font": {"size": 12},
            }
        ],
    }  # fmt: skip
    return Picture("Mean ranks", traces, layout, 80 + 26 * (k + 1))


_TICKS = [digit * 10.0**power for power in range(-2, 6) for digit in (1, 2, 5)]
_FEW_TICKS = {"tickvals": _TICKS, "ticktext": [f"{tick:g}" for tick in _TICKS]}


def _traces(line: Line, style: Style) -> list[dict[str, Any]]:
    common = {"meta": line.method, "legendgroup": line.method}
    traces: list[dict[str, Any]] = []
    if line.low is not None and line.high is not None:
        inside = np.isfinite(line.low) & np.isfinite(line.high)
        if inside.any():
            edges = line.x[inside], line.low[inside], line.high[inside]
            traces.append({**common, **band(*edges, style.colour)})
    traces.append(
        {
            **common,
            "x": numbers(line.x),
            "y": numbers(line.y),
            "mode": "lines",
            "line": {
                "color": style.colour, "width": 3.2 if style.ours else 1.6, "dash": style.dash,
            },
            "hovertemplate": f"<b>{text(line.method)}</b><br>%{{y:.3g}} at %{{x:.4g}}"
            "<extra></extra>",
        }
    )  # fmt: skip
    return traces


def _start(at: float | None) -> list[dict[str, Any]]:
    if at is None:
        return []
    line = {"color": "#999", "width": 1, "dash": "dot"}
    return [{"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line}]


def _segment(x0: float, y0: float, x1: float, y1: float, width: float) -> dict[str, Any]:
    line = {"color": "ink", "width": width}
    return {"type": "line", "x0": x0, "y0": y0, "x1": x1, "y1": y1, "line": line}


def _swatch(style: Style) -> str:
    dashes = {"solid": "", "dash": ' stroke-dasharray="6 4"', "dot": ' stroke-dasharray="2 3"'}
    width = 4 if style.ours else 2
    return (
        f'<svg width="22" height="8" aria-hidden="true"><line x1="0" y1="4" x2="22" y2="4" '
        f'stroke="{style.colour}" stroke-width="{width}"{dashes[style.dash]}/></svg>'
    )
