"""A page as HTML. plotly.js is part of it, and its own policy forbids it to load anything."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from neurobo.optional import require
from neurobo.page.blocks import Block, Card, Cell, Grid, Items, Picture, Section, Table

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
INK = "#333"


def write_page(target: Path, title: str, sections: Sequence[Section], legend: str = "") -> Path:
    """`legend` is HTML with buttons whose `data-method` names traces by their `meta`."""
    target.write_text(_Writer().page(title, sections, legend), encoding="utf-8")
    return target


class _Writer:
    def __init__(self) -> None:
        self._plots: list[dict[str, Any]] = []

    def page(self, title: str, sections: Sequence[Section], legend: str) -> str:
        body = "".join(map(self._section, sections))
        links = "".join(f'<a href="#{_anchor(s.title)}">{text(s.title)}</a>' for s in sections)
        plotly = require("plotly.offline", extra="report").get_plotlyjs()
        # "<" may not appear in the data: it could end the script.
        plots = json.dumps(self._plots, allow_nan=False).replace("<", "\\u003c")
        here = resources.files("neurobo.page")
        style = here.joinpath("page.css").read_text("utf-8")
        behaviour = here.joinpath("page.js").read_text("utf-8")
        keys = (
            f'<div class="legend" aria-label="Methods, press to hide">{legend}</div>'
            if legend
            else ""
        )
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{text(title)}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<aside>
<nav aria-label="Contents">{links}</nav>
{keys}
<button type="button" id="theme" aria-label="Light or dark">◐</button>
</aside>
<main>
<h1>{text(title)}</h1>
{body}</main>
<script>{plotly}</script>
<script type="application/json" id="plots">{plots}</script>
<script>
{behaviour}</script>
</body>
</html>
"""

    def _section(self, section: Section) -> str:
        blocks = "\n".join(part for block in section.blocks for part in self._block(block))
        title = text(section.title)
        return f'<section id="{_anchor(section.title)}"><h2>{title}</h2>\n{blocks}\n</section>\n'

    def _block(self, block: Block) -> Iterator[str]:
        match block:
            case str():
                yield f"<p>{_inline(block)}</p>"
            case Items():
                yield "<ul>" + "".join(f"<li>{_inline(i)}</li>" for i in block.items) + "</ul>"
            case Table():
                yield _table(block)
            case Grid():
                if block.caption:
                    yield f'<p class="caption">{_inline(block.caption)}</p>'
                cards = "".join(self._card(card, wide=block.wide) for card in block.cards)
                yield cards if block.wide else f'<div class="grid">{cards}</div>'

    def _card(self, card: Card, *, wide: bool) -> str:
        title = f"<h3>{text(card.title)}</h3>" if card.title else ""
        note = f'<p class="note">{_inline(card.note)}</p>' if card.note else ""
        table = _table(card.table) if card.table is not None else ""
        kind = "card wide" if wide else "card"
        return f'<div class="{kind}">{title}{note}{self._plot(card.picture)}{table}</div>'

    def _plot(self, picture: Picture) -> str:
        layout = {**_LAYOUT, **picture.layout, "height": picture.height}
        self._plots.append({"data": list(picture.traces), "layout": layout})
        return (
            f'<div class="plot" style="height:{picture.height}px" role="img" '
            f'aria-label="{text(picture.label)}"></div>'
        )


_LAYOUT = {
    "showlegend": False,
    "hovermode": "closest",
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
}


def axis(label: str, *, log: bool = False) -> dict[str, Any]:
    """An axis as all plots have it; page.js gives it the colours of the theme."""
    look: dict[str, Any] = {
        "title": {"text": text(label), "standoff": 6, "font": {"size": 12}},
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "ticklen": 4,
        "nticks": 7,
        "tickfont": {"size": 11},
    }
    if log:
        look |= {"type": "log", "exponentformat": "power"}
    return look


def numbers(values: Float[np.ndarray, " n"]) -> list[float | None]:
    """Short numbers keep the page small; JSON has no NaN."""
    return [float(f"{v:.5g}") if np.isfinite(v) else None for v in values]


def pale(colour: str, strength: float = 0.12) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{strength})"


def band(
    x: Float[np.ndarray, " n"],
    low: Float[np.ndarray, " n"],
    high: Float[np.ndarray, " n"],
    colour: str,
) -> dict[str, Any]:
    """The area between two lines."""
    return {
        "x": numbers(np.concatenate([x, x[::-1]])),
        "y": numbers(np.concatenate([high, low[::-1]])),
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": pale(colour),
        "hoverinfo": "skip",
    }


def _table(table: Table) -> str:
    head = "".join(f"<th>{text(h)}</th>" for h in table.header)
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
    inner = _inline(cell.text)
    detail = f"<small>{_inline(cell.detail)}</small>" if cell.detail else ""
    return f"<td{kind}>" + (f"<b>{inner}</b>" if cell.bold else inner) + detail + "</td>"


def text(given: str) -> str:
    """Names come from records: nothing in them may become markup or, between dollar signs, a
    formula, here or in plotly's labels."""
    return html.escape(given).replace("$", "&#36;")


def _inline(given: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text(given))


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
