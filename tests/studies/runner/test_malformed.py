"""What somebody else wrote into a study stops no runner: it is reported and left aside."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import TrialState, create_trial
from sqlalchemy import text
from studies.made import neurobo, read, study
from typer.testing import CliRunner

from neurobo.analysis.tally import Tally
from neurobo.cli.app import app
from neurobo.integrations.optuna.attributes import (
    FAILURE,
    INTERRUPTED,
    RESERVED,
    attempt_of,
    counting,
)
from neurobo.integrations.optuna.leases import LEASE, lease, lease_of
from neurobo.running.progress import Silent
from neurobo.studies.runner import shared_run as runner
from neurobo.studies.runner.store import open_study

TOP = "n_startup_trials = 50\n"
DEEP = "[" * 100_000 + "]" * 100_000


def _running(study: Study, **attrs: Any) -> int:
    system = {LEASE: attrs.pop("lease")} if "lease" in attrs else {}
    system |= attrs.pop("system", {})
    trial = create_trial(state=TrialState.RUNNING, system_attrs=system, user_attrs=attrs)
    study.add_trial(trial)
    return len(study.trials) - 1


def _late() -> dict[str, Any]:
    return {"until": time.time() - 1, "by_process": True}


def lease_as_text(study: Study) -> str:
    _running(study, lease="until tomorrow")
    return "trial 0 is left aside: its lease cannot be read"


def lease_without_place(study: Study) -> str:
    _running(study, lease={"until": time.time() - 1, "pid": 4})
    return "trial 0 was lost"


def lease_that_ends_at_no_time(study: Study) -> str:
    _running(study, lease={"until": "soon", "pid": "me", "place": 3})
    return "trial 0 is left aside: its lease cannot be read"


def attempt_as_text(study: Study) -> str:
    _running(study, lease=_late(), attempt="first")
    return "trial 0 was lost"


def queued_point_as_text(study: Study) -> str:
    study.add_trial(create_trial(state=TrialState.WAITING, system_attrs={"fixed_params": "x = 1"}))
    return "trial 0 is left aside: its point that it was queued with cannot be read"


def queued_value_as_text(study: Study) -> str:
    study.enqueue_trial({"x": "far"})
    return "trial 0 is left aside: its point that it was queued with cannot be read"


def suggestion_that_is_no_json(study: Study) -> str:
    _running(study, lease=_late(), system={"neurobo:suggested:0": "{x", "neurobo:suggested:1": 3})
    return "trial 0 was lost"


def nested_deeply(study: Study) -> str:
    _running(study, lease=_late(), note=0)
    with study._storage._backend.engine.begin() as connection:  # type: ignore[attr-defined]
        connection.execute(text("UPDATE trial_user_attributes SET value_json = :v"), {"v": DEEP})
    return "trial 0 was lost"


def marks_of_other_kinds(study: Study) -> str:
    marks: dict[str, Any] = {"retry_of": "trial 3", "correction_of": [1], "late_result_of": True}
    study._storage.set_study_system_attr(study._study_id, "neurobo:void:0", {"no": "list"})
    _running(study, lease=_late(), **marks)
    return "trial 0 was lost"


def constraint_as_text(study: Study) -> str:
    _running(study, lease=_late(), system={"constraints:heat": "hot"})
    return "trial 0 was lost"


CASES = (
    lease_as_text, lease_without_place, lease_that_ends_at_no_time, attempt_as_text,
    queued_point_as_text, queued_value_as_text, suggestion_that_is_no_json, nested_deeply,
    marks_of_other_kinds, constraint_as_text,
)  # fmt: skip


@pytest.mark.parametrize("write", CASES, ids=lambda write: write.__name__)
def test_a_malformed_attribute_stops_no_runner(write: Any, tmp_path: Path) -> None:
    file = read(tmp_path, trials=3, top=TOP, space="x = { low = 0.0, high = 1.0 }")
    reported = write(open_study(file))
    notes: list[str] = []
    ended, why = runner.run(file, display=lambda _: Silent(), note=notes.append)
    assert why == ""
    assert sum(reported in note for note in notes) == 1, notes
    assert len(Tally.of(ended).complete) == 3
    for command in ("status", "export"):
        done = CliRunner().invoke(app, [command, str(file.path)])
        assert done.exception is None, done.exception


def test_a_lease_is_read_with_its_types() -> None:
    def of(found: Any) -> Any:
        return lease_of(create_trial(state=TrialState.RUNNING, system_attrs={LEASE: found}))

    mine = lease(60, by_process=True)
    assert of(mine)._asdict() == mine
    assert of({"until": 5, "pid": 7}) == (5, False, None, "", None)
    bad: list[Any] = ["text", 3, None, [], {}]
    for one in (*bad, {"until": "x"}, {"until": True}, {"until": float("nan")}):
        assert of(one) is None, one


@pytest.mark.parametrize("bad", ["first", 0, -3, True, 1.5, None, [2]])
def test_an_attempt_that_is_no_count_is_the_first(bad: Any) -> None:
    trial = create_trial(state=TrialState.RUNNING, user_attrs={"attempt": bad})
    assert attempt_of(trial) == 1


# Names that neurobo uses itself -----------------------------------------------------------------


def test_an_objective_may_not_set_the_marks_of_neurobo(tmp_path: Path) -> None:
    """`failure = "interrupted"` made a study of 5 trials run for ever."""
    names = sorted(RESERVED)
    goal = (
        f"names = {names}\ndef f(p):\n"
        "    return {'value': 1.0, 'attrs': {names.pop(): 'interrupted'}}\n"
    )
    file = read(tmp_path, trials=len(names), top=TOP, goal=goal)
    ended, _ = runner.run(file, display=lambda _: Silent(), note=lambda _: None)
    assert [t.state for t in ended.trials] == len(names) * [TrialState.FAIL]
    rule = "`attrs` must not have the names that neurobo uses itself"
    reasons = [t.user_attrs[FAILURE] for t in ended.trials]
    assert all(reason.startswith(rule) for reason in reasons)
    assert sorted(reason.rpartition("got ")[2] for reason in reasons) == [repr(n) for n in names]


def test_only_a_failed_trial_can_be_an_interrupted_one() -> None:
    """Whoever works with Optuna itself may call an attribute as he likes."""
    plain = optuna.create_study()
    trial = plain.ask()
    trial.set_user_attr(FAILURE, INTERRUPTED)
    plain.tell(trial, 1.0)
    assert [t.number for t in counting(plain)] == [0]


@pytest.mark.parametrize(
    ("printed", "rule"),
    [
        ('{"value": 1, "attrs": ' + "[" * 90_000 + "]" * 90_000 + "}", "must be a number"),
        (json.dumps({"value": 1, "attrs": {"": 1}}), "1 to 512 characters"),
        (json.dumps({"value": 1, "attrs": {"k" * 513: 1}}), "1 to 512 characters"),
        (json.dumps({"value": 1, "attrs": {"a\0b": 1}}), "none of them NUL"),
    ],
)  # fmt: skip
def test_attributes_that_cannot_be_stored(printed: str, rule: str, tmp_path: Path) -> None:
    (tmp_path / "printed").write_text(printed)
    path = study(tmp_path, 'command = ["cat", "printed"]', trials=1, top=TOP)
    done = neurobo("run", path)
    assert done.returncode == 1, done.stderr
    assert rule in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
