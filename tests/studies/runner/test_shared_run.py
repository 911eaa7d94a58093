"""Running studies: stop, break, go on, several at once."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState
from studies.made import FAST, NEUROBO, alive, environment, read
from typer.testing import CliRunner

import neurobo
from neurobo.analysis.tally import Tally
from neurobo.cli.app import app
from neurobo.integrations.optuna.attributes import FAILURE, void_numbers
from neurobo.integrations.optuna.leases import LEASE, lease
from neurobo.running.progress import Silent
from neurobo.running.results import successor
from neurobo.running.retries import give_up
from neurobo.running.suggesting import ask, suggest_all
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.runner import shared_run as runner
from neurobo.studies.runner.lease import give_up_expired, new_trial
from neurobo.studies.runner.store import open_study

TWO = "x = { low = -5.0, high = 5.0 }\nc = { choices = ['a', 'b', 'c'] }"
GOAL = "def f(p):\n    return (p['x'] - 1) ** 2 + (p.get('c') == 'a')\n"


def _run(file: StudyFile, **options: Any) -> optuna.Study:
    study, _ = runner.run(file, display=lambda _: Silent(), note=lambda _: None, **options)
    return study


def _goal(p: dict[str, Any]) -> float:
    return float((p["x"] - 1) ** 2 + (p["c"] == "a"))


def _points(study: optuna.Study) -> list[dict[str, Any]]:
    void = void_numbers(study)
    return [t.params for t in study.trials if t.number not in void]


def _dead() -> dict[str, Any]:
    """The lease of a process of this machine that is no more."""
    found = lease(3600, by_process=True)
    return {**found, "place": found["place"] + "0"}


def test_a_run_goes_on_to_its_budget_and_keeps_everything(tmp_path: Path) -> None:
    file = read(tmp_path, trials=4, space=TWO, goal=GOAL)
    assert len(_run(file).trials) == 4
    more = read(tmp_path, trials=9, space=TWO, goal=GOAL)
    study = _run(more)
    assert [t.state for t in study.trials] == 9 * [TrialState.COMPLETE]
    assert len(_run(more).trials) == 9  # nothing left to do
    assert not alive(str(tmp_path))


def test_constraints_and_attributes_are_kept_by_name(tmp_path: Path) -> None:
    goal = """def f(p):
    if p['x'] > 4: raise ValueError('too far')
    return {'value': p['x'], 'constraints': {'far': 1 - p['x']}, 'attrs': {'mesh': [1, 2]}}
"""
    top = 'constraints = ["far"]\nn_startup_trials = 16\nworkers = 2'
    study = _run(read(tmp_path, trials=16, top=top, goal=goal))
    good = [t for t in study.trials if t.state == TrialState.COMPLETE]
    assert all(t.constraints == {"far": 1 - t.params["x"]} for t in good)
    assert all(t.user_attrs["mesh"] == [1, 2] for t in good)
    best = Tally.of(study).best
    assert best is not None
    assert best.params["x"] >= 1
    assert best.number == study.best_trial.number
    failed = [t for t in study.trials if t.state == TrialState.FAIL]
    assert all(t.user_attrs[FAILURE] == "ValueError('too far')" for t in failed)
    assert all("goal.py" in t.user_attrs["output"] for t in failed)


def test_maximise_is_minimise_of_the_negative(tmp_path: Path) -> None:
    down = _run(read(tmp_path / "down", space=TWO, goal=GOAL, trials=7))
    goal = GOAL.replace("return (", "return -(").replace("+ (", "- (")
    top = FAST + 'direction = "maximize"'
    up = _run(read(tmp_path / "up", space=TWO, goal=goal, trials=7, top=top))
    assert _points(up) == _points(down)
    assert up.best_value == -down.best_value


# Crashes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed", [seed if seed < 3 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(10)]
)
def test_after_a_crash_the_remaining_suggestions_are_the_same(seed: int, tmp_path: Path) -> None:
    """A runner dies at another place in a trial for each seed; the next one goes on at once."""
    options: dict[str, Any] = {"space": TWO, "goal": GOAL, "top": f"{FAST}seed = {seed}"}
    study = _run(read(tmp_path, trials=3 + seed % 4, **options))
    file = read(tmp_path, trials=9, **options)
    whole = neurobo.minimize(
        _goal, file.space.distributions, 9, algorithm=file.algorithm, seed=seed, progress=False
    )
    crashed = new_trial(study, file.space, _dead())
    for name, distribution in list(file.space.distributions.items())[: seed % 3]:
        ask(crashed, name, distribution)  # before, in the middle of, or after the suggestion
    study = _run(file)
    assert _points(study) == _points(whole)
    assert study.trials[crashed.number].state == TrialState.FAIL
    assert study.trials[crashed.number].user_attrs[FAILURE].startswith("lost: ")
    if seed % 3:
        again = successor(study, crashed.number)
        assert again is not None
        assert again.user_attrs["attempt"] == 2


def test_a_point_that_kills_its_runner_is_retried_and_then_given_up(tmp_path: Path) -> None:
    goal = "import os\ndef f(p):\n    if p['x'] > 2: os.kill(os.getpid(), 9)\n    return p['x']\n"
    study = _run(read(tmp_path, goal=goal, trials=12, top=FAST + "retries = 2"))
    counted = Tally.of(study)
    assert len(counted.trials) == 12
    deadly = [t for t in counted.failed if t.params["x"] > 2]
    assert deadly
    tries = Counter(t.params["x"] for t in study.trials if t.params["x"] > 2)
    assert set(tries.values()) == {3}
    assert all(t.user_attrs["attempt"] == 3 for t in deadly)
    assert all(t.user_attrs[FAILURE] == "lost: the worker died (signal 9)" for t in deadly)


def test_leases(tmp_path: Path) -> None:
    file = read(tmp_path, trials=3)
    study = open_study(file)
    held = {
        "person": lease(3600, by_process=False),
        "process": lease(3600, by_process=True),
        "dead": _dead(),
        "late": {"until": time.time() - 1},
        "elsewhere": {"until": time.time() + 60, "pid": 1, "place": "other:boot:1:1"},
    }
    trials = {name: new_trial(study, file.space, one).number for name, one in held.items()}
    foreign = study.ask().number  # by Optuna itself, without a lease
    assert give_up_expired(study, file.space, 1) == [trials["dead"], trials["late"]]
    assert give_up_expired(study, file.space, 1) == []
    assert study.trials[foreign].state == TrialState.RUNNING


def test_a_runner_does_not_give_up_its_own_trials(tmp_path: Path) -> None:
    """As after the sleep of a machine, when nobody could renew a lease."""
    file = read(tmp_path, trials=3)
    study = open_study(file)
    trial = new_trial(study, file.space, {"until": time.time() - 1})
    assert give_up_expired(study, file.space, 1, without={trial.number}) == []
    assert give_up_expired(study, file.space, 1) == [0]


def test_a_runner_that_slept_while_it_suggested_goes_on_with_another_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile its lease has run out, and another runner has given its trial up."""
    file = read(tmp_path, trials=3, top="n_startup_trials = 9\n")
    rival, slept = open_study(file), list[bool]()

    def sleepy(trial: optuna.Trial, space: Any) -> dict[str, Any]:
        if trial.number == 1 and not slept:
            slept.append(give_up(rival, rival.trials[1], space, 1, "lost: it slept"))
        return suggest_all(trial, space)

    monkeypatch.setattr("neurobo.running.loop.suggest_all", sleepy)
    study = _run(file)
    assert slept == [True]
    assert [t.state.name for t in study.trials] == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]


def test_a_renewed_lease_does_not_run_out(tmp_path: Path) -> None:
    goal = "import time\ndef f(p):\n    time.sleep(2.6)\n    return 1.0\n"
    file = read(tmp_path, goal=goal, trials=1, more="[lease]\nseconds = 2\n")
    seen = []

    class Watching(Silent):
        def update(self, study: optuna.Study, finished: int, seconds: Any) -> None:
            for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                seen.append(trial.system_attrs[LEASE]["until"] - time.time())

    study, _ = runner.run(file, display=lambda _: Watching(), note=lambda _: None)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE]
    assert min(seen) > 0.5
    assert len(seen) >= 4


def test_two_runners_that_sweep_together_retry_once(tmp_path: Path) -> None:
    file = read(tmp_path, trials=3)
    one, two = open_study(file), open_study(file)
    trial = new_trial(one, file.space, _dead())
    ask(trial, "x", file.space.distributions["x"])
    stale = two.get_trials(deepcopy=False)[0]
    assert give_up_expired(one, file.space, 1) == [0]
    assert not give_up(two, stale, file.space, 1, "lost")
    assert [t.state.name for t in one.trials] == ["FAIL", "WAITING"]


# Signals ----------------------------------------------------------------------------------------


def _start(path: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [NEUROBO, "run", str(path), *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env=environment(), start_new_session=True,
    )  # fmt: skip


def _interrupted(file: StudyFile, times: int) -> tuple[list[str], str, list[str]]:
    """A run with Ctrl-C as soon as its second trial runs, or a later one if the machine is too busy
    to look during the second: states from that trial on, why it ended, notes."""
    notes: list[str] = []
    sent: list[int] = []

    class Impatient(Silent):
        def update(self, study: optuna.Study, finished: int, seconds: Any) -> None:
            running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
            begun = [t.number for t in running if t.number >= 1 and t.params]
            if len(sent) < times and begun:
                sent.append(begun[0])
                os.kill(os.getpid(), signal.SIGINT)

    study, why = runner.run(file, display=lambda _: Impatient(), note=notes.append)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert {t.state.name for t in study.trials[: sent[0]]} == {"COMPLETE"}
    why = why.replace(f"after {sent[0]} ", "after 1 ").replace(f"after {sent[0] + 1} ", "after 2 ")
    return [t.state.name for t in study.trials[sent[0] :]], why, notes


def test_ctrl_c_once_finishes_and_twice_stops_now(tmp_path: Path) -> None:
    goal = "import time\ndef f(p):\n    time.sleep({})\n    return p['x']\n"
    file = read(tmp_path / "once", trials=50, goal=goal.format(1.5))
    states, why, notes = _interrupted(file, 1)
    assert states == ["COMPLETE"]
    assert why == "stopped after 2 of 50 trials"
    assert notes == [
        "evaluations run in processes of this machine, 1 at a time",
        "stopping: 1 running trial will be finished; Ctrl-C again stops now",
    ]

    _run(read(tmp_path / "twice", trials=1, goal=goal.format(0)))
    file = read(tmp_path / "twice", trials=50, goal=goal.format(30))
    began = time.monotonic()
    states, why, _ = _interrupted(file, 2)
    assert time.monotonic() - began < 10
    assert why == "interrupted after 1 of 50 trials"
    assert states == ["FAIL", "WAITING"]  # retried by the next run
    assert not alive(str(tmp_path))


# Several at once, and killed at random: minutes -------------------------------------------------

LEDGER = """import json, os, random, sys, time
x, c = sys.argv[1:]
time.sleep(random.random() * 0.2)
value = (float(x) - 1) ** 2 + (c == "a")
trial = int(os.environ["NEUROBO_TRIAL"])
line = json.dumps({"trial": trial, "point": [float(x), c], "value": value})
with open(os.environ["NEUROBO_STUDY_FOLDER"] + "/ledger", "a") as ledger:
    ledger.write(line + "\\n")
time.sleep(random.random() * 0.2)
print(value)
"""


def _with_ledger(folder: Path, trials: int, **options: Any) -> StudyFile:
    folder.mkdir(exist_ok=True)
    (folder / "objective.py").write_text(LEDGER)
    command = f'command = ["{sys.executable}", "objective.py", "{{x}}", "{{c}}"]'
    return read(folder, command, trials=trials, space=TWO, **options)


def _ledger(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "ledger").read_text().splitlines()]


def _acknowledged(text: str) -> dict[int, str]:
    return {int(n): value for n, value in re.findall(r"trial (\d+): (-?[\d.e+-]+),", text)}


def _check_ledger(file: StudyFile, trials: int) -> Counter[str]:
    """Nothing lost, nothing twice unless marked, nothing left running."""
    study = open_study(file)
    by_number = {t.number: t for t in study.trials}
    written = _ledger(file.folder)
    twice = Counter(entry["trial"] for entry in written)
    assert max(twice.values()) == 1  # a repetition is a trial of its own
    values = {entry["trial"]: entry["value"] for entry in written}
    tally = Tally.of(study)
    assert len(tally.trials) == trials
    assert not tally.running
    assert not tally.waiting
    for trial in tally.complete:
        assert values[trial.number] == trial.value
    for number in values.keys() - {t.number for t in tally.complete}:
        assert by_number[number].user_attrs[FAILURE].startswith("lost: ")
    seen = set()
    for entry in written:
        if tuple(entry["point"]) in seen:
            assert "retry_of" in by_number[entry["trial"]].user_attrs
        seen.add(tuple(entry["point"]))
    points = [(t.params["x"], t.params["c"]) for t in tally.complete]
    assert len(set(points)) == len(points)
    states = Counter(t.state.name for t in study.trials)
    return states + Counter({"retried": tally.retried, "void": tally.void})


@pytest.mark.slow
def test_four_runners_at_once(tmp_path: Path) -> None:
    file = _with_ledger(tmp_path, 200)
    runs = [_start(file.path) for _ in range(4)]
    shown = [run.communicate(timeout=900)[0] for run in runs]
    ends = [text[-600:] for run, text in zip(runs, shown, strict=True) if run.returncode]
    assert not ends, "\n".join(ends)
    assert not any("locked" in text or "Traceback" in text or "error" in text for text in shown)
    found = _check_ledger(file, 200)
    print(found)  # noqa: T201  # shown with pytest -s
    assert found["COMPLETE"] == 200
    assert len(_ledger(tmp_path)) == 200


def _children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


@pytest.mark.slow
def test_killed_at_thirty_random_moments(tmp_path: Path) -> None:
    """6 times while it begins, 12 times at work, and 12 times one of its workers."""
    rng = random.Random(0)
    victims = 6 * ["beginner"] + 12 * ["runner"] + 12 * ["worker"]
    rng.shuffle(victims)
    top, more = FAST + "workers = 2\nretries = 5", "[lease]\nseconds = 2\n"
    file = _with_ledger(tmp_path, 200, top=top, more=more)
    shown, run = "", _start(file.path)
    for victim in victims:
        while victim != "beginner" and not _children(run.pid):
            assert run.poll() is None, "it ended before all were killed"
            time.sleep(0.05)
        time.sleep(rng.uniform(0.0, 1.5))
        if victim == "worker":
            os.kill(rng.choice(_children(run.pid) or [run.pid]), signal.SIGKILL)
        else:
            run.kill()
        if victim != "worker" or run.poll() is not None:
            shown += run.communicate()[0]
            run = _start(file.path)
    shown += run.communicate(timeout=600)[0]
    assert run.returncode == 0, shown[-2000:]
    states = _check_ledger(file, 200)
    told = {t.number: t for t in open_study(file).trials}
    acknowledged = _acknowledged(shown)
    for number, value in acknowledged.items():
        assert told[number].state == TrialState.COMPLETE
        assert f"{told[number].value:.5g}" == value
    print(states, f"{len(acknowledged)} acknowledged")  # noqa: T201  # shown with pytest -s
    assert states["retried"] >= 5
    assert len(acknowledged) >= 150
    assert not alive(str(tmp_path))


def test_an_outage_while_the_display_is_made_stops_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = read(tmp_path, trials=2, space=TWO, goal=GOAL)
    run = runner.run

    def beginning(file: StudyFile, *, note: Any, **rest: Any) -> Any:
        note("the storage cannot be reached")  # the display reads the storage, too
        return run(file, note=note, **rest)

    monkeypatch.setattr(runner, "run", beginning)
    done = CliRunner().invoke(app, ["run", str(file.path)])
    assert done.exit_code == 0, done.output
    assert "the storage cannot be reached" in done.output
