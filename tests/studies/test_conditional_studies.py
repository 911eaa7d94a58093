"""Conditional and fixed parameters in study files and commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from studies.made import FAST, study
from typer.testing import CliRunner

from neurobo.cli.app import app
from neurobo.errors import InvalidInput, NeuroboError
from neurobo.studies.file.mistakes import InvalidStudyFile
from neurobo.studies.file.reader import read_study
from neurobo.studies.file.settings import settings

SPACE = """
model = { choices = ["svm", "forest"] }
kernel = { choices = ["rbf", "linear"], when = { model = ["svm"] } }
gamma = { low = 1e-4, high = 1.0, log = true, when = { kernel = ["rbf"] } }
depth = { type = "int", low = 1, high = 6, when = { model = ["forest"] } }
leaf = { type = "int", low = 1, high = 9, when = { depth = { low = 3 } } }
heat = { low = 0.0, high = 40.0 }
"""
GOAL = """
import json, pathlib

def f(p):
    with open(pathlib.Path(__file__).with_name("seen.jsonl"), "a") as file:
        print(json.dumps(p), file=file)
    if p["model"] == "svm":
        return 1.0 + p.get("gamma", 0.5)
    return abs(p["depth"] - 4) + p.get("leaf", 9) / 9 + (p["heat"] / 40 - 0.5) ** 2
"""


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def _call(*arguments: Any) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(result.exception, NeuroboError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_space_is_explained_in_words(tmp_path: Path) -> None:
    said = _call("check", study(tmp_path, space=SPACE))
    assert "6 parameters, 4 of them only for some values of others" in said
    assert "kernel: one of 'rbf', 'linear'; only if model is 'svm'" in said
    assert "leaf: whole numbers 1 to 9; only if depth is at least 3" in said


def test_a_conditional_study_from_run_to_export(tmp_path: Path) -> None:
    path = study(tmp_path, space=SPACE, goal=GOAL, trials=10)
    _call("run", path)
    space = read_study(path).space
    seen = [json.loads(line) for line in (tmp_path / "seen.jsonl").read_text().splitlines()]
    assert len(seen) == 10
    assert all(space.params(p) == p for p in seen)  # active parameters, and no others
    assert {frozenset(p) for p in seen} >= {frozenset({"model", "kernel", "heat"})}
    rows = json.loads(_call("export", path, "--format", "json"))
    assert [row["gamma"] is None for row in rows] == ["gamma" not in p for p in seen]
    _call("report", path)
    # The same rows in another study.
    csv = tmp_path / "rows.csv"
    csv.write_text(_call("export", path, "--format", "csv"))
    other = study(tmp_path / "other", space=SPACE, goal=GOAL, trials=30)
    _call("import", other, csv)
    assert json.loads(_call("status", other, "--json"))["complete"] == 10
    assert json.loads(_call("best", other, "--json"))["best"][0]["params"] == json.loads(
        _call("best", path, "--json"))["best"][0]["params"]  # fmt: skip


def test_a_program_gets_nothing_for_an_inactive_parameter(tmp_path: Path) -> None:
    script = tmp_path / "show.sh"
    script.write_text('#!/bin/sh\necho "$#[$1]" >> "$NEUROBO_STUDY_FOLDER/seen"\necho 1\n')
    script.chmod(0o755)
    path = study(tmp_path, 'command = ["./show.sh", "{depth}", "end"]', space=SPACE, trials=4)
    _call("run", path)
    rows = json.loads(_call("export", path, "--format", "json"))
    expected = [f"2[{'' if row['depth'] is None else row['depth']}]" for row in rows]
    assert (tmp_path / "seen").read_text().split() == expected
    assert {row["depth"] is None for row in rows} == {True, False}


def test_ask_and_best_for_given_values(tmp_path: Path) -> None:
    path = study(tmp_path, space=SPACE, goal=GOAL, trials=12)
    _call("run", path)
    (point,) = json.loads(_call("ask", path, "--set", "heat=10", "--set", "model=svm", "--json"))
    assert (point["params"]["heat"], point["params"]["model"]) == (10.0, "svm")
    assert "depth" not in point["params"]
    _call("tell", path, point["id"], 2.0)
    assert json.loads(_call("status", path, "--json"))["complete"] == 13
    best = json.loads(_call("best", path, "--set", "heat=30", "--json"))
    assert best["params"]["heat"] == 30
    assert best["params"]["model"] == "forest"
    shown = _call("best", path, "--set", "heat=30")
    assert "30 (set)" in shown
    assert f"trial {best['nearest']}" in shown


def test_a_set_value_comes_before_the_queue(tmp_path: Path) -> None:
    """A waiting trial has a point of its own."""
    path = study(tmp_path, "", space=SPACE, trials=5)
    (first,) = json.loads(_call("ask", path, "--lease", "1e-9", "--json"))
    (asked,) = json.loads(_call("ask", path, "--set", "heat=7", "--json"))  # the first is queued
    assert asked["params"]["heat"] == 7
    (again,) = json.loads(_call("ask", path, "--json"))
    assert again["params"] == first["params"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["heat"], "--set must be NAME=VALUE, got 'heat'"),
        (["heet=3"], "did you mean 'heat'?"),
        (["heat=warm"], "'heat' must be a number, got 'warm'"),
        (["heat=41"], "must lie in"),
        (["depth=2.5"], "must lie in"),
        (["model=swm"], "did you mean 'svm'?"),
        (["heat=3", "heat=4"], "once, got 'heat' again"),
    ],
)
def test_bad_settings_are_refused(tmp_path: Path, given: list[str], message: str) -> None:
    path = study(tmp_path, "", space=SPACE)
    with pytest.raises(InvalidInput) as error:
        _call("ask", path, *(part for one in given for part in ("--set", one)))
    assert message in str(error.value)
    assert not path.with_suffix(".db").exists()


def test_settings_have_the_types_of_their_parameters(tmp_path: Path) -> None:
    space = read_study(study(tmp_path, top=FAST, space=SPACE + "on = { choices = [true, 2] }"))
    found = settings(space.space, ["depth=3.0", "heat=7", "on=true", "model=forest"])
    assert found == {"depth": 3, "heat": 7.0, "on": True, "model": "forest"}
    assert [type(v) for v in found.values()] == [int, float, bool, str]


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ('{ modle = ["svm"] }', "did you mean 'model'?"),
        ('{ model = ["swm"] }', "did you mean 'svm'?"),
        ("{ heat = [1.0] }", "a category, an integer or a stepped range"),
        ('{ gamma2 = ["x"] }', "got 'gamma2'"),
        ("{ depth = { low = 7 } }", "inside"),
        ("{ depth = {} }", "must have `low`, `high` or both"),
        ("{ model = { low = 1 } }", "for a number"),
        ('{ model = "svm" }', "`space.gamma2.when.model` must be a list"),
        ("3", "`space.gamma2.when` must be a table"),
    ],
)
def test_bad_conditions_are_told_with_their_line(tmp_path: Path, when: str, message: str) -> None:
    path = study(tmp_path, space=SPACE + f"gamma2 = {{ low = 0, high = 1, when = {when} }}")
    with pytest.raises(InvalidStudyFile) as error:
        read_study(path)
    assert message in str(error.value)
    line = path.read_text().splitlines().index(f"gamma2 = {{ low = 0, high = 1, when = {when} }}")
    assert f"line {line + 1}:" in str(error.value)


def test_conditions_in_a_circle_are_refused(tmp_path: Path) -> None:
    space = """
a = { choices = [1, 2], when = { b = [1] } }
b = { choices = [1, 2], when = { a = [1] } }
"""
    with pytest.raises(InvalidStudyFile, match="must not depend on its own parameter"):
        read_study(study(tmp_path, space=space))
