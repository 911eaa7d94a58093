"""Hooks of MkDocs: the pages of the repository's root join the site, and links follow them.

`docs/` is written to be read in the repository as well, so a page links to `../CHANGELOG.md` as a
file. On the site that page is `changelog.html`. Links to other files of the repository, which the
site does not have, become plain text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ROOT_PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Files of the root, and their places on the site."""
BACKGROUND = ("changelog.md", "lab-notes.md")
"""Pages that the search lists after the others."""
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
CELL = re.compile(r"<td\b.*?</td>", re.DOTALL)
CODE = re.compile(r"<code>[^<]*</code>")
FENCE = re.compile(r"(^ *```.*?^ *```[^\n]*$)", re.DOTALL | re.MULTILINE)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root."""
    from mkdocs.structure.files import File

    for name, place in ROOT_PAGES.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links between files of the repository as links between pages of the site."""
    here = page.file.src_uri
    if here in BACKGROUND:
        page.meta["search"] = {"boost": 0.2}
    if here == "index.md":
        page.meta["hide"] = ["navigation"]  # it would list this page only
    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(lambda match: site_link(match, here), part) for part in parts[::2]]
    return "".join(parts)


def on_page_content(html: str, **_: Any) -> str:
    """Paths in tables may be broken after a slash, so that their column leaves room to others."""

    def breakable(cell: re.Match[str]) -> str:
        return CODE.sub(lambda code: re.sub(r"(?<=\w)/(?=\w)", "/<wbr>", code[0]), cell[0])

    return CELL.sub(breakable, html)


def site_link(match: re.Match[str], here: str) -> str:
    """One link of the page `here`, which is a path below `docs/` or a page of the root."""
    text, target, anchor = match[1], match[2], match[3] or ""
    if not target or "://" in target or target.startswith("mailto:"):
        return match[0]
    folder = "" if here in ROOT_PAGES.values() else posixpath.join("docs", posixpath.dirname(here))
    path = posixpath.normpath(posixpath.join(folder, target))
    if path in ROOT_PAGES:
        place = ROOT_PAGES[path]
    elif path.startswith("docs/"):
        place = path.removeprefix("docs/")
    elif path == "README.md":
        place = "index.md"
    else:
        return text
    return f"[{text}]({posixpath.relpath(place, posixpath.dirname(here) or '.')}{anchor})"
