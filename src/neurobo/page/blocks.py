"""What a page is made of. Plain records without behaviour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neurobo.page.charts import Dash, Parallel, Picture


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
    title: str = ""


@dataclass(frozen=True)
class Fact:
    """One figure with its name."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Facts:
    """The most important figures, in large type side by side."""

    facts: Sequence[Fact]


@dataclass(frozen=True)
class Code:
    """Text to copy, as it is."""

    text: str


@dataclass(frozen=True)
class Card:
    """A plot with what belongs to it."""

    picture: Picture | Parallel
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


@dataclass(frozen=True)
class Details:
    """Blocks that are folded away until the reader opens them."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Box:
    """Blocks in a frame: what the reader should see first."""

    title: str
    blocks: Sequence[Block]


Block = str | Items | Facts | Table | Code | Grid | Details | Box


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Key:
    """A button of the legend, which hides a method in all charts."""

    method: str
    colour: str
    dash: Dash = "solid"
    bold: bool = False
