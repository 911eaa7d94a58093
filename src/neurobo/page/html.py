"""A page as HTML. Its own policy forbids it to load anything."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from neurobo.page.blocks import (
    Block,
    Box,
    Card,
    Cell,
    Code,
    Details,
    Fact,
    Facts,
    Grid,
    Items,
    Key,
    Section,
    Table,
)
from neurobo.page.charts import Parallel, Picture, as_json

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"

SCRIPTS = ("scales.js", "marks.js", "charts.js", "page.js")


def write_page(
    target: Path,
    title: str,
    sections: Sequence[Section],
    *,
    top: Sequence[Block] = (),
    legend: Sequence[Key] = (),
) -> Path:
    """`top` stands below the title, before all sections."""
    target.write_text(_Writer().page(title, sections, top, legend), encoding="utf-8")
    return target


class _Writer:
    def __init__(self) -> None:
        self._plots: list[dict[str, Any]] = []

    def page(
        self, title: str, sections: Sequence[Section], top: Sequence[Block], legend: Sequence[Key]
    ) -> str:
        body = self._blocks(top) + "".join(map(self._section, sections))
        links = "".join(f'<a href="#{_anchor(s.title)}">{text(s.title)}</a>' for s in sections)
        # "<" may not appear in the data: it could end the script.
        plots = json.dumps(self._plots, allow_nan=False, separators=(",", ":"))
        plots = plots.replace("<", "\\u003c")
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
{_file("page.css")}</style>
</head>
<body>
<aside>
<nav aria-label="Contents">{links}</nav>
{_legend(legend)}
<button type="button" id="theme" aria-label="Light or dark">◐</button>
</aside>
<main>
<h1>{text(title)}</h1>
{body}</main>
<script type="application/json" id="plots">{plots}</script>
<script>
{"".join(map(_file, SCRIPTS))}</script>
</body>
</html>
"""

    def _section(self, section: Section) -> str:
        title = text(section.title)
        blocks = self._blocks(section.blocks)
        return f'<section id="{_anchor(section.title)}"><h2>{title}</h2>\n{blocks}\n</section>\n'

    def _blocks(self, blocks: Sequence[Block]) -> str:
        return "\n".join(part for block in blocks for part in self._block(block))

    def _block(self, block: Block) -> Iterator[str]:
        match block:
            case str():
                yield f"<p>{_inline(block)}</p>"
            case Items():
                if block.title:
                    yield f"<h3>{text(block.title)}</h3>"
                yield "<ul>" + "".join(f"<li>{_inline(i)}</li>" for i in block.items) + "</ul>"
            case Facts():
                yield f'<dl class="facts">{"".join(map(_fact, block.facts))}</dl>'
            case Table():
                yield _table(block)
            case Code():
                yield f'<pre tabindex="0">{text(block.text)}</pre>'
            case Grid():
                if block.caption:
                    yield f'<p class="caption">{_inline(block.caption)}</p>'
                cards = "".join(self._card(card, wide=block.wide) for card in block.cards)
                yield cards if block.wide else f'<div class="grid">{cards}</div>'
            case Details():
                inner = self._blocks(block.blocks)
                yield f"<details><summary>{text(block.title)}</summary>\n{inner}\n</details>"
            case Box():
                inner = self._blocks(block.blocks)
                yield f'<section class="box"><h2>{text(block.title)}</h2>\n{inner}\n</section>'

    def _card(self, card: Card, *, wide: bool) -> str:
        title = f"<h3>{text(card.title)}</h3>" if card.title else ""
        note = f'<p class="note">{_inline(card.note)}</p>' if card.note else ""
        table = _table(card.table) if card.table is not None else ""
        kind = "card wide" if wide else "card"
        return f'<div class="{kind}">{title}{note}{self._plot(card.picture)}{table}</div>'

    def _plot(self, picture: Picture | Parallel) -> str:
        self._plots.append(as_json(picture))
        return (
            f'<div class="plot" style="min-height:{picture.height}px" role="img" '
            f'aria-label="{text(picture.label)}"></div>'
        )


def _file(name: str) -> str:
    return resources.files("neurobo.page").joinpath(name).read_text("utf-8")


def _legend(keys: Sequence[Key]) -> str:
    if not keys:
        return ""
    buttons = "".join(map(_button, keys))
    return f'<div class="legend" role="group" aria-label="Methods, press to hide">{buttons}</div>'


def _button(key: Key) -> str:
    dashes = {"solid": "", "dash": ' stroke-dasharray="6 4"', "dot": ' stroke-dasharray="2 3"'}
    name = text(key.method)
    return (
        f'<button type="button" aria-pressed="true" data-method="{name}"'
        f"{' class=ours' if key.bold else ''}>"
        f'<svg width="22" height="8" aria-hidden="true"><line x1="0" y1="4" x2="22" y2="4" '
        f'stroke="{key.colour}" stroke-width="{4 if key.bold else 2}"{dashes[key.dash]}/></svg>'
        f"{name}</button>"
    )


def _fact(fact: Fact) -> str:
    note = f'<dd class="note">{_inline(fact.note)}</dd>' if fact.note else ""
    return f"<div><dt>{text(fact.name)}</dt><dd>{text(fact.value)}</dd>{note}</div>"


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
    """Names come from records: nothing in them may become markup."""
    return html.escape(given)


def _inline(given: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text(given))


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
