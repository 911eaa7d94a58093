"""A benchmark's report as one HTML page with interactive charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from neurobo import page as pages
from neurobo.bench.report.blocks import (
    Block,
    Figure,
    Line,
    Page,
    Panel,
    ProblemCards,
    RankFigure,
    Style,
)
from neurobo.bench.report.contests import Ranking
from neurobo.page import Card, Grid, Key, charts
from neurobo.page.charts import Axis, Caption, Dots, Mark, Picture, Segments


def write_html(page: Page, folder: Path) -> Path:
    sections = [
        pages.Section(s.title, [_block(block, page.styles) for block in s.blocks])
        for s in page.sections
    ]
    legend = [Key(name, s.colour, s.dash, s.ours) for name, s in page.styles.items()]
    return pages.write_page(folder / "report.html", page.title, sections, legend=legend)


def _block(block: Block, styles: Mapping[str, Style]) -> pages.Block:
    match block:
        case Figure():
            cards = [Card(_lines(panel, styles), panel.title) for panel in block.panels]
            return Grid(cards, block.caption)
        case RankFigure():
            return Grid([Card(_ranks(block.ranking, styles))], block.caption, wide=True)
        case ProblemCards():
            cards = [
                Card(_lines(card.panel, styles), card.title, card.note, card.table)
                for card in block.cards
            ]
            return Grid(cards, block.caption)
    return block


def _lines(panel: Panel, styles: Mapping[str, Style]) -> Picture:
    # Ours last, so that they lie on top.
    ordered = sorted(panel.lines, key=lambda one: styles[one.method].ours)
    marks = [m for line in ordered for m in _marks(line, styles[line.method])]
    if panel.start is not None:
        marks.append(Segments([(panel.start, None, panel.start, None)], "#999", dash="dot"))
    low, high = panel.y_range or (None, None)
    x = Axis(panel.x_label, panel.log_x)
    y = Axis(panel.y_label, panel.log_y, low, high)
    return Picture(panel.title, marks, x, y)


def _marks(line: Line, style: Style) -> Iterator[Mark]:
    if line.low is not None and line.high is not None:
        yield charts.Band(line.x, line.low, line.high, style.colour, line.method)
    width = 3.2 if style.ours else 1.6
    yield charts.Line(
        line.x, line.y, style.colour, width, style.dash, name=line.method, method=line.method
    )


def _ranks(ranking: Ranking, styles: Mapping[str, Style]) -> Picture:
    k = len(ranking.methods)
    marks: list[Mark] = []
    for row, name in enumerate(ranking.methods):
        style = styles[name]
        low, mean, high = (float(v[row]) for v in (ranking.low, ranking.mean_rank, ranking.high))
        at, y = np.array([mean]), np.array([float(row)])
        tip = f"mean rank {mean:.2f}\n{low:.2f} to {high:.2f}"
        marks += [
            Segments([(low, float(row), high, float(row))], style.colour, 2),
            Dots(at, y, style.colour, radius=6.5 if style.ours else 4.5, name=name, tip=tip),
        ]
    places = [k + 0.35 + 0.22 * i for i in range(len(ranking.cliques))]
    bars = [
        (x, first - 0.25, x, last + 0.25)
        for x, (first, last) in zip(places, ranking.cliques, strict=True)
    ]
    width = ranking.critical_difference
    marks += [
        Segments(bars, width=4),
        Segments([(1.0, -0.85, 1 + width, -0.85)], width=2),
        Caption(1.0, -1.2, f"critical difference {width:.2f}"),
    ]
    right = max(k + 0.6 + 0.22 * len(bars), 1.2 + width)
    ours = [i for i, name in enumerate(ranking.methods) if styles[name].ours]
    return Picture(
        "Mean ranks",
        marks,
        Axis("mean rank, 1 is best", low=0.7, high=right),
        Axis(low=k - 0.4, high=-1.7, categories=ranking.methods, bold=ours),
        80 + 26 * (k + 1),
    )
