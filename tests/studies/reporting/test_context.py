"""The best value over a parameter that somebody else decides."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies.made import read

from neurobo.running.results import tell_result
from neurobo.running.workers import Outcome
from neurobo.studies.reporting.context import contexts
from neurobo.studies.reporting.findings import Findings
from neurobo.studies.reporting.report import write_report
from neurobo.studies.runner.ask_tell import ask_points
from neurobo.studies.runner.store import open_study

SPACE = "t = { low = 0.0, high = 1.0 }\nx = { low = -1.0, high = 1.0 }"


def test_the_report_shows_what_is_best_for_each_value(tmp_path: Path) -> None:
    file = read(tmp_path, "", space=SPACE, top="n_startup_trials = 50\n", trials=20)
    study = open_study(file)
    for i in range(20):
        (asked,) = ask_points(file, study, 1, fixed={"t": i % 5 / 4})
        x, t = asked.params["x"], asked.params["t"]
        tell_result(study, asked.id, Outcome((x - t / 2) ** 2 + t))
    (one,) = contexts(Findings.of(file, study))
    assert one.name == "t"
    for value, best in zip(one.values, one.found, strict=True):
        assert best.params["x"] == pytest.approx(value / 2, abs=0.1)
        assert best.value == pytest.approx(value, abs=0.1)
    page = write_report(file, study, tmp_path / "report.html").read_text()
    assert "Best value over t" in page


def test_a_study_without_a_context_has_no_such_chart(tmp_path: Path) -> None:
    file = read(tmp_path, "", space=SPACE, top="n_startup_trials = 50\n", trials=6)
    study = open_study(file)
    study.enqueue_trial({"t": 0.5, "x": 0.0})  # whole points are none
    study.enqueue_trial({"t": 0.7, "x": 0.0})
    for asked in ask_points(file, study, 6):
        tell_result(study, asked.id, Outcome(asked.params["x"]))
    assert contexts(Findings.of(file, study)) == []
