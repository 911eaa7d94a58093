"""The harness: the same start and budget for all, nothing lost, nothing repeated."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from neurobo.bench import harness, suites
from neurobo.bench.peers import method
from neurobo.bench.peers.base import Method, Task
from neurobo.bench.problem import Evaluation, Problem, of_vector
from neurobo.bench.problems import problem
from neurobo.bench.records import Job, Record, Store, listed
from neurobo.bench.run_one import run_on, start_design
from neurobo.bench.source import source
from neurobo.cli.app import run
from neurobo.cli.bench import _made_elsewhere
from neurobo.errors import InvalidInput, NeuroboError
from neurobo.space.search_space import Params, Space

NEUROBO = str(Path(sys.executable).parent / "neurobo")


def _run(problem_: Problem | str, method_: Method | str = "random", **changes: int) -> Record:
    found = problem(problem_, seed=7) if isinstance(problem_, str) else problem_
    used = method(method_) if isinstance(method_, str) else method_
    job = Job(found.name, used.name, **{"seed": 7, "budget": 12, "n_start": 5, **changes})
    return run_on(found, used, job)


def test_all_methods_begin_with_the_same_points_and_end_at_the_same_budget() -> None:
    runs = [_run("levy-10+shift", name) for name in ("random", "sobol", "optuna-tpe")]
    for record in runs:
        assert len(record.values) == len(record.seconds) == len(record.cpu_seconds) == 12
        np.testing.assert_array_equal(record.values[:5], runs[0].values[:5])
    assert len({tuple(r.values[5:]) for r in runs}) == len(runs)


def test_a_run_repeats_and_another_seed_differs() -> None:
    values = [_run("branin-2+shift+noise=0.1", seed=s).values for s in (1, 1, 2)]
    assert values[0] == values[1] != values[2]


def test_the_objective_s_time_is_not_the_optimiser_s() -> None:
    record = _run("sphere-5+delay=0.02")
    assert record.objective_seconds > 12 * 0.02
    assert sum(record.seconds) < record.objective_seconds / 2


def test_noise_is_told_and_truth_is_judged() -> None:
    record = _run("branin-2+noise=0.1")
    clean = _run("branin-2")
    assert record.truths is not None
    np.testing.assert_allclose(record.truths, clean.values)
    assert not np.allclose(record.values, record.truths)
    assert record.rechecked is None


def test_a_noisy_problem_without_truth_is_evaluated_again_at_its_best_point() -> None:
    def evaluate(params: Params, rng: np.random.Generator) -> Evaluation:
        return Evaluation(params["x0"] + rng.normal())

    noisy = Problem("n", "", "", Space.of([(0.0, 1.0)]), evaluate, 10, noisy=True)
    record = _run(noisy, budget=60)
    assert record.rechecked is not None
    assert len(set(record.rechecked)) == 10
    assert np.mean(record.rechecked) > np.min(record.values)  # the best of noise flatters


def test_failures_are_told_as_such_and_the_run_goes_on() -> None:
    def broken(x: np.ndarray) -> float:
        if x[0] > 0.5:
            raise ValueError("the mesh broke")
        return float(x[0]) if x[0] > 0.2 else math.inf

    record = _run(of_vector("b", "", broken, [(0, 1)], source="", budget=20), budget=20)
    assert np.isnan(record.values).sum() == len(record.failures) > 0
    assert "ValueError('the mesh broke')" in record.failures
    assert "the value is inf" in record.failures
    assert 0.2 < record.best_so_far()[-1] < 0.5


def test_a_batch_is_asked_for_before_any_of_it_is_told() -> None:
    heard: list[str] = []

    class Listening:
        def __init__(self, task: Task) -> None:
            self._rng = np.random.default_rng(0)

        def ask(self) -> Params:
            heard.append("ask")
            return {"x0": float(self._rng.uniform(-5, 10)), "x1": float(self._rng.uniform(0, 15))}

        def tell(self, params: Params, outcome: Evaluation) -> None:
            heard.append("tell")

    listening = Method("listening", "", Listening, packages=(), handles=frozenset({"batch"}))
    _run("branin-2+batch=3", listening)
    assert heard == ["tell"] * 5 + (["ask"] * 3 + ["tell"] * 3) * 2 + ["ask", "tell"]


def test_only_methods_that_handle_batches_are_given_some() -> None:
    names = ("random", "optuna-tpe", "cma-es", "auto")
    choice = suites.Choice(problems=("branin-2+batch=8",), methods=names, seeds=1)
    found = suites.jobs(suites.suite("smoke"), choice)
    assert [job.method for job in found] == ["random", "optuna-tpe", "auto"]
    record = _run("branin-2+batch=4", "auto", budget=13)
    assert len(set(record.values)) == 13  # no point twice


def test_the_best_point_kept_is_feasible() -> None:
    def constrained(x: np.ndarray) -> tuple[float, dict[str, float]]:
        return float(x[0]), {"right": 0.5 - float(x[0])}

    right = of_vector("c", "", constrained, [(0, 1)], source="", budget=20, constraints=("right",))
    record = _run(right, budget=20)
    assert record.best is not None
    assert record.best["x0"] == record.best_so_far()[-1] >= 0.5


def test_a_point_outside_the_space_breaks_the_run() -> None:
    class Stray:
        def ask(self) -> Params:
            return {"x0": 99.0}

        def tell(self, params: Params, outcome: Evaluation) -> None: ...

    stray = Method("stray", "", lambda task: Stray(), packages=())
    with pytest.raises(NeuroboError, match=r"points of the space, got .*99"):
        _run("gp-draw-1", stray)


def test_methods_learn_only_what_a_task_says() -> None:
    seen: list[Task] = []

    def make(task: Task) -> object:
        seen.append(task)
        return method("random").start(task)

    _run("branin-2+shift", Method("spy", "", make, packages=()))  # type: ignore[arg-type]
    assert not {"optimum", "best", "evaluate"} & set(vars(seen[0]))


def test_a_start_design_has_no_point_twice() -> None:
    space = Space.of({"a": (0.0, 1.0)})
    assert len({p["a"] for p in start_design(space, 20, 3)}) == 20


@pytest.mark.slow
def test_broken_runs_are_recorded_and_retried_on_request(tmp_path: Path) -> None:
    store = Store(tmp_path)
    good = Job("branin-2", "random", 0, 4, 2)
    bad = Job("branin-2", "nonsense", 0, 4, 2)
    slow = Job("branin-2+delay=30", "random", 0, 4, 2)
    with store.locked():
        harness.run_all([good, bad], store, processes=2)
        harness.run_all([slow], store, timeout=3)
    errors = {r.job: r.error for r in store.read()}
    assert errors[good] == ""
    assert errors[bad].startswith("InvalidInput: a method must be one of")
    assert errors[slow] == "stopped after 3 seconds"
    assert harness.missing([good, bad, slow, good], store) == []
    assert harness.missing([good, bad, slow, good], store, retry=True) == [bad, slow]


def test_runs_made_elsewhere_are_left_out_unless_our_source_has_changed(tmp_path: Path) -> None:
    jobs = [Job("branin-2", m, 0, 6, 5) for m in ("random", "auto", "neural-bo")]
    sources = ["", source(), "another"]
    lines = ["problem,method,seed,budget,n_start,source"]
    for job, made in zip(jobs, sources, strict=True):
        lines.append(f"{job.problem},{job.method},{job.seed},{job.budget},{job.n_start},{made}")
    known = tmp_path / "known.csv"
    known.write_text("\n".join(lines))
    assert listed(known) == list(zip(jobs, sources, strict=True))
    assert _made_elsewhere(known) == set(jobs[:2])


@pytest.mark.slow
def test_killed_at_any_moment_nothing_is_lost_or_repeated(tmp_path: Path) -> None:
    command = [NEUROBO, "bench", "run", "smoke", "--folder", str(tmp_path), "--seeds", "6",
               "--peers", "random sobol", "--problems", "branin-2+delay=0.01", "--scale", "0.5",
               "--jobs", "2"]  # fmt: skip
    rng = np.random.default_rng(0)
    store, seen = Store(tmp_path), Counter[Job]()
    for _ in range(3):
        process = subprocess.Popen(command, stdout=-3, stderr=-3, start_new_session=True)
        time.sleep(rng.uniform(2, 6))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        before = Counter(r.job for r in store.read())
        assert seen <= before  # nothing lost
        seen = before
    subprocess.run(command, check=True, stdout=-3, stderr=-3)
    records = store.read()
    assert len(records) == len({r.job for r in records}) == 12  # nothing repeated
    assert all(len(r.values) == r.job.budget and not r.error for r in records)
    length = store.path.stat().st_size
    subprocess.run(command, check=True, stdout=-3, stderr=-3)
    assert store.path.stat().st_size == length


def test_no_run_outlives_a_killed_harness(tmp_path: Path) -> None:
    command = [NEUROBO, "bench", "run", "smoke", "--folder", str(tmp_path), "--seeds", "1",
               "--peers", "random", "--problems", "branin-2+delay=2"]  # fmt: skip
    process = subprocess.Popen(command, stdout=-3, stderr=-3, start_new_session=True)
    deadline = time.monotonic() + 30
    while not (workers := _workers(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert workers
    time.sleep(3)  # it has read its job
    process.kill()
    process.wait()
    while any(_alive(w) for w in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(_alive(w) for w in workers)


def _workers(parent: int) -> list[int]:
    done = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
    return [int(line) for line in done.stdout.split()]


def _alive(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("suite", suites.SUITES.values(), ids=suites.SUITES.keys())
def test_every_suite_names_problems_and_methods_that_exist(suite: suites.Suite) -> None:
    named = suite.problems if suite.name != "neural-bo" else suite.problems[:12]
    for name in named:
        if not name.startswith(("bbob", "yahpo")):  # need COCO and the user's data
            problem(name, seed=1)
    for name in suites.expand(suite.methods):
        method(name)
    assert set(suite.budgets) <= set(suite.problems)


@pytest.mark.peers
@pytest.mark.parametrize("suite", ["auto-tune", "auto-parts", "auto-report", "bbob", "neural-bo"])
def test_every_coco_problem_of_a_suite_exists(suite: str) -> None:
    named = [name for name in suites.suite(suite).problems if name.startswith("bbob")]
    assert named
    for name in named[::7]:
        found = problem(name, seed=1)
        assert found.optimum is not None
        middle = found.space.decode(np.zeros(found.dim))
        assert found.evaluate(middle, np.random.default_rng(0)).value >= found.optimum


def test_scale_shrinks_seeds_and_budgets() -> None:
    smoke = suites.suite("smoke")
    full = suites.jobs(smoke, suites.Choice())
    half = suites.jobs(smoke, suites.Choice(scale=0.5))
    assert len({j.seed for j in full}) == smoke.seeds
    assert len({j.seed for j in half}) == 2
    assert {(j.problem, j.n_start) for j in half} == {(j.problem, j.n_start) for j in full}
    assert all(j.n_start < j.budget < smoke.budgets[j.problem] for j in half)


def test_methods_that_cannot_handle_a_problem_are_left_out() -> None:
    choice = suites.Choice(
        problems=("branin-2", "constrained-branin-2"), methods=("random", "botorch-ucb"), seeds=1
    )
    jobs = suites.jobs(suites.suite("smoke"), choice)
    assert [(j.problem, j.method) for j in jobs] == [
        ("branin-2", "random"),
        ("branin-2", "botorch-ucb"),
        ("constrained-branin-2", "random"),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nope"], "a suite must be one of"),
        (["run", "smoke", "--peers", "nope"], "a method must be one of"),
        (["run", "smoke", "--problems", "nope"], "a problem must be one of"),
        (["run", "smoke", "--problems", "branin-2+fly"], "a wrapper must be one of"),
        (["run", "smoke", "--problems", "bbob-f1-d7-i1"], "a bbob problem must be"),
        (["run", "smoke", "--scale", "2"], "scale must be at most 1, got 2.0"),
        (["run", "smoke", "--algorithms", "neural-greedy:breadth=3"], "breadth"),
        (["run", "smoke", "--known", "nowhere.csv"], "nowhere.csv must be a CSV file"),
        (["report", "nowhere"], "nowhere"),
        (["compare", "nowhere", "elsewhere"], "nowhere"),
    ],
)
def test_mistakes_are_explained(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    monkeypatch.setattr(sys, "argv", ["neurobo", "bench", *arguments])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert message in shown
    assert "Traceback" not in shown


def test_an_unknown_option_of_a_method_is_refused() -> None:
    with pytest.raises(InvalidInput, match="name:key=value"):
        method("random:fast")


@pytest.mark.slow
def test_listings_read_well() -> None:
    for command, word in (["bench", "list"], "optuna-tpe"), (["problems"], "levy-15"):
        plain = subprocess.run([NEUROBO, *command], capture_output=True, text=True, check=True)
        as_json = subprocess.run(
            [NEUROBO, *command, "--json"], capture_output=True, text=True, check=True
        )
        assert word in plain.stdout
        assert word in as_json.stdout
