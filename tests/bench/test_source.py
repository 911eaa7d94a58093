"""Runs stay valid after changes of the source that alter no suggestion."""

from __future__ import annotations

from pathlib import Path

import pytest

from neurobo.bench import source as source_file
from neurobo.bench.records import Job
from neurobo.bench.run_one import SOURCE, comparable
from neurobo.bench.source import COLUMNS, latest, record_alias, source
from neurobo.cli.bench import _made_elsewhere


@pytest.fixture(autouse=True)
def aliases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "aliases.csv"
    path.write_text(",".join(COLUMNS) + "\n")
    monkeypatch.setattr(source_file, "ALIASES", path)
    return path


def test_states_are_the_same_over_any_number_of_moves() -> None:
    assert record_alias("a", "b", "moved")
    assert record_alias("b", "c", "renamed, and moved again")
    assert latest("a") == latest("b") == latest("c") == "c"
    assert latest("d") == "d"


def test_a_change_that_is_taken_back_makes_no_circle(aliases: Path) -> None:
    record_alias("a", "b", "moved")
    assert not record_alias("b", "a", "moved back")
    assert not record_alias("a", "a", "nothing")
    assert latest("a") == latest("b")
    record_alias("a", "c", "moved elsewhere")
    assert latest("a") == latest("b") == latest("c")
    assert len(aliases.read_text().splitlines()) == 3


def test_runs_of_an_alias_count_as_made_by_this_source(tmp_path: Path) -> None:
    jobs = [Job("branin-2", "auto", seed, 6, 5) for seed in (0, 1)]
    lines = ["problem,method,seed,budget,n_start,source"]
    lines += [f"branin-2,auto,{seed},6,5,{made}" for seed, made in enumerate(["old", "other"])]
    known = tmp_path / "known.csv"
    known.write_text("\n".join(lines))
    assert _made_elsewhere(known) == set()
    record_alias("old", source(), "moved")
    assert _made_elsewhere(known) == {jobs[0]}
    now = comparable({"jax": "1", SOURCE: source()})
    assert comparable({"jax": "1", SOURCE: "old"}) == now
    assert comparable({"jax": "1", SOURCE: "other"}) != now
    assert comparable({"jax": "2", SOURCE: "old"}) != now


def test_the_hash_is_of_what_suggests(tmp_path: Path) -> None:
    home = tmp_path / "neurobo"
    for name in ("__init__", "bench/harness", "surrogates/model"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / f"{name}.py").write_text("a = 1")
    before = source(home)
    (home / "bench" / "harness.py").write_text("a = 2")
    assert source(home) == before
    (home / "surrogates" / "model.py").write_text("a = 2")
    assert source(home) != before


def test_the_stored_aliases_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert latest("no state") == "no state"
    assert source_file.ALIASES.read_text().startswith(",".join(COLUMNS))
