"""Trials that take the place of others: failures that are retried, results that are corrected."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from studies.made import neurobo, read, study
from typer.testing import CliRunner, Result

import neurobo as nb
from neurobo.analysis.tally import Tally
from neurobo.cli.app import app
from neurobo.errors import InvalidInput, NeuroboError
from neurobo.integrations.optuna.attributes import counting, replaced
from neurobo.integrations.optuna.history import trials_of_study
from neurobo.running.results import correct_result, tell_result
from neurobo.running.retries import give_up
from neurobo.running.workers import Outcome
from neurobo.studies.file.reader import read_study
from neurobo.studies.runner.ask_tell import ask_points
from neurobo.studies.runner.lease import retry
from neurobo.studies.runner.store import open_study

BROKEN = 'command = ["sh", "-c", "echo no licence >&2; exit 1", "{x}"]'


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def _call(*arguments: Any) -> Result:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(result.exception, NeuroboError):
        raise result.exception
    return result


def _json(*arguments: Any) -> Any:
    return json.loads(_call(*arguments, "--json").stdout)


# retry ------------------------------------------------------------------------------------------


def test_a_program_that_fails_does_not_spend_the_study(tmp_path: Path) -> None:
    """From a program that fails over its repair to a run that has its whole budget."""
    path = study(tmp_path, BROKEN, trials=3)
    done = neurobo("run", path)
    assert done.returncode == 1
    assert done.stdout.count("    no licence") == 1  # what the program says on standard error
    assert "3 of 3 evaluations failed" in done.stdout
    again = neurobo("run", path)
    assert f"`neurobo retry {path} --failed` queues the failed trials again" in again.stdout
    points = [t.params for t in open_study(read_study(path)).trials]
    path.write_text(path.read_text().replace(BROKEN, 'command = ["echo", "{x}"]'))
    queued = _json("retry", path, "--failed")
    assert queued == [{"id": n + 3, "retry_of": n} for n in range(3)]
    assert _json("status", path)["waiting"] == 3
    told = _json("run", path)
    assert (told["complete"], told["failed"], told["replaced"]) == (3, 0, 3)
    trials = open_study(read_study(path)).trials
    assert [t.params for t in trials[3:]] == points
    assert [t.value for t in trials[3:]] == [p["x"] for p in points]
    assert "3 replaced (corrected or retried)" in _call("status", path).output
    assert "no trial has failed: nothing to retry" in _call("retry", path, "--failed").output


def test_a_retried_trial_is_no_failure_to_learn_from(tmp_path: Path) -> None:
    file = read(tmp_path, "", trials=4)
    opened = open_study(file)
    for point in ask_points(file, opened, 2):
        tell_result(opened, point.id, Outcome(failure="cold"))
    assert trials_of_study(opened, file.space).crashed == [True, True]
    assert retry(opened, file.space, [1]) == {1: 2}
    assert trials_of_study(opened, file.space).crashed == [True]
    assert [t.number for t in counting(opened)] == [0]
    (again,) = ask_points(file, opened, 1)
    assert (again.id, again.params) == (2, opened.trials[1].params)


def test_a_retried_trial_that_is_lost_is_begun_again(tmp_path: Path) -> None:
    file = read(tmp_path, "", trials=4)
    opened = open_study(file)
    (point,) = ask_points(file, opened, 1)
    tell_result(opened, 0, Outcome(failure="cold"))
    retry(opened, file.space, [0])
    (again,) = ask_points(file, opened, 1)
    assert give_up(opened, opened.trials[again.id], file.space, 1, "lost: its runner died")
    (third,) = ask_points(file, opened, 1)
    assert third.params == point.params
    tell_result(opened, third.id, Outcome(1.0))
    assert [t.number for t in Tally.of(opened).trials] == [third.id]
    assert replaced(opened.trials) == {0: again.id, again.id: third.id}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "needs either numbers of trials or --failed, got neither"),
        ([0, "--failed"], "got both"),
        (["x"], "a trial is named by its number, such as 3, got 'x'"),
        ([9], "must be in the study, got 9, but there are only trials 0 to 4"),
        ([-1], "must be in the study, got -1"),
        ([1], "must have failed, got 1, which is complete with the value 2.0 (`neurobo tell"),
        ([2], "must have failed, got 2, which is running"),
        ([3], "can be replaced only once, got 3, whose place trial 4 has taken"),
    ],
)
def test_only_failures_can_be_retried(arguments: list[Any], message: str, mixed: Path) -> None:
    with pytest.raises(InvalidInput) as error:
        _call("retry", mixed, *arguments)
    assert message in str(error.value)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One failed, one complete, one running, and one that is retried."""
    path = study(tmp_path_factory.mktemp("mixed"), "")
    _call("ask", path, "-n", 4)
    _call("tell", path, 0, "--failed", "cold")
    _call("tell", path, 1, 2.0)
    _call("tell", path, 3, "--failed", "cold")
    _call("retry", path, 3)
    return path


def test_points_outside_new_bounds_are_not_retried(tmp_path: Path) -> None:
    path = study(tmp_path, "", space="x = { low = -5.0, high = 5.0 }")
    _call("ask", path)
    _call("tell", path, 0, "--failed", "cold")
    study(tmp_path, "", space="x = { low = 6.0, high = 7.0 }")
    assert _json("retry", path, "--failed") == []
    with pytest.raises(InvalidInput, match="must lie in the space of the study file, got 0"):
        _call("retry", path, 0)


# What a run says about failures -----------------------------------------------------------------


def test_each_new_kind_of_failure_is_shown_once(tmp_path: Path) -> None:
    goal = (
        "def f(p):\n"
        "    kind = int(abs(p['x']) * 1000) % 2\n"
        "    if kind: raise ValueError(f'too cold by {p[\"x\"]}')\n"
        "    raise RuntimeError('missing')\n"
    )
    path = study(tmp_path, goal=goal, trials=8, top="n_startup_trials = 8")
    shown = neurobo("run", path).stdout
    assert shown.count("its output ends with") == 2
    assert "raise RuntimeError('missing')" in shown
    assert "raise ValueError(" in shown


# tell --replace ---------------------------------------------------------------------------------


def test_a_typing_error_is_corrected(tmp_path: Path) -> None:
    path = study(tmp_path, "", trials=3)
    first, _ = _json("ask", path, "-n", 2)
    _call("tell", path, 0, -250.0)
    _call("tell", path, 1, 1.0)
    with pytest.raises(InvalidInput, match="`neurobo tell --replace` corrects it"):
        _call("tell", path, 0, -2.5)
    shown = _call("tell", path, 0, "-2.5", "--replace").output
    assert "trial 0: -2.5 (corrected; the new result is trial 2)" in shown
    told = _json("status", path)
    assert (told["complete"], told["replaced"], told["best"]["value"]) == (2, 1, -2.5)
    best = _json("best", path)["best"][0]
    assert (best["id"], best["params"]) == (2, first["params"])
    assert "Left out: 1 replaced (corrected or retried)." in _call("best", path).output
    opened = open_study(read_study(path))
    space = read_study(path).space
    assert sorted(trials_of_study(opened, space).values) == [-2.5, 1.0]
    assert nb.recommend(opened).trial.number == 2
    rows = list(csv.DictReader(io.StringIO(_call("export", path).stdout)))
    assert [(row["id"], row["correction_of"]) for row in rows] == [("1", ""), ("2", "0")]
    everything = json.loads(_call("export", path, "--all", "--format", "json").stdout)
    assert [(row["id"], row["replaced_by"]) for row in everything] == [(0, 2), (1, None), (2, None)]
    page = tmp_path / "page.html"
    _call("report", path, "--out", page)
    assert "corrected" in page.read_text()
    # Once more, by the number that stands in the lab book.
    assert "trial 3" in _call("tell", path, 0, 7.5, "--replace").output
    assert {t.value for t in Tally.of(open_study(read_study(path))).complete} == {1.0, 7.5}
    # A value that was none.
    _call("tell", path, 1, "--failed", "the wrong vial", "--replace")
    assert _json("status", path)["failed"] == 1


def test_only_results_can_be_replaced(mixed: Path) -> None:
    for number, message in [(2, "got trial 2, which is running"),
                            (3, "got trial 3, which is waiting, as trial 4"),
                            (9, "got 9, but there are only trials 0 to 4")]:  # fmt: skip
        with pytest.raises(InvalidInput, match=message):
            _call("tell", mixed, number, 1.0, "--replace")


def test_a_correction_keeps_what_else_is_known_of_its_trial(tmp_path: Path) -> None:
    file = read(tmp_path, "")
    opened = open_study(file)
    ask_points(file, opened, 1)
    tell_result(opened, 0, Outcome(1.0, attrs={"mesh": "fine"}))
    told = correct_result(opened, 0, Outcome(2.0))
    assert told.user_attrs == {"mesh": "fine", "correction_of": 0}
    assert told.params == opened.trials[0].params


def test_a_corrected_study_goes_on_as_if_nothing_had_been_wrong(tmp_path: Path) -> None:
    """The next suggestion is that of a study in which the right value was told at once, but for
    what the order of the results changes in a fit."""

    def next_point(folder: str, *, told: float) -> Any:
        path = study(tmp_path / folder, "", top="n_startup_trials = 2\nalgorithm = 'ntk-gp'")
        _json("ask", path, "-n", 3)
        for number, value in enumerate([1.0, told, 3.0]):
            _call("tell", path, number, value)
        if folder == "corrected":
            _call("tell", path, 1, 0.2, "--replace")
        return _json("ask", path)[0]["params"]["x"]

    right = next_point("right", told=0.2)
    assert next_point("corrected", told=99.0) == pytest.approx(right, abs=0.02)
    assert next_point("wrong", told=99.0) != pytest.approx(right, abs=0.5)


@pytest.mark.parametrize("value", ["-2.5", "-.5", "-1e-3", "-7"])
def test_values_below_zero_need_no_dashes_before_them(value: str, tmp_path: Path) -> None:
    path = study(tmp_path, "")
    _call("ask", path)
    assert _json("tell", path, 0, value)["value"] == float(value)


def test_misspelt_options_are_still_refused(tmp_path: Path) -> None:
    path = study(tmp_path, "")
    result = _call("tell", path, 0, "-2.5", "--constrain", "x=1")
    assert result.exit_code == 2
    assert "--constraint" in result.output
