"""Reports as one HTML page with interactive plots, which needs nothing but a browser."""

from neurobo.page.blocks import Block, Card, Cell, Grid, Items, Picture, Section, Table
from neurobo.page.html import write_page

__all__ = [
    "Block",
    "Card",
    "Cell",
    "Grid",
    "Items",
    "Picture",
    "Section",
    "Table",
    "write_page",
]
