"""Checks the site that `make docs` has built: names, links, anchors, no network at view time.

    make docs

MkDocs' strict mode checks the links between pages; this looks at what a browser gets.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NoReturn, cast
from urllib.parse import unquote, urlsplit

from documents import ROOT

import neurobo
from neurobo.algorithm.registry import resolve

SITE = ROOT / "build" / "site"
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""Attributes whose targets a browser loads by itself."""
SEARCHED = ("noisy", "sum", "lease", "NTKGP", "warping")
"""Words that the search must find."""


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and given.get(LOADED[tag]) and given.get("rel") != "canonical":
            self.loads.append(given[LOADED[tag]])


def main() -> None:
    paths = sorted(SITE.rglob("*.html"))
    if not paths:
        fail("no site, run `mkdocs build` first")
    pages = {path: Page(path.read_text()) for path in paths}
    for path, page in pages.items():
        for target in page.loads:
            if urlsplit(target).netloc:
                fail(f"{path.name} loads {target} from the network")
        if path.name != "404.html":  # its links begin at the root of a server
            check_links(path, page, pages)
    check_api(pages[SITE / "reference" / "api.html"])
    check_search()
    sys.stdout.write(
        f"{len(pages)} pages: every link and anchor exists, nothing is loaded from the network, "
        f"the API has all {len(neurobo.__all__)} names, the search index has {SEARCHED}.\n"
    )


def check_links(path: Path, page: Page, pages: dict[Path, Page]) -> None:
    for link in [*page.links, *page.loads]:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.exists():
            fail(f"{path.relative_to(SITE)} links to {link}, which does not exist")
        anchor = unquote(parts.fragment)
        if anchor and target in pages and anchor not in pages[target].anchors:
            fail(f"{path.relative_to(SITE)} links to {link}, an anchor that does not exist")


def check_api(page: Page) -> None:
    missing = [name for name in neurobo.__all__ if f"neurobo.{name}" not in page.anchors]
    if missing:
        fail(f"the API lacks {missing}")
    text = (SITE / "reference" / "api.html").read_text()
    for name in neurobo.algorithms():
        algorithm = cast(Any, resolve(name))
        section = text.partition(f'id="neurobo.{type(algorithm).__name__}"')[2]
        section = section.partition('id="neurobo.')[0]
        for option in fields(algorithm):
            if option.repr and f">{option.name}<" not in section:
                fail(f"the API lacks the option {option.name} of {name}")


def check_search() -> None:
    index = json.loads((SITE / "search" / "search_index.json").read_text())
    texts = " ".join(entry["title"] + entry["text"] for entry in index["docs"])
    absent = [word for word in SEARCHED if word not in texts]
    if absent:
        fail(f"the search index lacks {absent}")
    if not (SITE / "search" / "search_index.js").exists():
        fail("search_index.js is missing: a site that is opened as files could not search")
    browser = shutil.which("chromium")
    if browser is None:
        sys.stdout.write("chromium is not installed: the search was not tried in a browser\n")
        return
    url = (SITE / "index.html").as_uri() + "?q=noisy"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000"]
    shown = subprocess.run(
        [browser, *options, "--dump-dom", url], capture_output=True, text=True, check=True
    ).stdout
    if not re.search(r"\d+ matching documents", shown):
        fail("the search finds nothing on a page that is opened as a file")


def fail(reason: str) -> NoReturn:
    raise SystemExit(f"docs: {reason}")


if __name__ == "__main__":
    main()
