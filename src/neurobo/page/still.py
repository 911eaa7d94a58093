"""Still pictures through matplotlib, with the same look everywhere.

Figures are made without pyplot, so the host program's backend and open figures are left alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neurobo.errors import require

LOOK = {
    "svg.fonttype": "none",
    "svg.hashsalt": "neurobo",  # the same picture is the same file
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
}


def styled() -> Any:
    """A context in which figures have the look."""
    return require("matplotlib", extra="report").rc_context(LOOK)


def new_figure(size: tuple[float, float]) -> Any:
    figure = require("matplotlib.figure", extra="report")
    return figure.Figure(figsize=size, layout="constrained")


def plain(text: str) -> str:
    """Dollar signs would be read as formulas."""
    return text.replace("$", r"\$")


def save(figure: Any, path: Path) -> None:
    """As SVG or PNG, by the ending of the name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    form = path.suffix.lstrip(".")
    metadata = {"Date": None} if form == "svg" else {"Software": None}
    figure.savefig(path, format=form, dpi=150, metadata=metadata)
