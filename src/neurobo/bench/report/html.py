"""A report as one HTML page with interactive plots, which needs nothing but a browser.

plotly.js is part of the page, and the page's own policy forbids it to load anything.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from neurobo.bench.report.blocks import (
    Block,
    Cards,
    Cell,
    Figure,
    Items,
    Line,
    Page,
    Panel,
    RankFigure,
    Section,
    Style,
    Table,
    Vector,
)
from neurobo.bench.report.contests import Ranking
from neurobo.optional import require

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
_GRID = "#ececec"
_INK = "#333"


def write_html(page: Page, folder: Path) -> Path:
    target = folder / "report.html"
    target.write_text(_Writer(page).page())
    return target


class _Writer:
    def __init__(self, page: Page) -> None:
        self._page = page
        self._plots: list[dict[str, Any]] = []

    def page(self) -> str:
        sections = "".join(map(self._section, self._page.sections))
        links = "".join(
            f'<a href="#{_anchor(s.title)}">{_text(s.title)}</a>' for s in self._page.sections
        )
        plotly = require("plotly.offline", extra="report").get_plotlyjs()
        # "<" may not appear in the data: it could end the script.
        plots = json.dumps(self._plots, allow_nan=False).replace("<", "\\u003c")
        here = resources.files("neurobo.bench.report")
        style = here.joinpath("page.css").read_text()
        behaviour = here.joinpath("page.js").read_text()
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{_text(self._page.title)}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<aside>
<nav aria-label="Contents">{links}</nav>
<div class="legend" aria-label="Methods, press to hide">{self._legend()}</div>
</aside>
<main>
<h1>{_text(self._page.title)}</h1>
{sections}</main>
<script>{plotly}</script>
<script type="application/json" id="plots">{plots}</script>
<script>
{behaviour}</script>
</body>
</html>
"""

    def _legend(self) -> str:
        return "".join(
            f'<button type="button" aria-pressed="true" data-method="{_text(name)}"'
            f"{' class=ours' if style.ours else ''}>{_swatch(style)}{_text(name)}</button>"
            for name, style in self._page.styles.items()
        )

    def _section(self, section: Section) -> str:
        blocks = "\n".join(text for block in section.blocks for text in self._block(block))
        title = _text(section.title)
        return f'<section id="{_anchor(section.title)}"><h2>{title}</h2>\n{blocks}\n</section>\n'

    def _block(self, block: Block) -> Iterator[str]:
        match block:
            case str():
                yield f"<p>{_inline(block)}</p>"
            case Items():
                yield "<ul>" + "".join(f"<li>{_inline(i)}</li>" for i in block.items) + "</ul>"
            case Table():
                yield _table(block)
            case Figure():
                plots = "".join(f'<div class="card">{self._lines(p)}</div>' for p in block.panels)
                yield f'<p class="caption">{_inline(block.caption)}</p>'
                yield f'<div class="grid">{plots}</div>'
            case RankFigure():
                yield f'<p class="caption">{_inline(block.caption)}</p>'
                yield f'<div class="card wide">{self._ranks(block.ranking)}</div>'
            case Cards():
                yield f'<p class="caption">{_inline(block.caption)}</p>'
                cards = "".join(
                    f'<div class="card"><h3>{_text(card.title)}</h3>'
                    f'<p class="note">{_inline(card.note)}</p>'
                    f"{self._lines(card.panel, titled=False)}{_table(card.table)}</div>"
                    for card in block.cards
                )
                yield f'<div class="grid">{cards}</div>'

    def _lines(self, panel: Panel, titled: bool = True) -> str:
        # Ours last, so that they lie on top.
        ordered = sorted(panel.lines, key=lambda one: self._page.styles[one.method].ours)
        traces = [t for line in ordered for t in _traces(line, self._page.styles[line.method])]
        layout = {
            "xaxis": _axis(panel.x_label, panel.log_x) | (_FEW_TICKS if panel.log_x else {}),
            "yaxis": {
                **_axis(panel.y_label, panel.log_y),
                "automargin": True,
                **({"range": list(panel.y_range)} if panel.y_range else {}),
            },
            "margin": {"l": 10, "r": 10, "t": 8, "b": 42},
            "shapes": _start(panel.start),
        }
        title = f"<h3>{_text(panel.title)}</h3>" if titled else ""
        return title + self._plot(traces, layout, 250, panel.title)

    def _ranks(self, ranking: Ranking) -> str:
        k = len(ranking.methods)
        names = [_text(name) for name in ranking.methods]
        traces = []
        for row, name in enumerate(ranking.methods):
            style = self._page.styles[name]
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
            f"<b>{name}</b>" if self._page.styles[raw].ours else name
            for raw, name in zip(ranking.methods, names, strict=True)
        ]
        layout = {
            "xaxis": {
                **_axis("mean rank, 1 is best", False),
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
        return self._plot(traces, layout, 80 + 26 * (k + 1), "Mean ranks")

    def _plot(self, traces: list[Any], layout: dict[str, Any], height: int, label: str) -> str:
        self._plots.append({"data": traces, "layout": {**_LAYOUT, **layout, "height": height}})
        return (
            f'<div class="plot" style="height:{height}px" role="img" aria-label="{_text(label)}">'
            "</div>"
        )


_LAYOUT = {
    "showlegend": False,
    "hovermode": "closest",
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"family": "system-ui, sans-serif", "size": 12, "color": _INK},
}


_TICKS = [digit * 10.0**power for power in range(-2, 6) for digit in (1, 2, 5)]
_FEW_TICKS = {"tickvals": _TICKS, "ticktext": [f"{tick:g}" for tick in _TICKS]}


def _traces(line: Line, style: Style) -> list[dict[str, Any]]:
    width = 3.2 if style.ours else 1.6
    common = {"meta": line.method, "legendgroup": line.method}
    traces: list[dict[str, Any]] = []
    if line.low is not None and line.high is not None:
        inside = np.isfinite(line.low) & np.isfinite(line.high)
        x, low, high = line.x[inside], line.low[inside], line.high[inside]
        if len(x):
            traces.append(
                {
                    **common,
                    "x": _numbers(np.concatenate([x, x[::-1]])),
                    "y": _numbers(np.concatenate([high, low[::-1]])),
                    "mode": "lines",
                    "line": {"width": 0},
                    "fill": "toself",
                    "fillcolor": _pale(style.colour),
                    "hoverinfo": "skip",
                }
            )
    traces.append(
        {
            **common,
            "x": _numbers(line.x),
            "y": _numbers(line.y),
            "mode": "lines",
            "line": {"color": style.colour, "width": width, "dash": style.dash},
            "hovertemplate": f"<b>{_text(line.method)}</b><br>%{{y:.3g}} at %{{x:.4g}}"
            "<extra></extra>",
        }
    )
    return traces


def _numbers(values: Vector) -> list[float | None]:
    """Short numbers keep the page small; JSON has no NaN."""
    return [float(f"{v:.5g}") if np.isfinite(v) else None for v in values]


def _axis(label: str, log: bool) -> dict[str, Any]:
    look: dict[str, Any] = {
        "title": {"text": _text(label), "standoff": 6, "font": {"size": 12}},
        "gridcolor": _GRID,
        "zeroline": False,
        "linecolor": "#999",
        "showline": True,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": "#bbb",
        "nticks": 7,
        "tickfont": {"size": 11},
    }
    if log:
        look |= {"type": "log", "exponentformat": "power"}
    return look


def _start(at: float | None) -> list[dict[str, Any]]:
    if at is None:
        return []
    line = {"color": "#999", "width": 1, "dash": "dot"}
    return [{"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line}]


def _segment(x0: float, y0: float, x1: float, y1: float, width: float) -> dict[str, Any]:
    line = {"color": _INK, "width": width}
    return {"type": "line", "x0": x0, "y0": y0, "x1": x1, "y1": y1, "line": line}


def _pale(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.12)"


def _swatch(style: Style) -> str:
    dashes = {"solid": "", "dash": ' stroke-dasharray="6 4"', "dot": ' stroke-dasharray="2 3"'}
    width = 4 if style.ours else 2
    return (
        f'<svg width="22" height="8" aria-hidden="true"><line x1="0" y1="4" x2="22" y2="4" '
        f'stroke="{style.colour}" stroke-width="{width}"{dashes[style.dash]}/></svg>'
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(h)}</th>" for h in table.header)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in table.rows)
    caption = f'<p class="caption">{_inline(table.caption)}</p>' if table.caption else ""
    kind = "words" if table.words else "numbers"
    return (
        f'<div class="scroll" tabindex="0"><table class="{kind}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{caption}"
    )


def _cell(cell: Cell | str) -> str:
    if isinstance(cell, str):
        return f"<td>{_inline(cell)}</td>"
    kind = {1: ' class="good"', -1: ' class="bad"', 0: ""}[cell.verdict]
    text = _inline(cell.text)
    detail = f"<small>{_inline(cell.detail)}</small>" if cell.detail else ""
    return f"<td{kind}>" + (f"<b>{text}</b>" if cell.bold else text) + detail + "</td>"


def _text(text: str) -> str:
    """Names come from records: nothing in them may become markup, here or in plotly's labels."""
    return html.escape(text)


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text))


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
