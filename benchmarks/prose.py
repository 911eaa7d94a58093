"""Wraps the prose of a Markdown page, for the scripts that write pages.

python benchmarks/prose.py PAGE ...      # rewrites pages whose lines are too long

Tables, code, headings, pictures and comments stay as they are.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

WIDTH = 100
ITEM = re.compile(r"\s*([-*+]|\d+\.)\s+")
FIXED = ("|", "#", "<!--", "![", "    ")
"""How lines begin that are no prose."""


def wrapped(page: str) -> str:
    """The page with no line of prose above the width; paragraphs that fit are left alone."""
    lines: list[str] = []
    paragraph: list[str] = []
    code = False
    for line in page.split("\n"):
        fence = line.lstrip().startswith("```")
        fixed = line.startswith(FIXED) and not (paragraph and line.startswith("    "))
        if code or fence or fixed or not line.strip():
            lines += [*_filled(paragraph), line]
            paragraph = []
            code ^= fence
            continue
        if ITEM.match(line):
            lines += _filled(paragraph)
            paragraph = []
        paragraph.append(line)
    return "\n".join([*lines, *_filled(paragraph)])


def _filled(paragraph: list[str]) -> list[str]:
    if all(len(line) <= WIDTH for line in paragraph):
        return paragraph
    item = ITEM.match(paragraph[0])
    lead = item[0] if item else re.match(r"\s*", paragraph[0])[0]  # type: ignore[index]
    words = " ".join(line.strip() for line in paragraph).removeprefix(lead.strip()).strip()
    for width in range(WIDTH, WIDTH // 2, -1):
        found = textwrap.wrap(
            words, width, initial_indent=lead, subsequent_indent=" " * len(lead),
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        # "- 3" or "2. x" at the beginning of a line would be a list.
        if not any(ITEM.match(line) or line.lstrip().startswith("#") for line in found[1:]):
            break
    return found


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(wrapped(page.read_text()))
