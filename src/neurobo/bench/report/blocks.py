"""What a report is made of, before it becomes markdown or HTML. Plain records without behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from neurobo.bench.report.contests import Ranking
from neurobo.page.blocks import Cell, Items, Table
from neurobo.page.charts import COLOURS, Dash

__all__ = ["Cell", "Items", "Table"]  # what all pages have, beside what is below

Vector = Float[np.ndarray, " n"]

DASHES: tuple[Dash, ...] = ("solid", "dash", "dot")


@dataclass(frozen=True)
class Style:
    """How a method looks in every picture."""

    colour: str
    dash: Dash
    ours: bool


def styles(methods: Sequence[str], ours: Sequence[str]) -> dict[str, Style]:
    return {
        name: Style(
            COLOURS[i % len(COLOURS)], DASHES[i // len(COLOURS) % len(DASHES)], name in ours
        )
        for i, name in enumerate(methods)
    }


@dataclass(frozen=True)
class Line:
    method: str
    x: Vector
    y: Vector
    low: Vector | None = None
    """Lower and upper edge of a band."""
    high: Vector | None = None


@dataclass(frozen=True)
class Panel:
    """One plot of lines."""

    title: str
    lines: Sequence[Line]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    start: float | None = None
    """Where the common start ends."""
    y_range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Figure:
    """Plots side by side."""

    name: str
    caption: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class RankFigure:
    name: str
    caption: str
    ranking: Ranking


@dataclass(frozen=True)
class ProblemCard:
    """A problem: its plot and its table."""

    title: str
    note: str
    panel: Panel
    table: Table


@dataclass(frozen=True)
class ProblemCards:
    name: str
    caption: str
    cards: Sequence[ProblemCard]


Block = str | Items | Table | Figure | RankFigure | ProblemCards


@dataclass(frozen=True)
class ReportSection:
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    title: str
    sections: Sequence[ReportSection]
    styles: Mapping[str, Style]
    """By method, in the order of the legend."""
