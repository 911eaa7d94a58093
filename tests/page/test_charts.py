"""Pages: what becomes of charts on their way to a browser, and their ticks there."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import on_laptop_and_phone

from neurobo.page import (
    Block,
    Box,
    Card,
    Code,
    Details,
    Fact,
    Facts,
    Grid,
    Items,
    Section,
    write_page,
)
from neurobo.page.charts import Axis, Band, Bars, Caption, Dots, Line, Picture, Segments, as_json

HOSTILE = "</script><img src=x onerror=document.title='broken'>"


def test_a_chart_as_json_keeps_zeros_and_leaves_out_what_is_empty() -> None:
    x = np.array([0.0, 1.0])
    picture = Picture("label", [Line(x, np.array([0.0, math.nan]), "red")], Axis(low=0.0))
    assert as_json(picture) == {
        "kind": "picture", "label": "label", "height": 250,
        "x": {"kind": "axis", "low": 0.0}, "y": {"kind": "axis"},
        "marks": [{"kind": "line", "x": [0.0, 1.0], "y": [0.0, None], "colour": "red",
                   "width": 2.0, "dash": "solid", "tip": "{y} at {x}"}],
    }  # fmt: skip


@pytest.mark.parametrize("offset", [0.0, 1e3, -1e6, 1e9])
def test_short_numbers_are_told_apart_wherever_they_lie(offset: float) -> None:
    values = offset + np.linspace(0, 1, 1000)
    drawn = np.array(as_json(values))
    np.testing.assert_allclose(drawn, values, atol=1e-4)
    assert len(json.dumps(drawn.tolist())) < 20_000


# Axis, ends, most ticks, labels.
TICKS: list[tuple[dict[str, Any], float, float, int, list[str]]] = [
    ({}, 0, 1, 5, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
    ({}, -0.3, 0.3, 4, ["−0.2", "0", "0.2"]),
    ({}, 1014.001, 1014.004, 3, ["1014.001", "1014.002", "1014.003", "1014.004"]),
    ({}, 0, 3e-7, 3, ["0", "10⁻⁷", "2·10⁻⁷", "3·10⁻⁷"]),
    ({}, -2e9, 2e9, 4, ["−2·10⁹", "−10⁹", "0", "10⁹", "2·10⁹"]),
    ({"whole": True}, 0, 2, 8, ["0", "1", "2"]),
    ({"log": True}, 1e-5, 0.1, 5, ["10⁻⁵", "0.0001", "0.001", "0.01", "0.1"]),
    ({"log": True}, 0.5, 30, 6, ["0.5", "1", "2", "5", "10", "20"]),
    ({"log": True}, 1e-12, 1e12, 4, ["10⁻¹²", "10⁻⁶", "1", "10⁶", "10¹²"]),
    ({"log": True}, 12, 22, 5, ["12", "14", "16", "18", "20", "22"]),
    ({"categories": ["a", "b", "c"]}, -0.5, 2.5, 9, ["a", "b", "c"]),
    ({"categories": ["a", "b", "c"]}, -0.5, 2.5, 2, ["a", "c"]),
]
# Ranges at the limits of what numbers can be: no tick is asked for, only an end to the work.
EXTREME = [(-1.7e308, 1.7e308), (1e20, 1e20 + 1e5), (0, 5e-324), (1.0, 1.0 + 2e-16)]


def test_ticks_are_round_numbers(tmp_path: Path) -> None:
    page = write_page(tmp_path / "plain.html", "t", [])
    probe = """(() => {
    const labels = ([axis, low, high, count]) =>
      scaleOf(axis, [low, high], 0, 100).ticks(count).map((tick) => tick.label);
    const extreme = EXTREME.map(([low, high]) => labels([{}, low, high, 5]).length);
    return { shown: TICKS.map(labels), extreme };
    })()"""
    probe = probe.replace("EXTREME", json.dumps(EXTREME))
    probe = probe.replace("TICKS", json.dumps([case[:4] for case in TICKS]))
    told = on_laptop_and_phone(page.read_text(), probe, tmp_path)
    assert len(told) == 2
    for one in told:
        assert one["shown"] == [case[4] for case in TICKS]
        assert max(one["extreme"]) <= 11


def test_every_kind_of_mark_is_drawn_and_names_are_no_markup(tmp_path: Path) -> None:
    x, y = np.array([0.0, 1.0, 2.0]), np.array([1.0, math.nan, 3.0])
    numbers = Picture(
        HOSTILE,
        [
            Band(x, y - 1, y + 1, "#123456", method=HOSTILE),
            Line(x, y, "#123456", dash="dot", name=HOSTILE, tip="{x} {y}", method=HOSTILE),
            *(Dots(x, y, "#123456", shape) for shape in ("filled", "hollow", "diamond")),
            Segments([(None, 1.0, None, 1.0), (1.0, None, 1.0, None)]),
            Caption(0.0, 1.0, HOSTILE),
        ],
        Axis(HOSTILE, view=(0.0, 1.0)),
        Axis(log=True),
    )
    names = Picture("bars", [Bars(x, "#123456")], Axis(zero=True), Axis(categories=[HOSTILE] * 3))
    blocks: list[Block] = [
        Facts([Fact(HOSTILE, HOSTILE, HOSTILE)]),
        Code(HOSTILE),
        Items([HOSTILE], HOSTILE),
    ]
    sections = [
        Section(HOSTILE, [Box(HOSTILE, [Details(HOSTILE, blocks)])]),
        Section("charts", [Grid([Card(numbers, HOSTILE, HOSTILE), Card(names)], HOSTILE)]),
    ]
    page = write_page(tmp_path / "hostile.html", HOSTILE, sections)
    probe = """(() => {
      const marks = [...document.querySelectorAll(".mark")].map((mark) => mark.childElementCount);
      const before = document.querySelector(".rule").parentElement.textContent;
      document.querySelector("button.all").click();
      const after = document.querySelector(".rule").parentElement.textContent;
      const paths = [...document.querySelectorAll("path")].map((path) => path.getAttribute("d"));
      return { marks, title: document.title, changed: before !== after,
        images: document.images.length, broken: paths.filter((d) => /NaN/.test(d)) };
    })()"""
    told = on_laptop_and_phone(page.read_text(), probe, tmp_path)
    assert len(told) == 2
    for seen in told:
        assert seen["marks"] == [1, 1, 1, 1, 1, 1, 1, 3]
        assert seen["title"] == HOSTILE
        assert seen["images"] == 0
        assert seen["changed"]
        assert seen["broken"] == []
