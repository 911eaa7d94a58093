"""A storage that goes away during a run, and comes back or does not."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from studies.made import read

import neurobo
from neurobo.errors import NeuroboWarning
from neurobo.integrations.optuna import outage as outages
from neurobo.integrations.optuna import storage as storages
from neurobo.integrations.optuna.attributes import counting
from neurobo.integrations.optuna.compat import finish_trial, outage_of
from neurobo.integrations.optuna.leases import lease
from neurobo.integrations.optuna.outage import Outage, is_away
from neurobo.integrations.optuna.shared_storage import SharedStorage
from neurobo.integrations.optuna.storage import opened
from neurobo.integrations.optuna.storage_errors import StorageError
from neurobo.running.interrupts import StopFlags
from neurobo.running.minimisation import _spool
from neurobo.running.progress import Silent
from neurobo.running.spool import Spool
from neurobo.running.workers import Outcome
from neurobo.studies.runner import shared_run as runner
from neurobo.studies.runner.lease import new_trial
from neurobo.studies.runner.store import open_study

FIRST_TRIALS = "n_startup_trials = 50\n"


def _gone() -> OperationalError:
    return OperationalError("a statement", {}, sqlite3.OperationalError("server closed"))


class Switch:
    """Makes every statement on the engines of one storage fail while it is off."""

    def __init__(self) -> None:
        self.off_until = 0.0
        self.failed = 0
        self.patience: float | None = None
        """Seconds that calls are repeated, if not the default."""

    def watch(self, storage: Any) -> None:
        event.listen(storage._backend.engine, "before_cursor_execute", self._statement)

    def _statement(self, *_: Any) -> None:
        if time.monotonic() < self.off_until:
            self.failed += 1
            raise _gone()

    def off(self, seconds: float) -> None:
        self.off_until = time.monotonic() + seconds


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Switch:
    """Every study that is opened hangs on this switch."""
    made = Switch()

    def watched(*args: Any, **options: Any) -> Any:
        storage = opened(*args, **options)
        made.watch(storage)
        if made.patience is not None:
            storage.outage.seconds = made.patience  # type: ignore[attr-defined]
        return storage

    monkeypatch.setattr("neurobo.studies.runner.store.opened", watched)
    monkeypatch.setattr("neurobo.running.minimisation.opened", watched)
    return made


# The policy -------------------------------------------------------------------------------------


def test_a_call_is_repeated_with_growing_waits_and_jitter_until_it_succeeds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, waits, told = [0.0], list[float](), list[float]()
    notes: list[str] = []

    def sleep(seconds: float) -> None:
        now[0] += seconds
        waits.append(seconds)

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.sleep", sleep)
    policy = Outage(minutes=10)
    policy.note, policy.meanwhile = notes.append, lambda: told.append(now[0])

    def call() -> str:
        if now[0] < 100:
            raise _gone()
        return "found"

    assert policy.patiently(call) == "found"
    assert [text.split(" (")[0].split(" after")[0] for text in notes] == [
        "the storage is away", "the storage is back",
    ]  # fmt: skip
    assert "for 10 minutes" in notes[0]
    assert max(waits) <= outages.SLICE  # Ctrl-C and results are looked at meanwhile
    assert len(told) >= len(waits)
    assert not policy.away
    assert policy.back_since == now[0]


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.sleep", lambda s: now.__setitem__(0, now[0] + s))
    policy = Outage(minutes=2)

    def call() -> None:
        raise _gone()

    with pytest.raises(OperationalError):
        policy.patiently(call)
    assert 110 < now[0] <= 120


def _error(text: str) -> OperationalError:
    return OperationalError("x", {}, sqlite3.OperationalError(text))


def test_which_errors_are_worth_waiting_for() -> None:
    wrapped = StorageInternalError("An exception is raised during the commit.")
    wrapped.__cause__ = _error("the database system is starting up")
    assert is_away(wrapped)
    assert is_away(_error("database is locked"))
    full = _error("database or disk is full")
    assert not is_away(full)
    policy = Outage()
    assert not policy.is_worth_waiting(full)
    policy.waits_for_space = True
    assert policy.is_worth_waiting(full)
    for text in ("attempt to write a readonly database",
                 "database disk image is malformed", "file is not a database"):  # fmt: skip
        assert not is_away(_error(text)), text
    assert not is_away(ValueError("no"))
    assert not is_away(StorageInternalError("no cause"))


def test_a_server_that_restarts_while_a_runner_opens_its_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Optuna wraps some of the errors of its first statements, and not others."""
    wrapped = StorageInternalError("An exception is raised during the commit.")
    wrapped.__cause__ = _error("server closed the connection unexpectedly")
    errors, real = [wrapped, _error("the database system is starting up")], RDBStorage

    def restarting(*args: Any, **options: Any) -> Any:
        if errors:
            raise errors.pop(0)
        return real(*args, **options)

    monkeypatch.setattr(storages, "RDBStorage", restarting)
    assert isinstance(opened(f"sqlite:///{tmp_path}/s.db"), SharedStorage)
    assert not errors


# Writes whose acknowledgement is lost -----------------------------------------------------------


@contextmanager
def _lost_acknowledgement(storage: SharedStorage) -> Iterator[list[int]]:
    """The first commit in the block succeeds, and its connection breaks before the answer."""
    lost: list[int] = []
    engine = storage._backend.engine
    do_commit = engine.dialect.do_commit

    def commit(connection: Any) -> None:
        do_commit(connection)
        if not lost:
            lost.append(1)
            raise sqlite3.OperationalError("server closed the connection unexpectedly")

    engine.dialect.do_commit = commit  # type: ignore[method-assign, assignment]
    try:
        yield lost
    finally:
        engine.dialect.do_commit = do_commit  # type: ignore[method-assign]


def _study(folder: Path) -> tuple[Study, SharedStorage]:
    storage = opened(f"sqlite:///{folder}/s.db")
    assert isinstance(storage, SharedStorage)
    return optuna.create_study(storage=storage, study_name="s"), storage


def test_a_trial_whose_creation_was_not_acknowledged_is_created_once(tmp_path: Path) -> None:
    study, storage = _study(tmp_path)
    with _lost_acknowledgement(storage) as lost:
        trial = study.ask()
    assert lost
    assert [t.number for t in study.get_trials()] == [trial.number] == [0]
    with _lost_acknowledgement(storage):
        study.enqueue_trial({"x": 1.0})
    assert [t.state.name for t in study.get_trials()] == ["RUNNING", "WAITING"]


def test_a_result_whose_write_was_not_acknowledged_is_no_second_result(tmp_path: Path) -> None:
    study, storage = _study(tmp_path)
    trial = study.ask()
    with _lost_acknowledgement(storage) as lost:
        finish_trial(study, trial, TrialState.COMPLETE, [2.5], constraints={"c": 1.0})
    assert lost
    (stored,) = study.get_trials()
    assert (stored.value, stored.constraints) == (2.5, {"c": 1.0})


def test_a_waiting_trial_that_was_taken_without_acknowledgement_is_ours(tmp_path: Path) -> None:
    study, storage = _study(tmp_path)
    study.enqueue_trial({"x": 1.0})
    (waiting,) = study.get_trials()
    with _lost_acknowledgement(storage) as lost:
        assert storage.claim_trial(waiting._trial_id, {"mine": "abc"})
    assert lost
    assert not storage.claim_trial(waiting._trial_id, {"mine": "other"})


# Runs -------------------------------------------------------------------------------------------


def _run(file: Any, **options: Any) -> tuple[Study, str, list[str]]:
    notes: list[str] = []
    study, why = runner.run(file, display=lambda _: Silent(), note=notes.append, **options)
    return study, why, notes


def test_a_run_goes_on_after_an_outage(tmp_path: Path, switch: Switch) -> None:
    """The storage is away when a result comes; others run and end meanwhile."""
    goal = "import time\ndef f(p):\n    time.sleep(0.3)\n    return p['x']\n"
    file = read(tmp_path, trials=12, goal=goal, top=FIRST_TRIALS + "workers = 3")
    spooled: list[int] = []
    keep = Spool.keep

    def watching(self: Spool, number: int, outcome: Outcome) -> None:
        keep(self, number, outcome)
        assert self.path.exists()
        spooled.append(number)

    def after(study: Study, trial: FrozenTrial) -> None:
        if not switch.failed:
            switch.off(2.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Spool, "keep", watching)
        study, why, notes = _run(file, callbacks=(after,))
    assert switch.failed
    assert why == ""
    assert [t.state for t in study.trials] == 12 * [TrialState.COMPLETE]
    assert [n.split(" (")[0].split(" after")[0] for n in notes] == [
        "evaluations run in processes of this machine, 3 at a time",
        "the storage is away", "the storage is back",
    ]  # fmt: skip
    assert spooled
    assert not list(tmp_path.glob("*unwritten*"))


def test_an_outage_just_after_a_result_was_stored_leaves_no_file(
    tmp_path: Path, switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = SharedStorage.finish_trial

    def then_off(self: SharedStorage, *args: Any) -> None:
        finish(self, *args)
        if not switch.failed:
            switch.off(1.0)

    monkeypatch.setattr(SharedStorage, "finish_trial", then_off)
    study, _, _ = _run(read(tmp_path, trials=3, top=FIRST_TRIALS))
    assert switch.failed
    assert [t.state for t in study.trials] == 3 * [TrialState.COMPLETE]
    assert not list(tmp_path.glob("*unwritten*"))


def test_results_that_could_not_be_stored_wait_for_the_next_run(
    tmp_path: Path, switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = "import time\ndef f(p):\n    time.sleep(0.3)\n    return p['x']\n"
    top = FIRST_TRIALS + "workers = 2\nstorage_retry_minutes = 0.02"
    file = read(tmp_path, trials=8, goal=goal, top=top)

    def after(study: Study, trial: FrozenTrial) -> None:
        switch.off(60)

    with pytest.raises(StorageError, match=r"(1|2) results? could not be stored and waits? in .*"):
        _run(file, callbacks=(after,))
    (kept,) = tmp_path.glob("study.unwritten-*.jsonl")
    entries = [json.loads(line) for line in kept.read_text().splitlines()]
    switch.off_until = 0.0
    # As if that process were gone.
    kept.write_text("".join(json.dumps({**e, "by": _dead(e["by"])}) + "\n" for e in entries))
    study, _, notes = _run(file)
    for entry in entries:
        assert study.trials[entry["trial"]].value == entry["value"]
        assert f"trial {entry['trial']}: stored the result that was kept in {kept.name}" in notes
    assert len(counting(study)) == 8
    assert not list(tmp_path.glob("*unwritten*"))


def test_a_result_that_was_stored_and_kept_as_well_is_told_once_and_silently(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    """The storage takes a result and goes away before it can say so."""
    study = _minimize(tmp_path)
    by = lease(0.0, by_process=True)
    for value, said in ((study.trials[0].value, 0), (-1.0, 1)):
        path = tmp_path / f"lab_ 1_2.unwritten-{os.getpid()}.jsonl"
        entry = {"study": "lab: 1/2", "trial": 0, "value": value, "failure": "", "by": by,
                 "constraints": None, "attrs": None, "output": ""}  # fmt: skip
        path.write_text(json.dumps(entry))
        recwarn.clear()
        again = _minimize(tmp_path)
        assert len(recwarn) == said
        assert not path.exists()
        assert [t.value for t in again.trials] == [t.value for t in study.trials]


def _dead(by: dict[str, Any]) -> dict[str, Any]:
    return {**by, "place": by["place"] + "0"}


def test_a_spool_of_a_living_runner_or_another_study_is_left_alone(tmp_path: Path) -> None:
    file = read(tmp_path, trials=1)
    path = tmp_path / "study.unwritten-1.jsonl"
    living = {"study": "test", "trial": 0, "value": 1.0, "failure": "", "constraints": None,
              "attrs": None, "output": "", "by": {"pid": 1, "place": "other:b:1:1"}}  # fmt: skip
    for text in (json.dumps(living), json.dumps({**living, "study": "other"}), "{torn", "[[[["):
        path.write_text(text)
        _run(file)
        assert path.read_text() == text


def test_minimize_goes_on_after_an_outage(tmp_path: Path, switch: Switch) -> None:
    def goal(p: dict[str, float]) -> float:
        if not switch.failed:
            switch.off(1.5)
        return p["x"]

    with pytest.warns(NeuroboWarning, match="the storage is (away|back)"):
        study = neurobo.minimize(
            goal, {"x": (0.0, 1.0)}, 4, storage=f"sqlite:///{tmp_path}/s.db", study_name="s",
            progress=False, seed=0, n_startup_trials=9,
        )  # fmt: skip
    assert [t.state for t in study.trials] == 4 * [TrialState.COMPLETE]


def _identity(p: dict[str, float]) -> float:
    return p["x"]


def _minimize(folder: Path, **options: Any) -> Study:
    return neurobo.minimize(
        options.pop("objective", _identity), {"x": (0.0, 1.0)}, 6, study_name="lab: 1/2",
        storage=f"sqlite:///{folder}/s.db", progress=False, seed=0, n_startup_trials=9, **options,
    )  # fmt: skip


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.filterwarnings("ignore:the storage is")
def test_results_of_minimize_that_could_not_be_stored_wait_for_the_same_call(
    tmp_path: Path, switch: Switch, workers: int
) -> None:
    """The storage goes away for good during the second evaluation; the same call later stores its
    result instead of evaluating those points again."""
    evaluated: list[float] = []

    def slowly(p: dict[str, float]) -> float:
        time.sleep(0.3)
        evaluated.append(p["x"])
        if len(evaluated) == 2:
            switch.off(60)
        return p["x"]

    switch.patience = 1.0
    workers_options = {"objective": slowly, "workers": workers, "threads": True}
    with pytest.raises(StorageError, match=r"results? could not be stored and waits? in .*same"):
        _minimize(tmp_path, **workers_options)
    (kept,) = tmp_path.glob("*unwritten*")
    assert kept.name == f"lab_ 1_2.unwritten-{os.getpid()}.jsonl"
    entries = [json.loads(line) for line in kept.read_text().splitlines()]
    switch.off_until = 0.0
    with pytest.warns(NeuroboWarning, match="stored the result that was kept in lab_ 1_2"):
        study = _minimize(tmp_path, **workers_options)
    assert not list(tmp_path.glob("*unwritten*"))
    assert len(entries) >= 1
    for entry in entries:
        trial = study.trials[entry["trial"]]
        assert trial.value == entry["value"]
        assert evaluated.count(trial.value) == 1
    assert len(counting(study)) == 6


@pytest.mark.filterwarnings("ignore:the storage is", "ignore:interrupted after 0 of 6 trials")
def test_ctrl_c_in_minimize_during_an_outage_keeps_the_result(
    tmp_path: Path, switch: Switch
) -> None:
    def goal(p: dict[str, float]) -> float:
        switch.off(300)
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        return p["x"]

    began = time.monotonic()
    with pytest.warns(NeuroboWarning, match="1 result could not be stored and waits in"):
        _minimize(tmp_path, objective=goal)
    assert time.monotonic() - began < 20
    assert len(list(tmp_path.glob("*unwritten*"))) == 1
    switch.off_until = 0.0
    with pytest.warns(NeuroboWarning, match="trial 0: stored the result"):
        study = _minimize(tmp_path)
    assert study.trials[0].state == TrialState.COMPLETE


def test_a_study_in_memory_looks_for_no_files(tmp_path: Path) -> None:
    assert _spool(None, optuna.create_study()) is None
    assert _spool(f"sqlite:///{tmp_path}/s.db", optuna.create_study()) is None


def test_after_an_outage_others_have_time_to_renew_their_leases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = read(tmp_path, trials=2, more="[lease]\nseconds = 2\n")
    study = open_study(file)
    notes: list[str] = []
    backend = runner.SharedBackend(file, study, notes.append, StopFlags())
    now = [time.monotonic()]
    monkeypatch.setattr("neurobo.integrations.optuna.leases.time.monotonic", lambda: now[0])
    elsewhere = {**lease(2, by_process=True), "place": "other:boot:1:1"}
    new_trial(study, file.space, elsewhere)
    policy = outage_of(study)
    assert policy is not None
    for seconds, back, lost in (
        (1, False, 0),
        (1, False, 0),
        (2, True, 0),
        (1, False, 0),
        (2, False, 1),
    ):
        now[0] += seconds
        if back:  # nobody could renew meanwhile
            policy.back_since = now[0]
        backend.look_around()
        assert len(notes) == lost
    assert study.trials[0].state == TrialState.FAIL


def test_sigterm_during_an_outage_ends_the_run_at_once(tmp_path: Path, switch: Switch) -> None:
    goal = "import time\ndef f(p):\n    time.sleep(0.2)\n    return p['x']\n"
    file = read(tmp_path, trials=20, goal=goal, top=FIRST_TRIALS)
    began: list[float] = []

    def after(study: Study, trial: FrozenTrial) -> None:
        if not began:
            began.append(time.monotonic())
            switch.off(300)
            threading.Timer(1.0, os.kill, (os.getpid(), 15)).start()

    _, why, _ = _run(file, callbacks=(after,))
    assert time.monotonic() - began[0] < 10
    assert why.startswith("interrupted after ")
