"""The report of a study: small, large, odd, hostile, on a laptop and on a phone."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from browser import DRAWN, Window, on_laptop_and_phone
from optuna.trial import TrialState, create_trial
from studies.made import read

from neurobo.analysis.recommendation import recommend
from neurobo.errors import InvalidInput
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.reporting.findings import MOST_POINTS, Findings, plus_minus, shown
from neurobo.studies.reporting.pictures import write_pictures
from neurobo.studies.reporting.report import write_report
from neurobo.studies.reporting.sentences import story, summary

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
    text = " ".join(summary(found))
    assert "120 of 120 trials have ended." in text
    assert (
        f"The lowest value is {study.best_value:.6g}, found in trial {study.best_trial.number}"
        in text
    )
    assert "120 results show no sign of noise." in text
    shares = {one.name: one.total for one in found.influence}
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
        text = " ".join(story(Findings.of(file, _study(file, 40, failures=failures))))
        assert f"{chosen} points were chosen by the model after {40 - chosen} of an initial" in text


def test_noise_is_noticed_and_maximise_is_turned(tmp_path: Path) -> None:
    file = _file(tmp_path, 100, top='direction = "maximize"')
    found = Findings.of(file, _study(file, 200, noise=5.0, failures=0.0))
    assert found.belief is not None
    assert found.belief.noise_sd == pytest.approx(5.0, rel=0.5)
    best = found.contenders[0]
    assert best.mean == max(c.mean for c in found.contenders if c.mean is not None)
    assert "The values are noisy" in " ".join(summary(found))
    assert found.convergence.best[0] <= found.convergence.best[-1]


def test_who_tells_auto_of_noise_tells_the_report(tmp_path: Path) -> None:
    for options, noisy in (("", False), ("options = { noisy = true }", True)):
        file = _file(tmp_path, 100, top=options)
        found = Findings.of(file, _study(file, 8, noise=2.0, failures=0.0))
        assert found.belief is not None
        assert found.belief.data.noisy is file.noisy is noisy


# What a reader sees, the text at every mark, then the same in the dark theme.
PROBE = """(() => {
const tips = (chart) => chart.targets.map((target) => {
  const box = chart.place.firstElementChild.getBoundingClientRect();
  const [x, y] = target.points.find(([x, y]) => x >= 0 && y >= 0) || [-99, -99];
  const where = { clientX: box.left + x, clientY: box.top + y };
  chart.place.dispatchEvent(new PointerEvent("pointermove", where));
  return tooltip.hidden ? null : tooltip.textContent;
});
const shown = () => charts.map(({ place, spec }) => ({
  marks: place.querySelectorAll(".mark").length,
  width: place.querySelector("svg")?.getBoundingClientRect().width,
  place: place.getBoundingClientRect().width,
  kind: spec.kind,
  ticks: [...place.querySelectorAll(".tick")].map((tick) => tick.textContent),
  ink: getComputedStyle(place.querySelector(".tick")).fill,
}));
const paper = () => getComputedStyle(document.body).backgroundColor;
const seen = {
  width: innerWidth, content: document.documentElement.scrollWidth, before: shown(),
  pointed: charts.map(tips), paper: paper(),
};
document.getElementById("theme").click();
return Object.assign(seen, { after: shown(), dark: paper(), title: document.title });
})()
"""


@pytest.mark.parametrize("n", [60, pytest.param(5000, marks=pytest.mark.slow)])
def test_page_of_hostile_trials_works_in_a_browser(n: int, tmp_path: Path) -> None:
    file = _file(tmp_path, n)
    page = write_report(file, _study(file, n, noise=0.5), tmp_path / "study.html")
    text = page.read_text()
    plots = json.loads(text.split('id="plots">')[1].split("</script>")[0])
    assert len(plots) >= 12
    assert len(text) < 300_000
    marks = [mark for p in plots for mark in p.get("marks", ())]
    assert max(len(mark.get("x", ())) for mark in marks) < 2 * MOST_POINTS
    assert not re.search(r'(src|href)="(?!#|data:)', text.split("<script>")[0])
    seen = on_laptop_and_phone(text, PROBE, tmp_path)
    assert sorted(s["width"] for s in seen) == [390, 1280]
    for s in seen:
        assert s["content"] <= s["width"]  # nothing makes the page scroll sideways
        assert s["title"] == "test"
        assert len(s["before"]) == len(plots)
        for plot in s["before"]:
            assert plot["marks"] >= 1
            assert len(plot["ticks"]) >= 2
            assert "NaN" not in " ".join(plot["ticks"])
            scrolls = plot["kind"] == "parallel"
            assert plot["width"] <= plot["place"] + 1 or scrolls
            assert plot["width"] >= plot["place"] - 1
        for tips, plot in zip(s["pointed"], plots, strict=True):
            assert any(tips), plot["label"]
            assert "undefined" not in str(tips)
            assert "NaN" not in str(tips)
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
    assert "Summary" in text
    assert HOSTILE not in text.split("<script>")[0]
    assert ("Around the recommended setting" in text) == (n == 10)


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
        assert "Summary" in page.read_text()
    assert "No result is feasible yet." in page.read_text()


def test_charts_follow_the_width_of_the_window(tmp_path: Path) -> None:
    file = _file(tmp_path, 30)
    page = write_report(file, _study(file, 30), tmp_path / "study.html")
    with Window(tmp_path) as window:
        window.open(page, 1280)
        widths = []
        for width in (1280, 700, 390, 1000):
            window.resize(width)
            window.wait_for(f"innerWidth === {width} && {DRAWN}")
            assert window.value("document.documentElement.scrollWidth") <= width
            widths.append(window.value("charts[0].place.clientWidth"))
    assert widths[2] < widths[1] < widths[3] < widths[0]


def _page(file: StudyFile, study: optuna.Study, folder: Path) -> str:
    return write_report(file, study, folder / "study.html").read_text()


def _charts(text: str) -> dict[str, Any]:
    """By the first word of their labels."""
    plots = json.loads(text.split('id="plots">')[1].split("</script>")[0])
    return {p["label"].split()[0]: p for p in plots}


def test_it_needs_no_package_beyond_the_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("plotly", "matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    file = _file(tmp_path, 10)
    assert _page(file, _study(file, 10), tmp_path).rstrip().endswith("</html>")


def test_the_recommended_setting_is_on_top(tmp_path: Path) -> None:
    file = _file(tmp_path, 60, top="")
    study = _study(file, 40, failures=0.0)
    text = _page(file, study, tmp_path)
    head = text.split("<h2>Summary")[0]
    assert "<h1>test</h1>" in text
    assert "Recommended setting" in head
    assert f"{study.best_value:.6g}" in head
    for name, value in study.best_params.items():
        assert f"<td>{html.escape(name)}</td>" in head
        assert html.escape(shown(value)) in head
    assert html.escape(json.dumps(study.best_params, indent=2)) in head
    assert "Going on is likely to pay" in head or "Stopping here costs little" in head
    assert "<code>neurobo run study.toml</code> (20 trials left in the budget)" in head


def test_under_noise_the_expected_value_is_recommended(tmp_path: Path) -> None:
    file = _file(tmp_path, 100, top='direction = "maximize"')
    study = _study(file, 200, noise=5.0, failures=0.0)
    best = recommend(study, file.space.distributions)
    assert best.sd > 0
    head = _page(file, study, tmp_path).split("<h2>Summary")[0]
    assert plus_minus(best.value, 2 * best.sd) in head
    assert f"one evaluation scatters by ± {2 * best.noise_sd:.2g}" in head
    assert f"<dd>{study.best_value:.6g}</dd>" in head
    assert f"in trial {study.best_trial.number}; the recommended setting is that" in head
    assert html.escape(json.dumps(best.params, indent=2)) in head


@pytest.mark.parametrize(
    ("n", "top", "values", "says"),
    [
        (0, "", None, "there is no result yet"),
        (2, "", None, "too few, or too much alike"),
        (10, 'constraints = ["c"]', 1.0, "no result meets all constraints yet"),
        (10, 'constraints = ["c"]', -1.0, "The best feasible value last improved"),
    ],
)
def test_what_to_do_next(n: int, top: str, values: float | None, says: str, tmp_path: Path) -> None:
    file = read(tmp_path, space="x = { low = 0.0, high = 1.0 }", top=top, trials=n + 1)
    about: dict[str, Any] = {"distributions": file.space.distributions}
    limits = {} if values is None else {"c": values}
    study = optuna.create_study()
    study.add_trials(
        [
            create_trial(value=float(i), params={"x": i / 9}, constraints=limits, **about)
            for i in range(n)
        ]
    )
    head = _page(file, study, tmp_path).split("<h2>Summary")[0]
    assert says in head
    assert "(1 trial left in the budget)" in head
    assert ("<code>x</code> = 0 is at the lower end" in head) == bool(n and values != 1.0)


def test_parallel_coordinates_have_axes_in_the_parameters_own_units(tmp_path: Path) -> None:
    file = _file(tmp_path, 60, top="")
    study = _study(file, 60)
    parallel = _charts(_page(file, study, tmp_path))["Parallel"]
    axes = {axis["label"]: axis for axis in parallel["axes"]}
    assert list(axes) == [*file.space.parameters, "value"]
    assert (axes["x"]["low"], axes["x"]["high"]) == (-5.0, 5.0)
    assert (axes["lr"]["low"], axes["lr"]["high"], axes["lr"]["log"]) == (1e-5, 0.1, True)
    assert axes["c"]["categories"] == ["plain", HOSTILE]
    done = [t for t in study.trials if t.value is not None]
    rows = [row for bundle in parallel["bundles"] for row in bundle["rows"]]
    assert len(rows) == len(done)
    names = list(axes)
    drawn = sorted((row[names.index("x")], row[names.index("c")]) for row in rows)
    true = sorted((t.params["x"], ["plain", HOSTILE].index(t.params["c"])) for t in done)
    np.testing.assert_allclose(drawn, true, rtol=1e-5)


def test_values_far_from_zero_are_told_apart(tmp_path: Path) -> None:
    file = read(tmp_path, space="x = { low = 1000.0, high = 1000.1 }", top="", trials=20)
    about: dict[str, Any] = {"distributions": file.space.distributions}
    study = optuna.create_study()
    x = np.linspace(1000.0, 1000.1, 20)
    study.add_trials(
        [
            create_trial(value=5e4 + 1e-3 * i, params={"x": float(v)}, **about)
            for i, v in enumerate(x)
        ]
    )
    text = _page(file, study, tmp_path)
    (dots,) = [m for m in _charts(text)["Values"]["marks"] if m["kind"] == "dots"]
    assert len(set(dots["y"])) == 20
    assert "50000.001" in text.split("<h2>Best results")[1].split("<h2>")[0]


def test_no_greek_letter_is_outside_of_technical_details(tmp_path: Path) -> None:
    file = _file(tmp_path, 60, top='algorithm = "auto"')
    text = _page(file, _study(file, 60), tmp_path)
    folded = re.findall(r"<details>.*?</details>", text, flags=re.DOTALL)
    assert any("σ_w" in part for part in folded)
    rest = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    assert not re.search("σ_|κ|ν", rest)


def test_shares_of_influence_add_up(tmp_path: Path) -> None:
    """x and y act only together, z only by itself; z has the variance 1/3 and x y has 1/9."""
    space = "\n".join(f"{name} = {{ low = -1.0, high = 1.0 }}" for name in "xyz")
    file = read(tmp_path, space=space, top="", trials=90)
    about: dict[str, Any] = {"distributions": file.space.distributions}
    study = optuna.create_study()
    for row in file.space.from_unit(np.random.default_rng(0).random((90, 3))):
        p = file.space.decode(row)
        study.add_trial(create_trial(value=p["x"] * p["y"] + p["z"], params=p, **about))
    found = Findings.of(file, study)
    by_name = {one.name: one for one in found.influence}
    for name, alone, total in (("x", 0.0, 0.25), ("y", 0.0, 0.25), ("z", 0.75, 0.75)):
        assert by_name[name].alone == pytest.approx(alone, abs=0.05)
        assert by_name[name].total == pytest.approx(total, abs=0.05)
    assert found.combined == pytest.approx(0.25, abs=0.05)
    assert sum(one.alone for one in found.influence) + found.combined == pytest.approx(1.0)
    assert f"{found.combined:.0%} from combinations" in " ".join(summary(found))
    assert "can sum to more than 100 %" in _page(file, study, tmp_path)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (3.14159, 0.0234, "3.142 ± 0.023"),
        (1234.5, 12.0, "1234 ± 12"),
        (-0.5, 0.0, "-0.5"),
        (1.5e-9, 2e-10, "1.5e-09 ± 2e-10"),
        (0.0, 1e-9, "0 ± 1e-09"),
        (5e12, 3e9, "5e+12 ± 3e+09"),
    ],
)
def test_a_value_has_the_digits_of_its_error(value: float, error: float, text: str) -> None:
    assert plus_minus(value, error) == text


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
