"""`neurobo explain`: what it says about a study is true."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.trial import create_trial
from studies.made import read
from typer.testing import CliRunner

from neurobo.cli.app import app
from neurobo.integrations.optuna.attributes import MEMBER
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.reporting.findings import Findings
from neurobo.studies.runner import store

SPACE = "x = { low = -1.0, high = 1.0 }\ny = { low = -1.0, high = 1.0 }"


def _bowl(x: float, y: float) -> float:
    return (x - 0.2) ** 2 + 0.1 * y**2


def _fill(
    file: StudyFile,
    study: optuna.Study,
    places: np.ndarray,
    members: list[str],
    f: Callable[[float, float], float] = _bowl,
) -> None:
    for (x, y), member in zip(places, members, strict=True):
        study.add_trial(
            create_trial(
                params={"x": float(x), "y": float(y)},
                distributions=file.space.distributions,
                value=float(f(x, y)),
                system_attrs={MEMBER: member} if member else {},
            )
        )


@pytest.fixture
def some() -> tuple[np.ndarray, list[str]]:
    """Random points, then a walk to the minimum by `wide-local`, with `wide` in between far off."""
    places = np.random.default_rng(0).uniform(-1, 1, (12, 2))
    walk = [(0.2 + 0.3 / 2**i, 0.1 / 2**i) if i % 2 else (-1.0, 0.1 * i) for i in range(10)]
    members = [*[""] * 12, *("wide-local" if i % 2 else "wide" for i in range(10))]
    return np.concatenate([places, walk]), members


def test_who_did_what(tmp_path: Path, some: tuple[np.ndarray, list[str]]) -> None:
    file = read(tmp_path, space=SPACE, trials=30, top="")
    study = optuna.create_study()
    _fill(file, study, *some)
    told = Findings.of(file, study).explanation
    by_name = {w.member: w for w in told.work}
    assert (by_name["wide"].points, by_name["wide"].improvements) == (5, 0)
    assert by_name["wide-local"].improvements >= 3
    assert [w.member for w in told.work] == ["wide-local", "wide"]
    assert told.radius is not None
    assert told.scales["x"] == 1.0 > told.scales["y"]
    assert told.gain is not None
    assert told.little_left  # of a parabola whose minimum is known to a thousandth
    assert "Stopping here costs little" in " ".join(told.sentences())


def test_it_says_if_values_are_seen_through_a_logarithm(
    tmp_path: Path, some: tuple[np.ndarray, list[str]]
) -> None:
    file = read(tmp_path, space=SPACE, trials=30, top="")
    strengths = []
    for f in (_bowl, lambda x, y: np.exp(6 * _bowl(x, y))):
        study = optuna.create_study()
        _fill(file, study, *some, f)
        told = Findings.of(file, study).explanation
        strengths.append(told.output_warping)
        assert ("logarithm" in " ".join(told.sentences())) == bool(told.output_warping)
    assert strengths[0] == 0.0 < (strengths[1] or 0.0)


def test_it_says_which_parameters_are_stretched(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    places = np.stack([10 ** rng.uniform(-4, 0.3, 30) - 1, rng.uniform(-1, 1, 30)], axis=1)

    def f(x: float, y: float) -> float:
        return float((np.log10(1 + x) + 2) ** 2 + 0.1 * y**2)

    for options in ("", "options = { stretch = false }"):
        file = read(tmp_path, space=SPACE, trials=30, top=options)
        study = optuna.create_study()
        _fill(file, study, places, ["wide"] * 30, f)
        told = Findings.of(file, study).explanation
        said = " ".join(told.sentences())
        assert set(told.input_warping) == (set() if options else {"x"})
        assert ("`x` matters most near its lower end" in said) == (not options)
    json.dumps(told.as_dict())


def test_there_is_more_to_gain_where_little_is_known(tmp_path: Path) -> None:
    file = read(tmp_path, space=SPACE, trials=30, top="")
    study = optuna.create_study()
    places = np.random.default_rng(0).uniform(-1, -0.3, (5, 2))
    _fill(file, study, places, [""] * 5)
    told = Findings.of(file, study).explanation
    assert told.work == []
    assert not told.little_left
    assert "Going on is likely to pay" in " ".join(told.sentences())


def test_a_study_without_results(tmp_path: Path) -> None:
    file = read(tmp_path, space=SPACE, trials=30, top="")
    told = Findings.of(file, optuna.create_study()).explanation
    assert told.sentences() == []
    json.dumps(told.as_dict())


def test_the_command(tmp_path: Path, some: tuple[np.ndarray, list[str]]) -> None:
    file = read(tmp_path, space=SPACE, trials=30, top="")
    _fill(file, store.open_study(file), *some)
    path = str(tmp_path / "study.toml")
    shown = CliRunner().invoke(app, ["explain", path])
    assert shown.exit_code == 0
    assert "wide-local" in shown.output
    assert "hardly matters" in shown.output or "matter most" in shown.output
    told = json.loads(CliRunner().invoke(app, ["explain", path, "--json"]).stdout)
    assert told["little_left"] is True
    assert set(told["influence"]) == {"x", "y"}
