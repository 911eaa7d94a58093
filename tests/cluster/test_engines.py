"""`neurobo run` on engines, with Python functions and with programs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState
from studies.made import NEUROBO, environment, neurobo, read, study

from neurobo.errors import InvalidInput, MissingPackage
from neurobo.integrations.optuna.attributes import counting, failure_of
from neurobo.running.progress import Silent
from neurobo.studies.runner import shared_run as runner
from neurobo.studies.runner.store import open_study

pytestmark = pytest.mark.filterwarnings("ignore")
START = "n_startup_trials = 50\n"
GOAL = """import os, sys
def f(p):
    heavy = [m for m in ("jax", "optuna", "neurobo.space") if m in sys.modules]
    return {"value": (p["x"] - 1) ** 2, "attrs": {"heavy": heavy, "folder": os.getcwd()}}
"""
COMMAND = f"""command = [{sys.executable!r}, "sum.py", "{{x}}"]"""
EXTRA = {"slurm": "submitit", "ray": "ray", "dask": "distributed"}


def _needs(kind: str) -> None:
    pytest.importorskip(EXTRA[kind], reason=f"needs the extra `{kind}`")


def _run(file: Any, **options: Any) -> tuple[Any, list[str]]:
    notes: list[str] = []
    found, why = runner.run(file, display=lambda _: Silent(), note=notes.append, **options)
    assert not why
    return found, notes


def test_python_functions_in_threads(tmp_path: Path) -> None:
    file = read(tmp_path, top=f"{START}workers = 3", goal=GOAL, trials=6)
    found, notes = _run(file, engine="threads")
    assert notes[0] == "evaluations run in threads of this process, 3 at a time"
    assert [t.state for t in found.trials] == 6 * [TrialState.COMPLETE]
    sys.modules.pop("goal", None)
    file = read(tmp_path / "b", COMMAND, top=START, trials=2)
    (tmp_path / "b" / "sum.py").write_text("print(1.5)")
    found, notes = _run(file, engine="threads")
    assert notes[0] == "evaluations run in processes of this machine, 1 at a time"
    timed = read(tmp_path / "c", 'python = "goal:f"\ntimeout = 5.0', top=START)
    with pytest.raises(InvalidInput, match=r"objective\.timeout must go with an engine"):
        _run(timed, engine="threads")


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"engine must be one of .* got 'sun'"):
        _run(read(tmp_path), engine="sun")
    told = neurobo("check", study(tmp_path, more='[engine]\nkind = "sun"\n'))
    assert told.returncode == 2
    assert "engine" in told.stderr + told.stdout


@pytest.mark.parametrize("kind", ["slurm", "ray", "dask"])
def test_a_missing_extra_is_named(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, EXTRA[kind], None)
    with pytest.raises(MissingPackage, match=rf"pip install 'neurobo\[{kind}\]'"):
        _run(read(tmp_path), engine=kind, workers=2)


def test_nothing_of_the_engines_is_imported_unless_used(tmp_path: Path) -> None:
    program = (
        "import sys, neurobo, neurobo.ray, neurobo.cli.app\n"
        "from neurobo.studies.runner import shared_run\n"
        "neurobo.minimize(lambda p: p['x'], {'x': (0.0, 1.0)}, 2, progress=False)\n"
        # Optuna itself imports redis if it is there.
        "names = ('ray', 'dask', 'distributed', 'submitit', 'psycopg', 'pymysql', 'grpc')\n"
        "print([name for name in names if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def ray_address() -> Iterator[str]:
    _needs("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False}
    )
    yield cluster.address
    cluster.shutdown()


@pytest.fixture(scope="module")
def dask_address() -> Iterator[str]:
    _needs("dask")
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.cluster
@pytest.mark.parametrize("kind", ["ray", "dask", "slurm"])
def test_functions_and_programs_on_an_engine(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    _needs(kind)
    address = "local" if kind == "slurm" else request.getfixturevalue(f"{kind}_address")
    more = f'[engine]\nkind = "{kind}"\naddress = "{address}"\n'
    workers = "workers = 2\n" if kind == "slurm" else ""
    path = study(tmp_path / "f", top=START + workers, goal=GOAL, trials=4, more=more)
    told = neurobo("run", path)
    assert told.returncode == 0, told.stdout + told.stderr
    assert {"ray": "on Ray at", "dask": "on Dask at", "slurm": "as jobs of local"}[
        kind
    ] in told.stdout
    found = open_study(read(tmp_path / "f", top=START + workers, goal=GOAL, trials=4, more=more))
    for trial in found.trials:
        assert trial.state == TrialState.COMPLETE
        assert trial.user_attrs["heavy"] == []
        assert trial.user_attrs["folder"].startswith(str(tmp_path / "f" / "study.trials"))
    assert not list((tmp_path / "f" / "study.trials").iterdir())
    command = f"{COMMAND}\ntimeout = 4.0\nstdin = 'json'"
    path = study(tmp_path / "c", command, top=START + workers, trials=4, more=more)
    (tmp_path / "c" / "sum.py").write_text(SUM)
    told = neurobo("run", path, "--json")
    assert told.returncode == 0, told.stdout + told.stderr
    assert json.loads(told.stdout)["ended_early"] is None
    file = read(tmp_path / "c", command, top=START + workers, trials=4, more=more)
    failures = {failure_of(t) for t in open_study(file).trials}
    assert failures - {""} == {"it must end within 4 s, got no end"}


SUM = """import json, sys, time
x = json.load(sys.stdin)["x"]
assert repr(x) == sys.argv[1]
if x > 0:
    time.sleep(60)
print((x - 1) ** 2)
"""


@pytest.mark.cluster
def test_a_run_survives_the_loss_of_a_node(tmp_path: Path) -> None:
    _needs("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False}
    )
    node = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    goal = (
        "import os, time\ndef f(p):\n"  # it notes its beginning: then it runs when its node dies
        "    open(os.path.dirname(__file__) + '/ledger', 'a').write('.')\n"
        "    time.sleep(1.5)\n    return p['x']\n"
    )
    more = f'[engine]\nkind = "ray"\naddress = "{cluster.address}"\n'
    top = f"{START}retries = 5\n"
    path = study(tmp_path, top=top, goal=goal, trials=24, more=more)
    try:
        process = subprocess.Popen(
            [NEUROBO, "run", str(path)], stdout=subprocess.PIPE, text=True, env=environment()
        )
        ledger, end = tmp_path / "ledger", time.monotonic() + 120
        while not ledger.exists() or ledger.stat().st_size < 8:
            assert time.monotonic() < end
            time.sleep(0.1)
        cluster.remove_node(node, allow_graceful=False)
        shown, _ = process.communicate(timeout=180)
    finally:
        cluster.shutdown()
    assert process.returncode == 0, shown
    assert "was lost: the worker died" in shown, shown
    found = open_study(read(tmp_path, top=top, goal=goal, trials=24, more=more))
    counted = counting(found)
    assert len(counted) == 24
    assert all(t.state == TrialState.COMPLETE for t in counted)
    assert len({t.params["x"] for t in counted}) == 24
