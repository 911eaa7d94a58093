"""ask, tell, import, export, status, best: people and scripts; and storages that are broken."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
import sqlalchemy.event
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from optuna.storages._rdb.models import BaseModel
from optuna.trial import TrialState
from sqlalchemy import create_engine
from studies.made import FAST, NEUROBO, read, study
from typer.testing import CliRunner, Result

from neurobo.analysis.tally import Tally, duration
from neurobo.cli.app import app
from neurobo.errors import InvalidInput, MissingPackage, NeuroboError, SpaceExhausted
from neurobo.integrations.optuna.attributes import void_numbers
from neurobo.integrations.optuna.leases import LEASE
from neurobo.integrations.optuna.storage_errors import StorageError
from neurobo.running.results import tell_result
from neurobo.running.workers import Outcome
from neurobo.studies.runner.ask_tell import ask_points
from neurobo.studies.runner.lease import give_up_expired
from neurobo.studies.runner.store import open_study

CONSTRAINED = FAST + 'constraints = ["cost"]'


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def _call(*arguments: Any) -> Result:
    """A command in this process; its own errors are raised."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(result.exception, NeuroboError):
        raise result.exception
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def _json(*arguments: Any) -> Any:
    result = _call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


# ask and tell -----------------------------------------------------------------------------------


def test_a_person_in_the_loop(tmp_path: Path) -> None:
    path = study(tmp_path, "", top=CONSTRAINED, trials=5)
    first, second = _json("ask", path, "-n", "2")
    assert (first["id"], second["id"]) == (0, 1)
    assert first["params"] != second["params"]
    assert first["until"] - time.time() == pytest.approx(168 * 3600, abs=60)
    told = _json("tell", path, 1, 3.5, "--constraint", "cost=-1")
    assert told == {"id": 1, "state": "COMPLETE", "value": 3.5}
    assert "trial 0: failed: the furnace is cold" in _call(
        "tell", path, 0, "--failed", "the furnace is cold").output  # fmt: skip
    shown = _json("status", path)
    assert (shown["complete"], shown["failed"], shown["running"]) == (1, 1, [])
    assert shown["best"]["value"] == 3.5
    assert "│" in _call("ask", path).output
    assert (
        "trial 2: -0.25" in _call("tell", path, 2, "--constraint", "cost=0", "--", "-0.25").output
    )
    best = _json("best", path)["best"][0]
    assert (best["id"], best["constraints"]) == (2, {"cost": 0.0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [7, 1.0, "--constraint", "cost=1"],
            "got 7, but there are only trials 0 to 1",
        ),
        ([1], "either a value or a reason for its failure, got neither"),
        ([1, 1.0, "--failed", "x"], "got 1.0 and 'x'"),
        ([1, "nan", "--constraint", "cost=1"], "the value must be a finite number, got nan"),
        ([1, 1.0], "must give the constraints ['cost'], got none for ['cost']"),
        ([1, 1.0, "--constraint", "price=1"], "must be one of ['cost'], got 'price'"),
        ([1, 1.0, "--constraint", "cost"], "must be NAME=NUMBER, got 'cost'"),
        ([1, 1.0, "--constraint", "cost=inf"], "'cost' must be a finite number, got inf"),
        ([0, 1.0, "--constraint", "cost=1"], "trial 0 has its result already: 2.0"),
    ],
)
def test_wrong_results_are_refused(arguments: list[Any], message: str, asked: Path) -> None:
    with pytest.raises(InvalidInput) as error:
        _call("tell", asked, *arguments)
    assert message in str(error.value)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = study(tmp_path_factory.mktemp("asked"), "", top=CONSTRAINED)
    _call("ask", path, "-n", "2")
    _call("tell", path, 0, 2.0, "--constraint", "cost=1")
    return path


def test_a_small_space_can_be_asked_for_completely(tmp_path: Path) -> None:
    path = study(tmp_path, "", space="c = { choices = ['a', 'b', 'c'] }")
    assert len(_json("ask", path, "-n", "5")) == 3
    with pytest.raises(SpaceExhausted, match="all 3 are evaluated or reserved"):
        _call("ask", path)


def _expire(study: optuna.Study, number: int) -> None:
    trial = study.trials[number]
    study._storage.set_trial_system_attr(trial._trial_id, LEASE, {"until": time.time() - 1})


def test_late_results(tmp_path: Path) -> None:
    """Accepted if nothing has replaced the trial, otherwise refused with an explanation."""
    file = read(tmp_path, "")
    study = open_study(file)
    points = ask_points(file, study, 3)
    for one in points:
        _expire(study, one.id)
    # Nobody has noticed yet: as if in time.
    assert tell_result(study, 0, Outcome(1.0)).number == 0
    # Given up, and waiting to be begun again: the result takes the place of the repetition.
    assert give_up_expired(study, file.space, file.table.retries) == [1, 2]
    late = tell_result(study, 1, Outcome(2.0))
    assert (late.value, late.params, late.user_attrs["retry_of"]) == (2.0, points[1].params, 1)
    # Begun again by somebody else: the point would count twice.
    (again,) = ask_points(file, study, 1)
    assert again.params == points[2].params
    with pytest.raises(InvalidInput, match=f"was retried as trial {again.id} .running."):
        tell_result(study, 2, Outcome(3.0))
    tell_result(study, again.id, Outcome(3.0))
    assert [t.value for t in Tally.of(study).trials] == [1.0, 2.0, 3.0]
    # Given up for good: the result becomes a trial of its own, once.
    (last,) = ask_points(file, study, 1)
    _expire(study, last.id)
    assert give_up_expired(study, file.space, 0) == [last.id]
    told = tell_result(study, last.id, Outcome(4.0))
    assert (told.value, told.user_attrs["late_result_of"]) == (4.0, last.id)
    with pytest.raises(InvalidInput, match="is known already"):
        tell_result(study, last.id, Outcome(5.0))


class AskAndTell(RuleBasedStateMachine):
    """ask, tell, expire and sweep in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.file = _machine_file
        name = f"machine-{time.monotonic_ns()}"
        table = self.file.table.model_copy(update={"name": name})
        self.file = type(self.file)(self.file.path, table, "")
        self.study = open_study(self.file)
        self.told: dict[int, float] = {}
        self.asked: list[int] = []

    @rule()
    def ask(self) -> None:
        self.asked.append(ask_points(self.file, self.study, 1)[0].id)

    @rule(pick=st.integers(0, 100), value=st.floats(-10, 10))
    def tell(self, pick: int, value: float) -> None:
        if self.asked:
            number = self.asked[pick % len(self.asked)]
            try:
                self.told[tell_result(self.study, number, Outcome(value)).number] = value
            except InvalidInput:
                trial = self.study.trials[number]
                assert trial.state.is_finished()

    @rule(pick=st.integers(0, 100))
    def expire(self, pick: int) -> None:
        running = [t.number for t in Tally.of(self.study).running]
        if running:
            _expire(self.study, running[pick % len(running)])

    @rule()
    def sweep(self) -> None:
        give_up_expired(self.study, self.file.space, 1)

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        trials = self.study.trials
        complete = {t.number: t.value for t in trials if t.state == TrialState.COMPLETE}
        assert complete == self.told
        void = void_numbers(self.study)
        points = [t.params["x"] for t in trials if t.params and t.number not in void]
        late = [t for t in trials if "late_result_of" in t.user_attrs and "retry_of" not in
                t.user_attrs]  # fmt: skip
        assert len(points) - len(set(points)) <= len(late)


def test_ask_and_tell_in_any_order(tmp_path: Path) -> None:
    global _machine_file
    _machine_file = read(tmp_path, "")
    limits = settings(max_examples=3, stateful_step_count=10, deadline=None)
    run_state_machine_as_test(AskAndTell, settings=limits)


_machine_file: Any = None


def test_many_threads_ask_and_tell(tmp_path: Path) -> None:
    file = read(tmp_path, "", top="n_startup_trials = 50")
    open_study(file)

    def work(worker: int) -> list[int]:
        study, done = open_study(file), []
        for _ in range(4):
            (point,) = ask_points(file, study, 1)
            tell_result(study, point.id, Outcome(point.params["x"]))
            done.append(point.id)
        return done

    with ThreadPoolExecutor(3) as pool:
        done = [number for numbers in pool.map(work, range(3)) for number in numbers]
    trials = open_study(file).trials
    assert sorted(done) == [t.number for t in trials] == list(range(12))
    assert all(t.value == t.params["x"] for t in trials)
    assert len({t.params["x"] for t in trials}) == 12


# import and export ------------------------------------------------------------------------------

SPACE = "x = { low = -5.0, high = 5.0 }\nn = { type = 'int', low = 1, high = 9 }\n" + (
    "c = { choices = ['a b', 'true', 3] }\nvalue = { low = 0, high = 1 }"
)


def _results(folder: Path, text: str) -> Path:
    path = folder / "results.csv"
    path.write_text(text)
    return path


def test_results_come_in_by_the_names_of_their_columns(tmp_path: Path) -> None:
    space = SPACE.splitlines()
    path = study(tmp_path, "", space="\n".join(space[:3]), top=CONSTRAINED)
    text = "c,note,value,n,x,cost\na b,hi,1.5,3,-0.5,1\n3,,,4,2,\ntrue,x,nan,1,5,0\n\n"
    results = _results(tmp_path, text)
    told = _json("import", path, results)
    assert (told["imported"], told["ignored_columns"]) == (3, ["note"])
    trials = open_study(read_again(path)).trials
    assert [t.state.name for t in trials] == ["COMPLETE", "FAIL", "FAIL"]
    assert trials[0].params == {"x": -0.5, "n": 3, "c": "a b"}
    assert trials[0].constraints == {"cost": 1.0}
    assert trials[1].params["c"] == 3
    again = _json("import", path, results)
    assert (again["imported"], again["known_before"]) == (0, 3)


def read_again(path: Path) -> Any:
    from neurobo.studies.file.reader import read_study

    return read_study(path)


def test_bad_rows_are_all_listed_and_nothing_is_imported(tmp_path: Path) -> None:
    path = study(tmp_path, "", space="\n".join(SPACE.splitlines()[:3]))
    rows = ["1,1,a b,5", "9,1,a b,5", "x,1,a b,5", "1,1.5,a b,5", "1,1,z,5", "1,1,3", "1,1,3,?"]
    results = _results(tmp_path, "x,n,c,value\n" + "\n".join(rows))
    with pytest.raises(InvalidInput) as error:
        _call("import", path, results)
    text = str(error.value)
    assert "got 6 bad of 7; nothing was imported" in text
    for said in (
        "line 3: the value of 'x' must lie in", "line 4: 'x' must be a number, got 'x'",
        "line 5: the value of 'n' must lie in", "line 6: 'c' must be one of ['a b', 'true', 3]",
        "line 7: a row must have 4 cells, got 3", "line 8: 'value' must be a number, got '?'",
    ):  # fmt: skip
        assert said in text
    assert not (tmp_path / "study.db").exists()
    assert _json("import", path, results, "--skip-bad")["imported"] == 1
    for heading, said in [("x,n,value", "none for ['c']"), ("x,x,n,c,value", "['x'] twice")]:
        with pytest.raises(InvalidInput) as error:
            _call("import", path, _results(tmp_path, heading + "\n"))
        assert said in str(error.value)


def test_an_export_can_be_imported_again(tmp_path: Path) -> None:
    source = study(tmp_path / "a", "", space="\n".join(SPACE.splitlines()[:3]), top=CONSTRAINED)
    _json("ask", source, "-n", "4")
    _call("tell", source, 0, 0.1, "--constraint", "cost=-0.5")
    _call("tell", source, 1, "--failed", 'broke,\n"badly"')
    _call("tell", source, 2, 1e-300, "--constraint", "cost=2")
    text = _call("export", source).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["failure"] for row in rows] == ["", 'broke,\n"badly"', ""]
    assert [row["feasible"] for row in rows] == ["true", "", "false"]
    results = _results(tmp_path, text)
    target = study(tmp_path / "b", "", space="\n".join(SPACE.splitlines()[:3]), top=CONSTRAINED)
    assert _json("import", target, results)["imported"] == 3
    before, after = (open_study(read_again(p)).trials[:3] for p in (source, target))
    assert [(t.params, t.value, t.state) for t in before] == [
        (t.params, t.value, t.state) for t in after
    ]
    rows = json.loads(_call("export", source, "--format", "json", "--all").stdout)
    assert [row["state"] for row in rows] == ["COMPLETE", "FAIL", "COMPLETE", "RUNNING"]
    with pytest.raises(InvalidInput, match="must be one of"):
        _call("export", source, "--format", "xlsx")


def test_parquet_needs_its_package(tmp_path: Path) -> None:
    path = study(tmp_path, "")
    _json("ask", path)
    _call("tell", path, 0, 7.0)
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        with pytest.raises(MissingPackage, match="pip install pyarrow"):
            _call("export", path, "--out", tmp_path / "x.parquet")
    else:
        _call("export", path, "--out", tmp_path / "x.parquet")
        assert (tmp_path / "x.parquet").read_bytes().startswith(b"PAR1")


def test_a_parameter_called_value_has_a_column_of_its_own(tmp_path: Path) -> None:
    path = study(tmp_path, "", space="value = { low = 0, high = 1 }")
    _json("ask", path)
    _call("tell", path, 0, 7.0)
    (row,) = json.loads(_call("export", path, "--json").stdout)
    assert row["value"] == 7.0
    assert 0 <= row["param_value"] <= 1


# best -------------------------------------------------------------------------------------------


def test_under_noise_the_best_is_not_the_luckiest(tmp_path: Path) -> None:
    file = read(tmp_path, "", space="x = { low = 0.0, high = 1.0 }")
    study = open_study(file)
    rng = np.random.default_rng(1)
    x = rng.random(60)
    values = (x - 0.3) ** 2 * 20 + rng.normal(0, 0.5, 60)
    lucky = int(np.argmin(np.abs(x - 0.5)))
    values[lucky] = values.min() - 0.2  # beside the valley
    distribution = file.space.distributions
    study.add_trials(
        [
            optuna.trial.create_trial(params={"x": a}, distributions=distribution, value=v)
            for a, v in zip(x.tolist(), values.tolist(), strict=True)
        ]
    )
    found = _json("best", file.path)
    assert found["by"] == "mean"
    assert found["noise_sd"] == pytest.approx(0.5, rel=0.8)
    assert abs(found["best"][0]["params"]["x"] - 0.3) < 0.1
    assert found["best"][0]["sd"] < 0.5
    assert study.best_params["x"] == x[lucky]


def test_best_without_a_feasible_result_says_so(tmp_path: Path) -> None:
    path = study(tmp_path, "", top=CONSTRAINED)
    _json("ask", path)
    with pytest.raises(NeuroboError, match="a result is needed, got none"):
        _call("best", path)
    _call("tell", path, 0, 1.0, "--constraint", "cost=1")
    with pytest.raises(NeuroboError, match="got 1 that are not feasible"):
        _call("best", path)


# Storages ---------------------------------------------------------------------------------------


def test_files_that_are_no_study_are_named_and_left_alone(tmp_path: Path) -> None:
    file = read(tmp_path, "")
    database = tmp_path / "study.db"
    for content, message in [
        (b"hello, I am a text\n" * 10, "must be an SQLite file, got .*which is something else"),
        (b"SQLite format 3\0" + b"\xff" * 4096, "cannot be used: .*(damaged|not a database)"),
    ]:
        database.write_bytes(content)
        with pytest.raises(StorageError, match=message) as error:
            open_study(file)
        assert str(database) in str(error.value)
        assert database.read_bytes() == content
    database.unlink()
    with sqlite3.connect(database) as other:
        other.execute("create table invoices (id int)")
    other.close()
    content = database.read_bytes()
    with pytest.raises(StorageError, match=r"tables of another program \(invoices\)"):
        open_study(file)
    assert database.read_bytes() == content
    database.unlink()
    # As another runner leaves it for a moment.
    BaseModel.metadata.tables["studies"].create(create_engine(f"sqlite:///{database}"))
    assert open_study(file).trials == []
    with pytest.raises(StorageError, match=f"got none: {tmp_path}/none.db does not exist"):
        _call("status", study(tmp_path, "", name="none.toml"))


def test_damage_and_a_newer_schema(tmp_path: Path) -> None:
    file = read(tmp_path, "")
    ask_points(file, open_study(file), 3)
    database = tmp_path / "study.db"
    whole = database.read_bytes()
    damaged = bytearray(whole)
    damaged[4096:] = os.urandom(len(whole) - 4096)
    database.write_bytes(damaged)
    with pytest.raises(StorageError, match="the file is damaged") as error:
        ask_points(file, open_study(file), 1)
    assert str(database) in str(error.value)
    database.write_bytes(whole)
    with sqlite3.connect(database) as connection:
        connection.execute("update alembic_version set version_num = 'v99.0.0.a'")
        connection.execute("update version_info set schema_version = 99")
    connection.close()
    with pytest.raises(StorageError, match="cannot be used"):
        open_study(file)


def test_what_a_study_cannot_change(tmp_path: Path) -> None:
    space = "c = { choices = ['a', 'b'] }"
    file = read(tmp_path, "", space=space)
    ask_points(file, open_study(file), 1)
    with pytest.raises(InvalidInput, match=r"direction .* must stay the same.*got 'maximize'"):
        open_study(read(tmp_path, "", space=space, top='direction = "maximize"'))
    with pytest.raises(InvalidInput, match="the choices of a parameter must stay the same"):
        open_study(read(tmp_path, "", space="c = { choices = ['a', 'z'] }"))


def test_no_space_left_is_one_clear_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite is told that it may not grow, and says that the disk is full."""
    path = study(tmp_path, "")
    _json("ask", path)
    monkeypatch.setattr("neurobo.integrations.optuna.storage._take_turns", _stop_growing)
    monkeypatch.setattr("optuna.storages._rdb.storage.time.sleep", lambda _: None)
    with pytest.raises(StorageError) as error:
        _call("import", path, _results(tmp_path, "x,value\n" + "1,1\n" * 300))
    text = str(error.value)
    assert f"the storage sqlite:///{tmp_path}/study.db cannot be used: there is no space" in text


def _stop_growing(storage: Any) -> None:
    @sqlalchemy.event.listens_for(storage.engine, "connect")
    def _limit(connection: Any, _: Any) -> None:
        connection.execute("pragma max_page_count = 1")  # as large as it is now

    storage.engine.dispose()


LITTLE = ["sh", "-c", 'trap "" XFSZ; ulimit -f 300; exec "$0" "$@"']
"""No file may become larger than 300 blocks of 512 bytes."""


@pytest.mark.slow
def test_a_full_disk_is_one_clear_message(tmp_path: Path) -> None:
    """The operating system refuses to let the storage grow."""
    path = study(tmp_path, trials=400, top="n_startup_trials = 500")
    done = subprocess.run(
        [*LITTLE, NEUROBO, "run", str(path)], capture_output=True, text=True, check=False,
        timeout=120, env={**os.environ, "COLUMNS": "400"},
    )  # fmt: skip
    assert done.returncode == 2, done.stdout[-500:]
    assert "Traceback" not in done.stderr
    (message,) = [line for line in done.stderr.splitlines() if "error" in line]
    assert f"the storage sqlite:///{tmp_path}/study.db cannot be used" in message
    assert "full" in message
    told = done.stdout.count(", best ")
    assert told >= 1
    with sqlite3.connect(tmp_path / "study.db") as connection:
        (kept,) = connection.execute("select count(*) from trial_values").fetchone()
    connection.close()
    assert kept >= told


def test_odd_folders_and_names_work(tmp_path: Path) -> None:
    folder = tmp_path / "a {b} # 'c' %41 ünï? x=1&y"
    space = 'c = { choices = ["\\u001b[31mred\\u0007", "two\\nlines"] }'
    path = study(folder, "", space=space, top='name = "x/../y {z}"'.replace("name", "# name"))
    assert len(_json("ask", path, "-n", "2")) == 2
    assert (folder / "study.db").is_file()
    _call("tell", path, 0, 1.0)
    shown = _call("best", path).output + _call("status", path).output
    assert "\x1b[31m" not in shown
    assert "\x07" not in shown


def test_waiting_trials_beyond_the_budget_do_not_hold_a_run_up(tmp_path: Path) -> None:
    file = read(tmp_path, trials=1)
    waiting = open_study(file)
    for x in (0.0, 1.0):
        waiting.enqueue_trial({"x": x})
    told = _json("run", file.path)
    assert (told["complete"], told["waiting"]) == (1, 1)


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    storage = "postgresql+psycopg2://me:s3cret@localhost:1/db"
    file = read(tmp_path, "", top=f'storage = "{storage}"')
    with pytest.raises(StorageError) as error:
        open_study(file)
    assert "s3cret" not in str(error.value)
    assert "me:***@localhost" in str(error.value)


# Words ------------------------------------------------------------------------------------------


def test_objectives_are_needed(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"must have an \[objective\], got none"):
        _call("run", study(tmp_path, ""))


def test_durations() -> None:
    assert [duration(s) for s in (0.4, 59, 61, 3600 * 2 + 65)] == ["0 s", "59 s", "1:01", "2:01:05"]


def test_every_command_has_help_and_scripts_have_json() -> None:
    commands = [
        "check",
        "run",
        "ask",
        "tell",
        "status",
        "best",
        "import",
        "export",
        "report",
        "plot",
    ]
    for name in (*commands, "init", "dashboard"):
        shown = _call(name, "--help").stdout
        assert "Usage" in shown
        assert ("--json" in shown) == (name in commands)
    assert "--install-completion" in _call("--help").stdout
