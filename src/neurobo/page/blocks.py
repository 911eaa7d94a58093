"""What a page is made of. Plain records without behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Okabe and Ito's colours, which colour-blind people can tell apart, without the pale yellow.
COLOURS = (
    "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#777777", "#8B5A2B",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    text: str
    bold: bool = False
    verdict: int = 0
    """1 for good news, -1 for bad news."""
    detail: str = ""
    """What stands smaller behind or below the text."""


@dataclass(frozen=True)
class Table:
    header: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    caption: str = ""
    words: bool = False
    """Whether all columns hold words, not only the first."""


@dataclass(frozen=True)
class Items:
    """A list of remarks."""

    items: Sequence[str]


@dataclass(frozen=True)
class Picture:
    """One plot, in plotly's terms."""

    label: str
    """For those who cannot see it."""
    traces: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    height: int = 250


@dataclass(frozen=True)
class Card:
    """A plot with what belongs to it."""

    picture: Picture
    title: str = ""
    note: str = ""
    table: Table | None = None


@dataclass(frozen=True)
class Grid:
    """Cards side by side."""

    cards: Sequence[Card]
    caption: str = ""
    wide: bool = False
    """One below the other instead."""


Block = str | Items | Table | Grid


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block]
