"""Reads the code blocks of the documents, for the tests and for `make test-wheel`."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def documents() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(path: Path) -> str:
    """A document's path below `docs/`, or its name."""
    docs = ROOT / "docs"
    return str(path.relative_to(docs)) if path.is_relative_to(docs) else path.name


def fences(text: str) -> list[tuple[str, str]]:
    """What follows the opening fence of each block, and what is inside."""
    return re.findall(r"^```([^`\n]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def python_script(text: str) -> str:
    """The Python blocks of a text, as one program."""
    return "\n".join(python_blocks(text))


def shell_script(text: str) -> str:
    """The shell blocks of a text, one after the other."""
    return "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))


def folders(path: Path) -> dict[str, str]:
    """The parts of a document that are a folder of files and commands: the whole of a tutorial,
    otherwise each section."""
    if path.parent.name == "tutorials":
        return {name_of(path): path.read_text()}
    return sections(path)


def sections(path: Path) -> dict[str, str]:
    """The parts of a document under its headings of the second level, by heading."""
    return {
        f"{path.stem}: {part.splitlines()[0]}": part for part in path.read_text().split("\n## ")[1:]
    }


def write_files(section: str, folder: Path) -> list[Path]:
    """Write each block that has a file's name into the folder."""
    found = []
    for head, text in fences(section):
        title = re.fullmatch(r'\w+ title="([\w.-]+)"', head)
        if title:
            found.append(folder / title[1])
            found[-1].write_text(text)
    return found
