"""CSV files with semicolons, tabs and decimal commas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from studies.made import study
from typer.testing import CliRunner

from neurobo.cli.app import app
from neurobo.errors import InvalidInput
from neurobo.studies.file.meaning import parameters
from neurobo.studies.file.reader import read_study
from neurobo.studies.file.sheet import Sheet, read_sheet
from neurobo.studies.runner.store import open_study
from neurobo.studies.transfer import read_results

SPACE = "x = { low = -5.0, high = 5.0 }\nc = { choices = [0.5, 1.5] }"


def _sheet(folder: Path, text: str, *needed: str) -> Sheet:
    path = folder / "sheet.csv"
    path.write_text(text, encoding="utf-8")
    return read_sheet(path, "the results", needed=needed, numeric=lambda name: name != "note")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x,value\n1.5,2\n", ""),
        ("x;value\n1.5;2\n", "semicolons"),
        ("x;value\n1,5;2\n", "semicolons and decimal commas"),
        ("x\tvalue\n1,5\t2\n", "tabs and decimal commas"),
        ("x;value;note\n1.5;2;a,b\n", "semicolons"),
        ('x,value,note\n1.5,2,"a;b;c;d"\n', ""),
    ],
)
def test_the_form_is_guessed(text: str, said: str, tmp_path: Path) -> None:
    sheet = _sheet(tmp_path, text)
    assert sheet.read_with == said
    assert sheet.header[:2] == ["x", "value"]
    assert [sheet.number("x", cell) for cell in sheet.rows[0][:2]] == [1.5, 2.0]


def test_the_separator_is_the_one_that_finds_the_columns(tmp_path: Path) -> None:
    sheet = _sheet(tmp_path, "x, in mm;y, in mm;value\n1,5;2,5;3\n", "x, in mm", "value")
    assert sheet.header == ["x, in mm", "y, in mm", "value"]


def test_points_among_decimal_commas_are_refused(tmp_path: Path) -> None:
    """1.234 could be a thousand and something."""
    sheet = _sheet(tmp_path, "x;value\n1,5;2\n1.234;3\n")
    with pytest.raises(
        InvalidInput, match=r"'x' must be a number with a decimal comma, got '1.234"
    ):
        sheet.number("x", sheet.rows[1][0])


def _import(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["import", *map(str, arguments)], catch_exceptions=False)


def test_an_import_says_how_it_read_the_file(tmp_path: Path) -> None:
    path = study(tmp_path, "", space=SPACE)
    results = tmp_path / "results.csv"
    results.write_text("x;c;value\n-1,5;0,5;2,25\n3;1,5;1e3\n")
    shown = _import(path, results).output
    assert "with semicolons and decimal commas" in " ".join(shown.split())
    trials = open_study(read_study(path)).trials
    assert [t.params for t in trials] == [{"x": -1.5, "c": 0.5}, {"x": 3.0, "c": 1.5}]
    assert [t.value for t in trials] == [2.25, 1000.0]
    told = json.loads(_import(path, results, "--json").output)
    assert told["read_with"] == "semicolons and decimal commas"


def test_a_misspelt_column_is_named(tmp_path: Path) -> None:
    file = read_study(study(tmp_path, "", space="temperature = { low = 0, high = 1 }"))
    results = tmp_path / "results.csv"
    results.write_text("temprature,value\n1,2\n")
    with pytest.raises(InvalidInput, match=r"none for .'temperature'.; did you mean 'temprature'"):
        read_results(file, results)


def test_a_pool_may_have_them_too(tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_text("name;a;b\nfirst;1,5;2\nsecond;3;4,5\n")
    path = tmp_path / "study.toml"
    path.write_text(
        'name = "a"\nbudget = { trials = 1 }\n[pool]\npath = "pool.csv"\nids = "name"\n'
    )
    file = read_study(path)
    assert file.pool is not None
    assert file.pool.candidates.tolist() == [[1.5, 2], [3, 4.5]]
    (row,) = parameters(file)
    assert row["values"].endswith("(read with semicolons and decimal commas)")
