"""A law in a study file: it reaches the suggestions, and only then is it imported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from studies.made import read, study

from neurobo.errors import InvalidInput
from neurobo.studies.file.meaning import meaning
from neurobo.studies.file.mistakes import InvalidStudyFile
from neurobo.studies.file.reader import read_study
from neurobo.studies.runner.ask_tell import ask_points
from neurobo.studies.runner.store import open_study

SMALL = 'algorithm = "pinn-bo"\noptions = { width = 32, gamma = 2.0 }\nn_startup_trials = 2\n'
LAW = """
from neurobo.physics.pde import partial

def slope(u, x):
    return partial(u, "x")(x) - 2
"""


def _file(folder: Path, module: str, **changes: str) -> Path:
    (folder / f"{module}.py").write_text(LAW)
    more = f'[physics]\nresidual = "{module}:slope"\nn_points = 16\n'
    return study(folder, "", top=changes.get("top", SMALL), more=changes.get("more", more))


def test_a_law_reaches_the_suggestions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = read_study(_file(tmp_path, "a_law"))
    opened = open_study(file)
    assert "a_law" not in sys.modules
    assert "a_law:slope" in str(meaning(file))
    for asked in ask_points(file, opened, 2):
        opened.tell(asked.id, 7.0 + 2 * asked.params["x"])
    (asked,) = ask_points(file, opened, 1)
    assert asked.params["x"] < -4.9  # the law says which way is down


def test_a_law_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = read_study(_file(tmp_path, "b_law", more='[physics]\nresidual = "b_law:curve"\n'))
    with pytest.raises(InvalidInput, match=r"line \d+: physics.residual .* got 'b_law:curve'"):
        ask_points(file, open_study(file), 1)


def test_algorithm_and_law_must_fit(tmp_path: Path) -> None:
    with pytest.raises(InvalidStudyFile, match="must go with algorithm"):
        read_study(_file(tmp_path, "c_law", top='algorithm = "ntk-gp"\n'))
    with pytest.raises(InvalidStudyFile, match=r"line 2: pinn-bo needs a law"):
        read(tmp_path, "", top='algorithm = "pinn-bo"\n')
