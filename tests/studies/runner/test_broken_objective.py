"""`neurobo run` stops when the first evaluations all fail alike, and goes on after the repair."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies.made import neurobo, study

from neurobo.integrations.optuna.attributes import counting
from neurobo.studies.file.reader import read_study
from neurobo.studies.runner.store import open_study

PROGRAM = "import sys\nprint(float(sys.argv[1]) ** 2)\n"


@pytest.mark.parametrize(
    ("objective", "goal", "message"),
    [
        ('python = "goal:f"', "def f(p):\n    return p['x'] + y\n", "NameError: name 'y'"),
        ('python = "goal:f"', "import no_such_package\n", "ModuleNotFoundError: No module named"),
        ('command = ["no-such-program", "{x}"]', "", "'no-such-program' cannot be started"),
        ('command = ["python3", "gaol.py", "{x}"]', PROGRAM, "can't open file"),
        ('command = ["python3", "goal.py", "{x}"]', "import no_such_package", "ModuleNotFoundErr"),
    ],
    ids=["name", "module", "no program", "no file", "program"],
)
def test_a_broken_objective_stops_the_run(
    objective: str, goal: str, message: str, tmp_path: Path
) -> None:
    path = study(tmp_path, objective, goal=goal, trials=20)
    done = neurobo("run", path)
    assert done.returncode == 2
    assert "the first 3 evaluations failed with the same error" in done.stderr
    assert message in done.stderr
    found = open_study(read_study(path))
    assert len(found.trials) == 3
    assert not counting(found)


def test_after_the_repair_the_whole_budget_is_there(tmp_path: Path) -> None:
    path = study(tmp_path, goal="def f(p):\n    return q['x']\n", trials=5)
    assert neurobo("run", path).returncode == 2
    study(tmp_path, trials=5)
    assert neurobo("run", path).returncode == 0
    found = open_study(read_study(path))
    assert len(found.trials) == 8
    assert [t.value is not None for t in counting(found)] == [True] * 5
    other = study(tmp_path / "other", trials=5)
    assert neurobo("run", other).returncode == 0
    whole = open_study(read_study(other))
    assert [t.params for t in counting(found)] == [t.params for t in whole.trials]
