"""Marks that older and newer versions of neurobo have written into a study.

An older runner knows no tokens and no `seconds` in its leases; a newer one may know more keys,
other attributes and other reasons. A run goes on with both.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from optuna.study import Study
from optuna.trial import TrialState, create_trial
from studies.made import read

from neurobo.integrations.optuna.attributes import counting
from neurobo.integrations.optuna.compat import set_study_system_attr
from neurobo.integrations.optuna.leases import LEASE, lease, lease_of
from neurobo.running.progress import Silent
from neurobo.studies.runner import shared_run as runner
from neurobo.studies.runner.store import open_study

TOP = "n_startup_trials = 50\n"


def _add(study: Study, state: TrialState = TrialState.RUNNING, **options: Any) -> int:
    value = 1.0 if state == TrialState.COMPLETE else None
    space = {"params": {"x": 1.0}, "distributions": _distributions} if value is not None else {}
    study.add_trial(create_trial(state=state, value=value, **space, **options))
    return len(study.trials) - 1


_distributions: Any = {}


def _dead(**more: Any) -> dict[str, Any]:
    """The lease of a process that is no more."""
    held = lease(3600, by_process=True)
    return {**held, "place": held["place"] + "0", **more}


def older_lease_without_seconds(study: Study) -> int:
    held = _dead(until=time.time() - 1)
    del held["seconds"]
    return _add(study, system_attrs={LEASE: held})


def older_lease_of_a_person(study: Study) -> int:
    return _add(study, system_attrs={LEASE: {"until": time.time() - 1}})


def newer_lease_with_more_keys(study: Study) -> int:
    held = _dead(schema=9, host={"name": "a", "gpus": [0, 1]})
    return _add(study, system_attrs={LEASE: held})


def newer_attributes(study: Study) -> int:
    attrs = {"neurobo:plan": {"stages": [1, 2]}, "neurobo:member": ["wide", "new"],
             "neurobo:void:9": "x", LEASE: _dead()}  # fmt: skip
    return _add(study, system_attrs=attrs, user_attrs={"retry_of": 10**6, "attempt": 2.5})


def newer_mark_of_the_study(study: Study) -> int:
    set_study_system_attr(study, "neurobo:schema", {"version": 12})
    set_study_system_attr(study, "neurobo:void:0", {"numbers": [0]})
    return _add(study, system_attrs={LEASE: _dead()})


@pytest.mark.parametrize(
    "written",
    [older_lease_without_seconds, older_lease_of_a_person, newer_lease_with_more_keys,
     newer_attributes, newer_mark_of_the_study],
    ids=lambda made: made.__name__,
)  # fmt: skip
def test_a_run_goes_on_with_what_another_version_wrote(tmp_path: Path, written: Any) -> None:
    file = read(tmp_path, trials=4, top=TOP)
    _distributions.update(file.space.distributions)
    number = written(open_study(file))
    notes: list[str] = []
    study, why = runner.run(file, display=lambda _: Silent(), note=notes.append)
    assert why == ""
    assert study.trials[number].state == TrialState.FAIL
    assert any(f"trial {number} was lost" in note for note in notes)
    assert len([t for t in counting(study) if t.state == TrialState.COMPLETE]) == 4


def test_an_older_version_can_read_today_s_lease(tmp_path: Path) -> None:
    """It looks for these keys; others may come, none may go."""
    held = lease(60, by_process=True)
    assert {"until", "by_process", "pid", "place"} <= held.keys()
    file = read(tmp_path, trials=1, top=TOP)
    study = open_study(file)
    number = _add(study, system_attrs={LEASE: held})
    found = lease_of(study.trials[number])
    assert found is not None
    assert (found.pid, found.by_process) == (os.getpid(), True)
