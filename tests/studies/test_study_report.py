"""The report of a study: small, large, odd, hostile, on a laptop and on a phone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from browser import on_laptop_and_phone
from optuna.trial import TrialState, create_trial
from studies.made import read

from neurobo.errors import InvalidInput
from neurobo.studies.findings import MOST_POINTS, Findings
from neurobo.studies.pictures import write_pictures
from neurobo.studies.report import write_report
from neurobo.studies.study_file import StudyFile

HOSTILE = "</script><img src=x onerror=document.title='broken'> $x^{$"
SPACE = f"""x = {{ low = -5.0, high = 5.0 }}
lr = {{ low = 1e-5, high = 0.1, log = true }}
n = {{ type = "int", low = 1, high = 4 }}
c = {{ choices = ["plain", {json.dumps(HOSTILE)}] }}
idle = {{ low = 0.0, high = 1.0 }}
{json.dumps(HOSTILE[:40])} = {{ low = 0.0, high = 1.0 }}"""


def _study(
    file: StudyFile, n: int, *, noise: float = 0.0, failures: float = 0.1, seed: int = 0
) -> optuna.Study:
    """Results of a valley in x, lr and c; `idle` does nothing."""
    rng = np.random.default_rng(seed)
    sign = -1.0 if file.table.direction == "maximize" else 1.0
    study = optuna.create_study(direction=file.table.direction)
    space, trials = file.space, []
    for row in space.from_unit(rng.random((n, space.n_parameters))):
        p = space.decode(row)
        value = (p["x"] - 1) ** 2 + 3 * (np.log10(p["lr"]) + 3) ** 2 + 4 * (p["c"] == "plain")
        about: dict[str, Any] = {"params": p, "distributions": space.distributions}
        if rng.random() < failures:
            reason = {"failure": f"exploded {HOSTILE}", "output": f"tail {HOSTILE}"}
            trials.append(create_trial(state=TrialState.FAIL, user_attrs=reason, **about))
        else:
            names = file.table.constraints
            value = sign * (value + rng.normal(0, noise))
            found = {name: float(p["n"] - 2.5) for name in names}
            trials.append(create_trial(value=value, constraints=found, **about))
    study.add_trials(trials)
    return study


def _file(folder: Path, trials: int, **options: Any) -> StudyFile:
    top = f"constraints = [{json.dumps(HOSTILE)}]"
    return read(folder, **{"space": SPACE, "trials": trials, "top": top, **options})


def test_what_it_says_is_true(tmp_path: Path) -> None:
    file = _file(tmp_path, 120, top="")
    study = _study(file, 120, failures=0.0)
    found = Findings.of(file, study)
    text = " ".join(found.summary())
    assert "120 of 120 trials have ended." in text
    assert (
        f"The lowest value is {study.best_value:.6g}, found in trial {study.best_trial.number}"
        in text
    )
    assert "The values look exact" in text
    shares = {name: share for name, share, _ in found.influence}
    assert sorted(shares, key=shares.__getitem__)[-3:] == ["c", "lr", "x"]
    assert shares["idle"] < 0.02 < 0.05 < shares["lr"] < 0.5 < shares["x"]
    along = {one.name: one for one in found.slices}["x"]
    inside = np.abs(np.array(along.x) - 1) < 2.5
    here = found.contenders[0].trial.params
    assert here["x"] in along.x  # a valley may be narrower than the grid
    assert list(along.x) == sorted(along.x)
    truth = (np.array(along.x) - 1) ** 2 + 3 * (np.log10(here["lr"]) + 3) ** 2 + 4 * (
        here["c"] == "plain")  # fmt: skip
    assert np.mean(np.abs(along.mean - truth)[inside] <= 2 * along.sd[inside] + 0.2) > 0.9


def test_points_of_the_design_are_not_called_the_models(tmp_path: Path) -> None:
    file = _file(tmp_path, 40, top="")
    for failures, chosen in ((0.0, 40 - file.n_start), (1.0, 0)):
        story = " ".join(Findings.of(file, _study(file, 40, failures=failures)).story())
        assert f"{chosen} points were chosen by the model after {40 - chosen} of a start" in story


def test_noise_is_noticed_and_maximise_is_turned(tmp_path: Path) -> None:
    file = _file(tmp_path, 100, top='direction = "maximize"')
    found = Findings.of(file, _study(file, 200, noise=5.0, failures=0.0))
    assert found.belief is not None
    assert found.belief.noise_sd == pytest.approx(5.0, rel=0.5)
    best = found.contenders[0]
    assert best.mean == max(c.mean for c in found.contenders if c.mean is not None)
    assert "The values are noisy" in " ".join(found.summary())
    assert found.convergence.best[0] <= found.convergence.best[-1]


def test_who_tells_auto_of_noise_tells_the_report(tmp_path: Path) -> None:
    for options, noisy in (("", False), ("options = { noisy = true }", True)):
        file = _file(tmp_path, 100, top=options)
        found = Findings.of(file, _study(file, 8, noise=2.0, failures=0.0))
        assert found.belief is not None
        assert found.belief.data.noisy is file.noisy is noisy


PROBE = """<script>
const shown = () => [...document.querySelectorAll(".plot")].map((p) => ({
  lines: p.querySelectorAll(".trace, .bars .point").length,
  width: p.querySelector(".main-svg")?.getBoundingClientRect().width,
  place: p.getBoundingClientRect().width,
  ink: getComputedStyle(p.querySelector(".xtick text, .ytick text")).fill,
}));
setTimeout(() => {
  const before = shown(), paper = getComputedStyle(document.body).backgroundColor;
  document.getElementById("theme").click();
  setTimeout(() => parent.postMessage(JSON.stringify({
    width: innerWidth, content: document.documentElement.scrollWidth, title: document.title,
    before, after: shown(), paper, dark: getComputedStyle(document.body).backgroundColor,
  }), "*"), 1000);
}, 2000);
</script>
"""


@pytest.mark.parametrize("n", [60, pytest.param(5000, marks=pytest.mark.slow)])
def test_page_of_hostile_trials_works_in_a_browser(n: int, tmp_path: Path) -> None:
    file = _file(tmp_path, n)
    page = write_report(file, _study(file, n, noise=0.5), tmp_path / "study.html")
    text = page.read_text()
    plots = json.loads(text.split('id="plots">')[1].split("</script>")[0])
    assert len(plots) >= 12
    assert max(len(t.get("x", ())) for p in plots for t in p["data"]) < 2 * MOST_POINTS
    assert not re.search(r'(src|href)="(?!#|data:)', text.split("<script>")[0])
    seen = on_laptop_and_phone(text, PROBE, tmp_path)
    assert sorted(s["width"] for s in seen) == [390, 1280]
    for s in seen:
        assert s["content"] <= s["width"]  # nothing makes the page scroll sideways
        assert s["title"] == "Study test: minimize"
        assert len(s["before"]) == len(plots)
        for plot in s["before"]:
            assert plot["lines"] >= 1
            assert plot["width"] <= plot["place"] + 1
        assert s["paper"] == "rgb(250, 250, 250)"
        assert s["dark"] == "rgb(20, 23, 27)"
        assert {p["ink"] for p in s["before"]} == {"rgb(34, 34, 34)"}
        assert {p["ink"] for p in s["after"]} == {"rgb(228, 230, 234)"}


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (0, {}),
        (1, {}),
        (2, {"failures": 1.0}),
        (10, {}),
    ],
    ids=["nothing", "one", "failures only", "ten"],
)
def test_small_studies_have_a_report(n: int, options: dict[str, Any], tmp_path: Path) -> None:
    file = _file(tmp_path, 10)
    page = write_report(file, _study(file, n, **options), tmp_path / "study.html")
    text = page.read_text()
    assert text.rstrip().endswith("</html>")
    assert "In short" in text
    assert HOSTILE not in text.split("<script>")[0]
    assert ("Around the best point" in text) == (n == 10)


def test_odd_studies_have_a_report(tmp_path: Path) -> None:
    file = read(tmp_path, space="x = { low = 0.0, high = 1.0 }", top='constraints = ["c"]')
    about: dict[str, Any] = {"distributions": file.space.distributions}
    constant = [create_trial(value=1.0, params={"x": i / 9}, **about) for i in range(10)]
    broken = [
        create_trial(value=i, params={"x": i / 9}, constraints={"c": 1.0}, **about)
        for i in range(10)
    ]
    for trials in (constant, broken):
        study = optuna.create_study()
        study.add_trials(trials)
        page = write_report(file, study, tmp_path / "study.html")
        assert "In short" in page.read_text()
    assert "No result is feasible yet." in page.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "start"),
    [("svg", b"<?xml"), pytest.param("png", b"\x89PNG", marks=pytest.mark.slow)],
)
def test_pictures_are_files_of_their_kind(form: str, start: bytes, tmp_path: Path) -> None:
    file = _file(tmp_path, 20)
    paths = write_pictures(file, _study(file, 20, noise=0.5), tmp_path / form, form)
    assert [p.stem for p in paths] == ["convergence", "slices", "inputs"]
    assert all(p.read_bytes().startswith(start) for p in paths)
    with pytest.raises(InvalidInput, match="pictures need a result, got none"):
        write_pictures(file, optuna.create_study(), tmp_path, form)
