from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from neurobo.demos.heat import Plate, Search, median_evaluations, plates

NEUROBO = str(Path(sys.executable).parent / "neurobo")


def _demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [NEUROBO, "demo", "heat", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _search(*share: float) -> Search:
    points = np.zeros((len(share), 2))
    return Search(plates()[0], True, points, np.array(share), start=1, contradicted=False)


@pytest.mark.parametrize("plate", plates(), ids=lambda plate: plate.name)
def test_the_hottest_place_of_a_plate_has_its_highest_temperature(plate: Plate) -> None:
    assert plate.about.best is not None
    at = plate.at(np.array(list(plate.about.best.values())))
    assert at == pytest.approx(plate.hottest, rel=1e-6)


def test_runs_that_do_not_arrive_count_as_the_longest() -> None:
    soon, late, never = _search(0.96, 0.97), _search(0.5, 0.95), _search(0.5, 0.6)
    assert [run.evaluations for run in (soon, late, never)] == [1, 2, None]
    assert median_evaluations([never, soon, late]) == 2
    assert median_evaluations([never, soon, never]) is None


@pytest.mark.slow
def test_the_law_halves_the_evaluations(tmp_path: Path) -> None:
    """Seeds that nothing was chosen on; the single runs may go either way."""
    path = tmp_path / "heat.png"
    done = _demo("--seed", "40", "--json", "--picture", str(path))
    found = json.loads(done.stdout)
    assert [len(runs["with the law"]) for runs in found["plates"].values()] == [5, 5, 5]
    assert found["median"]["with the law"] <= 0.7 * (found["median"]["without"] or 16)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "0"], "seeds must be a whole number of at least 1, got 0"),
        (["--algorithm", "ntk-gp"], "--algorithm is for `demo tank`, got 'ntk-gp' with `heat`"),
        (["--picture", "nowhere/heat.png"], "--picture must be in a folder that exists"),
    ],
)
def test_wrong_arguments_are_refused_before_any_run(arguments: list[str], message: str) -> None:
    done = _demo(*arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
