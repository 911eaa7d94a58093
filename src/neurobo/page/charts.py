"""The vocabulary of charts: axes and marks. `charts.js` draws them as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

# Okabe and Ito's colours, which colour-blind people can tell apart, without the pale yellow.
COLOURS = (
    "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#777777", "#8B5A2B",
)  # fmt: skip
INK = "ink"
"""The colour of the text, in the light and in the dark theme."""

Vector = Float[np.ndarray, " n"]
Dash = Literal["solid", "dash", "dot"]
Tip = str | Sequence[str]
"""What a tooltip says: a template with {x} and {y} for every point, or one text for each."""


@dataclass(frozen=True)
class Axis:
    label: str = ""
    log: bool = False
    low: float | None = None
    """Where the axis begins and ends, None for as far as the marks go. With `low` above `high` it
    runs backwards."""
    high: float | None = None
    view: tuple[float, float] | None = None
    """The part that is shown at first; a button shows the whole axis."""
    zero: bool = False
    """Whether the axis begins at 0, whatever the marks are."""
    whole: bool = False
    """Whether ticks are whole numbers."""
    categories: Sequence[str] = ()
    """Names of the places 0, 1, 2, …, instead of numbers."""
    bold: Sequence[int] = ()
    """Categories in bold type."""


# Marks. `method` names the button of the legend that hides a mark; `name` is the tooltip's title.


@dataclass(frozen=True)
class Line:
    x: Vector
    y: Vector
    """NaN interrupts the line."""
    colour: str
    width: float = 2.0
    dash: Dash = "solid"
    name: str = ""
    tip: Tip = "{y} at {x}"
    method: str = ""


@dataclass(frozen=True)
class Band:
    """The area between two lines."""

    x: Vector
    low: Vector
    high: Vector
    colour: str
    method: str = ""


@dataclass(frozen=True)
class Dots:
    x: Vector
    y: Vector
    colour: str
    shape: Literal["filled", "hollow", "diamond"] = "filled"
    radius: float = 3.0
    name: str = ""
    tip: Tip = "{y} at {x}"


@dataclass(frozen=True)
class Segments:
    """Straight lines: error bars, thresholds. An end that is None is at the edge of the chart."""

    ends: Sequence[tuple[float | None, float | None, float | None, float | None]]
    """x and y of one end, x and y of the other."""
    colour: str = INK
    width: float = 1.0
    dash: Dash = "solid"


@dataclass(frozen=True)
class Rug:
    """Short strokes at the bottom of the chart."""

    x: Vector
    colour: str
    tip: Tip


@dataclass(frozen=True)
class Bars:
    """Horizontal bars from 0, one for each category of the vertical axis."""

    x: Vector
    colour: str
    opacity: float = 1.0
    tip: Tip = "{y}: {x}"


@dataclass(frozen=True)
class Caption:
    """Words inside the chart, beginning at a point."""

    x: float
    y: float
    text: str


Mark = Line | Band | Dots | Segments | Rug | Bars | Caption


@dataclass(frozen=True)
class Picture:
    """One chart."""

    label: str
    """For those who cannot see it."""
    marks: Sequence[Mark]
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    height: int = 250


@dataclass(frozen=True)
class Bundle:
    """Lines of one colour through parallel axes."""

    rows: Sequence[Sequence[float | None]]
    """For each line its values on all axes, or the places of categories; None: no value."""
    colour: str
    opacity: float
    tip: Sequence[str]


@dataclass(frozen=True)
class Parallel:
    """Parallel coordinates: every axis has its own scale."""

    label: str
    axes: Sequence[Axis]
    bundles: Sequence[Bundle]
    """Later ones lie on top."""
    height: int = 380


def as_json(chart: Any) -> Any:
    """A chart as lists and dicts, each record with its `kind`; what is empty is left out."""
    if isinstance(chart, np.ndarray):
        return numbers(chart)
    if isinstance(chart, list | tuple):
        return [as_json(one) for one in chart]
    if not hasattr(chart, "__dataclass_fields__"):
        return chart
    found = {"kind": type(chart).__name__.lower()}
    for one in fields(chart):
        value = getattr(chart, one.name)
        if not _is_empty(value):
            found[one.name] = as_json(value)
    return found


def _is_empty(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, str | tuple) and not value)


def numbers(values: Vector) -> list[float | None]:
    """As short as the eye allows, so that pages stay small: within a ten-thousandth of the range.
    JSON has no NaN."""
    finite = values[np.isfinite(values)]
    digits = digits_for(float(np.abs(finite).max()), float(np.ptp(finite))) if len(finite) else 5
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in values]


def digits_for(size: float, span: float) -> int:
    """Significant digits that tell numbers of this size apart which lie in a range of `span`."""
    if not (0 < span < math.inf) or not (0 < size < math.inf):
        return 5
    return min(max(5 + math.ceil(math.log10(size / span)), 5), 15)
