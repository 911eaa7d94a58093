from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import Any

import optuna
import pytest

import neurobo
from neurobo.algorithm import resolve
from neurobo.compilation import ahead, disk, programs
from neurobo.integrations.optuna import sampler, turns
from neurobo.space.search_space import Space
from neurobo.suggestion import Plan, compile_ahead

SPACE: dict[str, Any] = {"x": (-1.0, 1.0), "y": (-1.0, 1.0), "n": neurobo.Int(0, 9)}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Functions that were compiled, and whether in the background."""
    found: list[tuple[str, bool]] = []
    compile_ = programs.Compiled._compile

    def noted(self: programs.Compiled, *args: Any) -> Any:
        found.append((self.name, ahead.in_background()))
        return compile_(self, *args)

    monkeypatch.setattr(programs.Compiled, "_compile", noted)
    monkeypatch.setenv(disk.VARIABLE, "off")
    programs.forget()
    return found


def _rehearsals() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "neurobo-compile"]


def test_after_a_rehearsal_the_first_suggestions_compile_nothing(
    made: list[tuple[str, bool]],
) -> None:
    space, plan = Space.of(SPACE), Plan(resolve("ntk-gp"), 0, 10, "sobol")
    compile_ahead(space, plan)
    for thread in _rehearsals():
        thread.join()
    assert len(made) > 5
    assert all(background for _, background in made)
    made.clear()
    history = [({"x": i / 10, "y": (i * 7 % 10) / 10, "n": i}, (i - 3.0) ** 2) for i in range(10)]
    neurobo.suggest(SPACE, history, seed=0, algorithm="ntk-gp")
    assert made == []


def test_all_members_of_a_portfolio_are_rehearsed(made: list[tuple[str, bool]]) -> None:
    """`auto` begins with the middle of the space and takes turns after it."""
    box: dict[str, Any] = {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}
    chooser = neurobo.NeuroSampler("auto", seed=0, n_startup_trials=4)
    compile_ahead(Space.of(box), Plan(resolve("auto"), 0, 4, "sobol"))
    for thread in _rehearsals():
        thread.join()
    assert len(made) > 12
    made.clear()
    study = optuna.create_study(sampler=chooser)
    study.optimize(
        lambda t: (t.suggest_float("x", -1, 1) - 0.4) ** 2 + t.suggest_float("y", -1, 1) ** 2, 8
    )
    assert made == []


def test_a_sampler_rehearses_once_while_slow_evaluations_of_the_start_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(sampler, "compile_ahead", lambda space, plan: calls.append(plan.n_start))
    monkeypatch.setattr(turns, "SLOW", 0.05)
    space: dict[str, Any] = {name: neurobo.Float(0, 1) for name in "xy"}

    def run(seconds: float, n_start: int = 4, n: int = 4) -> None:
        chooser = neurobo.NeuroSampler(
            "ntk-gp", seed=0, search_space=dict(space), n_startup_trials=n_start
        )
        study = optuna.create_study(sampler=chooser)
        for _ in range(n):
            trial = study.ask(space)
            time.sleep(seconds)
            study.tell(trial, 1.0)

    run(0.0)
    assert calls == []  # who evaluates at once would pay for two suggestions
    run(0.1)
    assert calls == [4]
    # A rehearsal has as many points as the start design: not long before its end, or never.
    run(0.06, n_start=1_000_000)
    assert calls == [4]
    monkeypatch.setattr(turns, "SOON", 2)
    run(0.06, n_start=5, n=3)
    assert calls == [4]
    run(0.06, n_start=5, n=4)
    assert calls == [4, 5]


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ahead.VARIABLE, "off")
    assert ahead.rehearse(lambda: None) is None


def test_errors_of_a_rehearsal_are_silent(capfd: pytest.CaptureFixture[str]) -> None:
    def broken() -> None:
        raise ValueError("nobody asked")

    thread = ahead.rehearse(broken)
    assert thread is not None
    thread.join()
    assert capfd.readouterr() == ("", "")


def test_a_process_that_ends_during_a_rehearsal_ends_well() -> None:
    """Without waiting for more than the program that is being compiled."""
    code = """
import threading, time
from neurobo.algorithm import resolve
from neurobo.compilation import programs
from neurobo.space.search_space import Space
from neurobo.suggestion import Plan, compile_ahead
begun, count, compile_ = threading.Event(), 0, programs.Compiled._compile
def noted(self, *args):
    global count
    count += 1
    begun.set()
    time.sleep(0.5)
    return compile_(self, *args)
programs.Compiled._compile = noted
import atexit
atexit.register(lambda: print(count))  # runs last
compile_ahead(Space.of({"x": (-1.0, 1.0)}), Plan(resolve("auto"), 0, 10, "sobol"))
begun.wait(60)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, disk.VARIABLE: "off"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1\n"
