"""Reads the code blocks of the documents, for the tests and for `make test-wheel`."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def documents() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def python_script(text: str) -> str:
    """The Python blocks of a text, as one program."""
    return "\n".join(python_blocks(text))


def shell_script(text: str) -> str:
    """The shell blocks of a text, one after the other."""
    return "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))


def sections(path: Path) -> dict[str, str]:
    """The parts of a document under its headings of the second level, by heading."""
    return {
        f"{path.stem}: {part.splitlines()[0]}": part for part in path.read_text().split("\n## ")[1:]
    }


def write_files(section: str, folder: Path) -> list[Path]:
    """Write each block that has a file's name into the folder."""
    found = []
    for name, text in re.findall(r"```\w+ (\S+)\n(.*?)```", section, re.DOTALL):
        found.append(folder / name)
        found[-1].write_text(text)
    return found
