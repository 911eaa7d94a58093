"""The package for OptunaHub loads and runs; skipped without optunahub (make test-optunahub)."""

from __future__ import annotations

import re
import runpy

import pytest
from documents import ROOT

REGISTRY = ROOT / "contrib" / "optunahub" / "package"
FOLDER = REGISTRY / "samplers" / "neurobo"


def test_its_front_matter_is_complete() -> None:
    head = (FOLDER / "README.md").read_text().split("---")[1]
    keys = re.findall(r"^(\w+):", head, re.MULTILINE)
    assert keys == ["author", "title", "description", "tags", "optuna_versions", "license"]
    assert (FOLDER / "LICENSE").read_text().startswith("MIT License")


def test_it_loads_and_its_example_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    optunahub = pytest.importorskip("optunahub")
    loaded = optunahub.load_local_module("samplers/neurobo", registry_root=str(REGISTRY))
    monkeypatch.setattr(optunahub, "load_module", lambda package: loaded)
    runpy.run_path(str(FOLDER / "example.py"), run_name="__main__")
    assert float(capsys.readouterr().out.split()[-1]) < 0.5
