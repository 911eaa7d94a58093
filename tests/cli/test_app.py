from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import neurobo
from neurobo.algorithm import resolve
from neurobo.cli.app import app
from neurobo.demos.tank import SPACE, TEXTBOOK, tank
from neurobo.errors import did_you_mean
from neurobo.space.search_space import Space

SOURCE = Path(__file__).parents[2] / "src"
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


def _commands(group: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from _commands(command, *path, name)


ALL = dict(_commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_shows_every_word_of_every_option(
    path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing in brackets is taken for markup."""
    monkeypatch.setenv("COLUMNS", "300")
    shown = " ".join(CliRunner().invoke(app, [*path, "--help"]).output.split())
    about = ALL[path].help or ""
    told = [about, *(getattr(p, "help", None) or "" for p in ALL[path].params)]
    for text in told:
        assert all(word in shown for word in text.replace("`", "").split())
    for parameter in ALL[path].params:
        if isinstance(default := getattr(parameter, "show_default", None), str):
            assert f"[default: ({default})]" in shown


def test_defaults_that_are_not_constants_are_in_the_help() -> None:
    expected = {
        "run": "as in the file", "ask": "as in the file", "report": "beside the study file",
        "plot": "NAME.plots beside the file", "export": "by --out, or csv",
    }  # fmt: skip
    for name, default in expected.items():
        shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "300"}).output
        assert f"[default: ({default})]" in shown


def test_the_version_is_told() -> None:
    assert _run("--version").stdout == f"neurobo {neurobo.__version__}\n"


MAIN = "import sys; from neurobo.cli import main; sys.exit(main())"


@pytest.mark.parametrize("module", ["typer", "optuna", "jax"])
def test_ctrl_c_while_a_command_starts(module: str, tmp_path: Path) -> None:
    """The signal comes while a package is imported."""
    (tmp_path / f"{module}.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{SOURCE}"}
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "demo"], capture_output=True, text=True, env=env, check=False
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_ctrl_c_that_a_package_turns_into_an_error(tmp_path: Path) -> None:
    text = (
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt:\n    raise ImportError('half imported') from None\n"
    )
    (tmp_path / "optuna.py").write_text(text)
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{SOURCE}"}
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "demo"], capture_output=True, text=True, env=env, check=False
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_the_installed_command_is_the_one_that_answers_ctrl_c() -> None:
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"neurobo": "neurobo.cli:main"}


def test_words_that_are_nearly_right_are_recognised() -> None:
    assert did_you_mean("Neural-Gredy", ["auto", "neural-greedy"]) == (
        "; did you mean 'neural-greedy'?"
    )
    assert did_you_mean("zebra", ["auto", "neural-greedy"]) == ""
    with pytest.raises(neurobo.NeuroboError, match="got 'ato'; did you mean 'auto'"):
        resolve("ato")


def test_the_demo_s_reference_point_is_valid() -> None:
    assert Space.of(SPACE).contains(TEXTBOOK)
    assert 1.0 < tank(TEXTBOOK) < 5.0
