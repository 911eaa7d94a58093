"""People in the loop: take a point, bring its value back; and results that come late."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from optuna.study import Study

from neurobo.errors import InvalidInput, SpaceExhausted, check_choice
from neurobo.integrations.optuna.history import trials_of_study
from neurobo.integrations.optuna.leases import lease
from neurobo.running.suggesting import suggest_all
from neurobo.running.workers import Outcome
from neurobo.space.search_space import Params
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.runner.lease import give_up_expired, new_trial
from neurobo.studies.runner.store import suggesting
from neurobo.suggestion import is_exhausted


class Asked(NamedTuple):
    id: int
    params: dict[str, Any]
    until: float
    """When its lease runs out, in seconds since 1970."""


def ask_points(
    file: StudyFile,
    study: Study,
    n: int,
    hours: float | None = None,
    fixed: Params | None = None,
) -> list[Asked]:
    """Reserve the next `n` points; with `fixed` the best rest for these values of parameters."""
    table = file.table
    space = file.space.holding(fixed) if fixed else file.space
    suggesting(file, study)
    give_up_expired(study, file.space, table.retries)
    seconds = 3600 * (table.lease.ask_hours if hours is None else hours)
    found: list[Asked] = []
    for _ in range(n):
        if space.n_points < math.inf and is_exhausted(space, trials_of_study(study, space)):
            if not found:
                raise SpaceExhausted(
                    f"every point must be asked for only once, and all {space.n_points:.0f} are "
                    "evaluated or reserved"
                )
            break
        held = lease(seconds, by_process=False)
        trial = new_trial(study, space, held, fixed)
        params = suggest_all(trial, space)
        found.append(Asked(trial.number, params, held["until"]))
    return found


def outcome_told(
    value: float | None, constraints: Mapping[str, float], failed: str | None, names: list[str]
) -> Outcome:
    """What somebody says on the command line, checked."""
    if (value is None) == (failed is None):
        raise InvalidInput(
            "a result must be either a value or a reason for its failure, got "
            + ("neither" if value is None else f"{value!r} and {failed!r}")
        )
    for name, number in constraints.items():
        check_choice("a constraint", name, names)
        if not math.isfinite(number):
            raise InvalidInput(f"the constraint {name!r} must be a finite number, got {number}")
    if failed is not None:
        if not failed.strip():
            raise InvalidInput("the reason of a failure must not be empty, got nothing")
        return Outcome(failure=failed, constraints=constraints)
    assert value is not None
    if not math.isfinite(value):
        raise InvalidInput(f"the value must be a finite number, got {value}")
    missing = [name for name in names if name not in constraints]
    if missing:
        raise InvalidInput(f"a result must give the constraints {names}, got none for {missing}")
    return Outcome(value=value, constraints=constraints)
