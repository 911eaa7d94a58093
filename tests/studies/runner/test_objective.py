"""Objectives of every bad kind, hostile values, and processes that must not outlive a trial."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from studies.made import alive, read

from neurobo.running.workers import Outcome
from neurobo.studies.file.command import filled
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.runner import programs
from neurobo.studies.runner.objective import Requests, outcome
from neurobo.studies.runner.programs import Programs


def _evaluate(file: StudyFile, *points: dict[str, Any]) -> list[Outcome]:
    """One after the other, with the same evaluator if it survives."""
    found = []
    with Programs(Requests(file), 1, file.table.constraints) as places:
        for number, point in enumerate(points):
            places.start(point, number)
            (one,) = places.finished(30).values()
            found.append(one)
    return found


def _program(folder: Path, text: str, name: str = "simulate") -> str:
    path = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return f'command = ["./{name}", "{{x}}"]\ntimeout = 2'


# What programs say ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        ("starting\n3.5\n", Outcome(3.5, constraints={}, attrs={})),
        ("-1e-3", Outcome(-0.001, constraints={}, attrs={})),
        ('x\n{"value": 2, "attrs": {"mesh": "fine"}}\n\n', Outcome(2.0, constraints={},
                                                                   attrs={"mesh": "fine"})),
    ],
)  # fmt: skip
def test_the_last_line_is_the_result(out: str, expected: Outcome) -> None:
    assert outcome({"code": 0, "out": out, "err": ""}, []) == expected


@pytest.mark.parametrize(
    ("out", "reason"),
    [
        ("", "the last line of standard output must be a number or a JSON object, got no output"),
        ("all done\n", "must be a number or a JSON object, got 'all done'"),
        ("1 2\n", "got '1 2'"),
        ("1_000\n", "got '1_000'"),
        ("[1, 2]\n", "got '[1, 2]'"),
        ("nan\n", "the value must be a finite number, got nan"),
        ("-inf\n", "the value must be a finite number, got -inf"),
        ('{"value": NaN}', "the value must be a finite number, got nan"),
        ('{"value": "3"}', "the value must be a finite number, got '3'"),
        ('{"value": true}', "got True"),
        ('{"value": null}', "got None"),
        ('{"value": 1' + 400 * "0" + "}", "must be a finite number, got 1000"),
        ('{"loss": 3}', "a result must have `value`"),
        ('{"value": 1, "attrs": 3}', "`attrs` must be an object, got 3"),
        ('{"value": 1, "constraints": {"cost": 1}}', "must give the constraints [], got ['cost']"),
    ],
)
def test_other_output_is_a_failure_with_its_reason(out: str, reason: str) -> None:
    found = outcome({"code": 0, "out": out, "err": "a hint"}, [])
    assert reason in found.failure
    assert found.output.startswith("a hint")
    assert len(found.failure) < 400


def test_constraints_are_checked_by_name() -> None:
    good = {"code": 0, "out": '{"value": 1, "constraints": {"b": -1, "a": 2}}', "err": ""}
    assert outcome(good, ["a", "b"]).constraints == {"a": 2.0, "b": -1.0}
    assert "got ['b', 'a']" in outcome(good, ["a"]).failure
    nan = {"code": 0, "out": '{"value": 1, "constraints": {"a": NaN}}', "err": ""}
    assert outcome(nan, ["a"]).failure == "the constraint 'a' must be a finite number, got nan"


# Bad programs, for real -------------------------------------------------------------------------

MARK = f"neurobo-test-{os.getpid()}"
PROGRAMS = {
    "exits 3": ("import sys; print(1.0); sys.exit(3)", "must end with exit code 0, got 3"),
    "hangs": (f"import time; '{MARK}'; time.sleep(60)", "it must end within 2 s, got no end"),
    "ignores SIGTERM": (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)",
        "it must end within 2 s",
    ),
    "forks and hangs": (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)  # {MARK}'])\n"
        "time.sleep(60)",
        "it must end within 2 s",
    ),
    "text": ("print('all is well')", "got 'all is well'"),
    "nan": ("print('nan')", "must be a finite number, got nan"),
    "inf": ("print('inf')", "must be a finite number, got inf"),
    "10 MB and no number": ("print('x' * 10_000_000)", "must be a number or a JSON object"),
    "only stderr": (
        "import sys; print('licence not found', file=sys.stderr)", "got no output",
    ),
    "killed": ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9"),
    "crashes": ("import os; os.abort()", "was ended by signal 6"),
}  # fmt: skip


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_bad_program_is_a_failed_trial_and_leaves_nothing_behind(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "GRACE", 0.3)
    text, reason = PROGRAMS[kind]
    bad = f"import sys\nif sys.argv[1] != '0.0':\n    print(5.0)\n    sys.exit(0)\n{text}\n"
    file = read(tmp_path, _program(tmp_path, bad))
    began = time.monotonic()
    failed, good = _evaluate(file, {"x": 0.0}, {"x": 1.0})
    assert reason in failed.failure
    assert not failed.lost
    assert good.value == 5.0
    assert time.monotonic() - began < 8
    if kind == "only stderr":
        assert failed.output == "licence not found"
    assert not alive(MARK)
    assert not alive(str(tmp_path))


def test_ten_megabytes_and_a_number_are_no_problem(tmp_path: Path) -> None:
    text = (
        "import sys\nfor i in range(1000):\n    print('x' * 10_000)\n"
        "    print('e' * 10_000, file=sys.stderr)\nprint(7)"
    )
    (found,) = _evaluate(read(tmp_path, _program(tmp_path, text)), {"x": 0.0})
    assert found.value == 7.0


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    for command, why in [("./nothing", "No such file"), ("no-such-program-x", "No such file")]:
        file = read(tmp_path, f'command = ["{command}", "{{x}}"]')
        (found,) = _evaluate(file, {"x": 1.0})
        assert "cannot be started" in found.failure
        assert why in found.failure
        assert command.strip("./") in found.failure


def test_children_that_a_program_leaves_behind_are_ended(tmp_path: Path) -> None:
    mark = f"{MARK}-daemon"
    text = (
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)  # {mark}'])\n"
        "print(1.5)"
    )
    (found,) = _evaluate(read(tmp_path, _program(tmp_path, text)), {"x": 0.0})
    assert found.value == 1.5
    time.sleep(0.1)
    assert not alive(mark)


# Python -----------------------------------------------------------------------------------------

FUNCTIONS = {
    "raises": ("raise ValueError('too hot')", "ValueError('too hot')"),
    "exits": ("raise SystemExit(3)", "SystemExit(3)"),
    "hard exit": ("os._exit(4)", "the worker died (exit code 4)"),
    "hangs": ("time.sleep(60)", "it must end within 2 s, got no end"),
    "forks and hangs": (
        f"subprocess.Popen(['sleep', '61.{os.getpid()}']); time.sleep(60)", "must end within 2 s",
    ),
    "none": ("return None", "the value must be a finite number, got None"),
    "nan": ("return float('nan')", "the value must be a finite number, got nan"),
    "text": ("return 'good'", "the value must be a finite number, got 'good'"),
    "list": ("return [1.0, 2.0]", "must be a finite number, got [1.0, 2.0]"),
    "object": ("return object()", "the objective must return a number or a dict, got <object"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_bad_function_is_a_failed_trial(kind: str, tmp_path: Path) -> None:
    text, reason = FUNCTIONS[kind]
    goal = f"import os, subprocess, time\ndef f(p):\n    if p['x']: return 5.0\n    {text}\n"
    file = read(tmp_path, 'python = "goal:f"\ntimeout = 2', goal=goal)
    failed, good = _evaluate(file, {"x": 0.0}, {"x": 1.0})
    assert reason in failed.failure
    assert not failed.lost
    assert good.value == 5.0
    assert not alive(f"61.{os.getpid()}")
    if kind == "raises":
        assert "in f" in failed.output  # the traceback


@pytest.mark.parametrize(
    ("given", "value", "constraints"),
    [
        ("np.float32(1.5)", 1.5, {}),
        ("np.array([2.0])", 2.0, {}),
        ("(3, {'cost': np.float64(-1)})", 3.0, {"cost": -1.0}),
        ("{'value': 4, 'constraints': {'cost': 0}, 'attrs': {'note': 'ü'}}", 4.0, {"cost": 0.0}),
    ],
)
def test_functions_may_return(
    given: str, value: float, constraints: dict[str, float], tmp_path: Path
) -> None:
    goal = f"import numpy as np\ndef f(p):\n    print('noise')\n    return {given}\n"
    top = 'constraints = ["cost"]' if constraints else ""
    (found,) = _evaluate(read(tmp_path, goal=goal, top=top), {"x": 0.0})
    assert (found.value, found.constraints, found.failure) == (value, constraints, "")


def test_a_module_that_is_not_there_and_a_function_that_is_not(tmp_path: Path) -> None:
    (found,) = _evaluate(read(tmp_path, 'python = "nowhere:f"'), {"x": 0.0})
    assert "No module named 'nowhere'" in found.failure
    (found,) = _evaluate(read(tmp_path, 'python = "goal:g"'), {"x": 0.0})
    assert "has no attribute 'g'" in found.failure


def test_a_worker_that_somebody_kills_is_lost_not_failed(tmp_path: Path) -> None:
    goal = "import os\ndef f(p):\n    os.kill(os.getpid(), 9)\n"
    (found,) = _evaluate(read(tmp_path, goal=goal), {"x": 0.0})
    assert found.lost
    assert found.failure == "the worker died (signal 9)"


# Hostile values ---------------------------------------------------------------------------------

HOSTILE = [
    "with space", "'quotes\" \\", "; rm -rf *", "$(touch pwned)", "`touch pwned`", "{braces}",
    "{{x}}", "{x.__class__}", "two\nlines", "../../etc/passwd", "-x", "--help", "%s%n",
    "ünïcødé 🧪", "\x1b[31mred", "'; DROP TABLE trials; --", "<script>alert(1)</script>",
    "a" * 2000, "",
]  # fmt: skip


@pytest.mark.parametrize("how", ["arguments", "stdin", "file", "python"])
def test_hostile_values_arrive_as_they_are(how: str, tmp_path: Path) -> None:
    show = "print(json.dumps({'value': 1, 'attrs': {'got': got}}))"
    head = "import json, sys\n"
    programs = {
        "arguments": (head + f"got = sys.argv[1]\n{show}", 'command = ["./s", "{c}"]'),
        "stdin": (
            head + f"got = json.load(sys.stdin)['c']\n{show}",
            'command = ["./s"]\nstdin = "json"',
        ),
        "file": (
            head + f"got = json.load(open(sys.argv[1]))['c']\n{show}",
            'command = ["./s", "{params_file}"]\nparams_file = "in put.json"',
        ),
        "python": ("", 'python = "goal:f"'),
    }
    text, objective = programs[how]
    _program(tmp_path, text, "s")
    goal = "def f(p):\n    return {'value': 1, 'attrs': {'got': p['c']}}\n"
    space = f"c = {{ choices = {json.dumps(HOSTILE, ensure_ascii=False)} }}"
    file = read(tmp_path, objective, space=space, goal=goal)
    before = {p.name for p in tmp_path.iterdir()}
    for wanted, found in zip(HOSTILE, _evaluate(file, *({"c": c} for c in HOSTILE)), strict=True):
        assert not found.failure
        assert (found.attrs or {})["got"] == wanted
    assert {p.name for p in tmp_path.iterdir()} - before <= {"__pycache__"}


def test_nothing_of_the_current_folder_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder from the internet: only the objective that its study file names may run."""
    for name in ("json", "select", "neurobo", "sitecustomize", "traceback"):
        (tmp_path / f"{name}.py").write_text(f"open('{tmp_path}/ran-{name}', 'w')\n")
    monkeypatch.chdir(tmp_path)
    file = read(tmp_path, 'command = ["echo", "4.5"]')
    assert _evaluate(file, {"x": 0.0})[0].value == 4.5
    assert not list(tmp_path.glob("ran-*"))


def test_names_are_replaced_once_and_braces_can_be_written() -> None:
    values = {"a": "{b}", "b": 1.0, "flag": True, "n": 3}
    assert filled("{a} {b} {{b}} {flag} {n}", values) == "{b} 1.0 {b} true 3"
    assert filled("{x", {}) == "{x"


# Folders ----------------------------------------------------------------------------------------


def test_every_trial_has_a_folder_that_is_kept_on_request(tmp_path: Path) -> None:
    text = "import sys\nopen('made', 'w').write('x')\nprint(1.0 if sys.argv[1] == '1.0' else 'bad')"
    kept = {}
    for keep in ("none", "failed", "all"):
        folder = tmp_path / keep
        file = read(folder, _program(folder, text) + f'\nkeep = "{keep}"')
        _evaluate(file, {"x": 0.0}, {"x": 1.0})
        kept[keep] = sorted(str(p.relative_to(folder)) for p in folder.rglob("made"))
        assert not (folder / "made").exists()
    assert kept == {
        "none": [],
        "failed": ["study.trials/00000/made"],
        "all": ["study.trials/00000/made", "study.trials/00001/made"],
    }


def test_files_beside_the_study_are_found_from_the_trial_s_folder(tmp_path: Path) -> None:
    tmp_path.joinpath("run.py").write_text("import os\nprint(int(os.path.exists('run.py')))")
    command = f'command = ["{sys.executable}", "run.py"]'
    (found,) = _evaluate(read(tmp_path, command), {"x": 0.0})
    assert found.value == 0.0  # found, though the program runs elsewhere
    (found,) = _evaluate(read(tmp_path, command + '\nworking_folder = "study"'), {"x": 0.0})
    assert found.value == 1.0


def test_a_pool_s_candidates_come_with_their_ids(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("name,a\nfirst,1\nsecond,3\n")
    goal = "def f(p):\n    return {'value': p['candidate'], 'attrs': {'id': p['id']}}\n"
    file = read(tmp_path, goal=goal, more='[pool]\npath = "p.csv"\nids = "name"\n')
    (found,) = _evaluate(file, {"x": 0.0, "candidate": 1})
    assert (found.value, found.attrs) == (1.0, {"id": "second"})


# The death of the runner ------------------------------------------------------------------------

RUNNER = """
import json, os, subprocess, sys, time
read, write = os.pipe()
evaluator = subprocess.Popen([sys.executable, "-m", "neurobo.studies.runner.evaluator", str(write)],
                             stdin=subprocess.PIPE, pass_fds=[write], start_new_session=True)
evaluator.stdin.write(sys.argv[1].encode() + b"\\n")
evaluator.stdin.flush()
time.sleep(60)
"""


def test_evaluations_end_with_their_runner(tmp_path: Path) -> None:
    """Programs and functions, with their children, and the trial's folder of a program."""
    mark = f"62.{os.getpid()}"
    hang = f"import subprocess, time\nsubprocess.Popen(['sleep', '{mark}'])\ntime.sleep(60)\n"
    body = "\n    ".join(hang.splitlines())
    runners = []
    for kind in ("command", "python"):
        folder = tmp_path / kind
        objective = _program(folder, hang) if kind == "command" else 'python = "goal:f"'
        file = read(folder, objective, goal=f"def f(p):\n    {body}\n")
        request = Requests(file).request({"x": 0.0}, 0)
        command = [sys.executable, "-c", RUNNER, json.dumps(request)]
        runners.append((subprocess.Popen(command), Path(request["cwd"])))
    _soon(lambda: len(alive(mark)) == 2, seconds=30)
    for runner, _ in runners:
        runner.send_signal(signal.SIGKILL)
        runner.wait()
    _soon(lambda: not alive(str(tmp_path)) and not alive(mark))
    assert not runners[0][1].exists()


def _soon(true: Callable[[], bool], seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_evaluator_is_light() -> None:
    """It begins with every worker: no numeric library may be part of it."""
    heavy = "{'numpy', 'jax', 'optuna', 'pydantic', 'rich'}"
    code = f"import sys, neurobo.studies.runner.evaluator; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
