"""Reports as one HTML page with interactive charts, which needs nothing but a browser."""

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
from neurobo.page.html import write_page

__all__ = [
    "Block",
    "Box",
    "Card",
    "Cell",
    "Code",
    "Details",
    "Fact",
    "Facts",
    "Grid",
    "Items",
    "Key",
    "Section",
    "Table",
    "write_page",
]
