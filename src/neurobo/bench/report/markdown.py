"""A report as markdown, with still pictures beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from neurobo.bench.report.blocks import (
    Block,
    Cell,
    Figure,
    Items,
    Page,
    Panel,
    ProblemCards,
    RankFigure,
    ReportSection,
    Table,
)
from neurobo.bench.report.pictures import draw_panels, draw_ranks

FIGURES = "figures"
PANELS_PER_PICTURE = 12


def write_markdown(page: Page, folder: Path) -> list[Path]:
    """Write report.md and its pictures; the written files."""
    writer = _Writer(page, folder)
    text = f"# {escape(page.title)}\n\n" + "\n".join(map(writer.section, page.sections))
    target = folder / "report.md"
    target.write_text(text.rstrip() + "\n")
    return [target, *writer.pictures]


def escape(text: str) -> str:
    """Names come from records: nothing in them may become markup. Backticks stay code."""
    return " ".join(text.replace("<", "&lt;").replace("|", "\\|").split())


class _Writer:
    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.pictures: list[Path] = []

    def section(self, section: ReportSection) -> str:
        body = "\n\n".join(text for block in section.blocks for text in self._block(block))
        return f"## {escape(section.title)}\n\n{body}\n"

    def _block(self, block: Block) -> Iterator[str]:
        match block:
            case str():
                yield escape(block)
            case Items():
                yield "\n".join(f"- {escape(item)}" for item in block.items)
            case Table():
                yield table_text(block)
            case Figure():
                yield from self._panels(block.name, block.caption, list(block.panels))
            case RankFigure():
                path = self._path(block.name)
                draw_ranks(path, block.ranking, self.page.styles)
                yield self._picture(path, block.caption)
            case ProblemCards():
                panels = [card.panel for card in block.cards]
                yield from self._panels(block.name, block.caption, panels)
                for card in block.cards:
                    yield f"### {escape(card.title)}"
                    yield escape(card.note)
                    yield table_text(card.table)

    def _panels(self, name: str, caption: str, panels: list[Panel]) -> Iterator[str]:
        for first in range(0, len(panels), PANELS_PER_PICTURE):
            number = f"-{first // PANELS_PER_PICTURE + 1}" if first else ""
            path = self._path(name + number)
            draw_panels(path, panels[first : first + PANELS_PER_PICTURE], self.page.styles)
            yield self._picture(path, caption if not first else "The same for more problems.")

    def _path(self, name: str) -> Path:
        path = self.folder / FIGURES / f"{name}.svg"
        self.pictures.append(path)
        return path

    def _picture(self, path: Path, caption: str) -> str:
        return f"![{path.stem}]({FIGURES}/{path.name})\n\n{escape(caption)}"


def table_text(table: Table) -> str:
    lines = [
        "| " + " | ".join(map(escape, table.header)) + " |",
        "|"
        + "|".join(["---", *["---" if table.words else "---:"] * (len(table.header) - 1)])
        + "|",
        *("| " + " | ".join(map(_cell, row)) + " |" for row in table.rows),
    ]
    if table.caption:
        lines += ["", escape(table.caption)]
    return "\n".join(lines)


def _cell(cell: Cell | str) -> str:
    if isinstance(cell, str):
        return escape(cell)
    text = escape(cell.text)
    shown = f"**{text}**" if cell.bold and text else text
    return f"{shown}, {escape(cell.detail)}" if cell.detail else shown
