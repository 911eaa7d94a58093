"""The documents name files that exist, and the tests mirror the package."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import durations
import pytest
from benchmarks.test_finals import BENCHMARKS
from documents import ROOT, documents, name_of

PAGES = [*documents(), ROOT / "CONTRIBUTING.md"]


@pytest.fixture
def architecture(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "architecture", raising=False)
    import architecture as module

    return module


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_documents_name_exist(page: Path) -> None:
    names = ("quickstart.md", "recipes.md", "study-file.md", "README.md", "faq.md")
    if page.name in names or page.parent.name == "tutorials":
        pytest.skip("it names the user's files")
    files = [f"/{path.relative_to(ROOT)}" for path in _files()]
    for name in re.findall(r"`([a-z_/]+\.py)`", page.read_text()):
        assert any(file.endswith(f"/{name}") for file in files), f"{page.name} names {name}"


def _files() -> list[Path]:
    folders = ("src", "tests", "benchmarks", "examples")
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py")]


def test_the_table_of_rooms_is_that_of_the_package(architecture: ModuleType) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert architecture.written(page, "rooms", architecture.rooms()) == page, (
        "run `python benchmarks/architecture.py`"
    )
    shown = set(re.findall(r"^\| `(\w+)", page, re.MULTILINE))
    package = ROOT / "src" / "neurobo"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    assert rooms | {path.stem for path in package.glob("*.py")} <= shown | {"__init__"}


def test_the_pass_visits_no_file_twice(architecture: ModuleType) -> None:
    suggest = architecture.suggest()
    suggest()  # compiles, which would take long while it is traced
    visits = architecture.visits(architecture.traced(suggest))
    assert len(visits) > 10
    assert [visit for visit in visits if visit.again] == []


ELSEWHERE = {"ray": "cluster"}
"""Rooms whose tests lie in another folder: tests/ray would be found in the place of Ray."""


def test_every_room_has_tests_of_its_own() -> None:
    package = ROOT / "src" / "neurobo"
    for room in package.glob("*/__init__.py"):
        name = ELSEWHERE.get(room.parent.name, room.parent.name)
        assert list((ROOT / "tests" / name).rglob("test_*.py")), name
    folders = {p.parent.relative_to(ROOT / "tests") for p in (ROOT / "tests").rglob("test_*.py")}
    for folder in folders - {Path("benchmarks"), Path("faults"), Path("cluster")}:
        assert (package / folder).is_dir(), folder


def test_quick_tests_cover_every_room_and_long_ones_exist() -> None:
    long, quick = durations.longer(), set()
    tests = ROOT / "tests"
    named = {}
    for path in tests.rglob("test_*.py"):
        node = str(path.relative_to(ROOT))
        named[node] = set(re.findall(r"def (test_\w+)", path.read_text()))
        if any(f"{node}::{name}" not in long for name in named[node]):
            quick.add(path.relative_to(tests).parts[0])
    rooms = {room.parent.name for room in (ROOT / "src" / "neurobo").glob("*/__init__.py")}
    assert {ELSEWHERE.get(room, room) for room in rooms} <= quick
    for node in long:
        file, *_, name = node.split("::")
        assert name in named.get(file, ()) or "Contract" in node, f"{node}: run `make durations`"
