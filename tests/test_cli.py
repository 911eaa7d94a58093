from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import neurobo
from neurobo.cli import cache
from neurobo.demo import SPACE, TEXTBOOK, tank
from neurobo.space import Space

NEUROBO = str(Path(sys.executable).parent / "neurobo")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([NEUROBO, *arguments], capture_output=True, text=True, check=False)


def test_demo_shows_progress_and_the_best_point() -> None:
    done = _run("demo", "--trials", "12")
    assert done.returncode == 0, done.stderr
    assert "12/12" in done.stderr
    assert "Best controller found" in done.stdout
    assert all(name in done.stdout for name in SPACE)


def test_demo_speaks_json() -> None:
    done = _run("demo", "--trials", "8", "--json")
    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert tank(found["params"]) == pytest.approx(found["value"])


def test_algorithms_are_listed() -> None:
    shown = _run("algorithms").stdout
    assert all(name in shown for name in neurobo.algorithms())
    assert list(json.loads(_run("algorithms", "--json").stdout)) == neurobo.algorithms()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--algorithm", "nope"], "got 'nope'"),
        (["demo", "--trials", "0"], "n_trials must be a whole number of at least 1, got 0"),
        (["fly"], "fly"),
    ],
)
def test_mistakes_end_with_code_2_and_a_message(arguments: list[str], message: str) -> None:
    done = _run(*arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())  # lines are wrapped
    assert "Traceback" not in done.stderr


def test_help_is_there_and_light() -> None:
    assert "demo" in _run("--help").stdout
    heavy = "import sys, neurobo.cli.app; assert not {'jax', 'optuna', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", heavy], check=True)


def test_the_demo_s_reference_point_is_valid() -> None:
    assert Space.of(SPACE).contains(TEXTBOOK)
    assert 1.0 < tank(TEXTBOOK) < 5.0


def test_compiled_code_is_kept_in_the_user_s_cache_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_MAX_SIZE", "1000000")  # put back afterwards
    monkeypatch.setenv("NEUROBO_CACHE", "off")
    cache.keep_compiled()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
    monkeypatch.delenv("NEUROBO_CACHE")
    cache.keep_compiled()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "neurobo" / "compiled")
    assert (tmp_path / "neurobo" / "compiled").is_dir()
    assert "JAX_COMPILATION_CACHE_DIR" not in cache.environment()  # an objective's JAX is its own
    assert cache.environment()["XDG_CACHE_HOME"] == str(tmp_path)
    cache._set_here.clear()


def test_what_the_user_has_set_for_jax_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    cache.keep_compiled()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    cache.keep_compiled()  # no folder can be made there
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
