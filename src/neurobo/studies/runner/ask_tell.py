"""People in the loop: take a point, bring its value back; and results that come late."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from neurobo.errors import InvalidInput, SpaceExhausted, check_choice
from neurobo.integrations.optuna import compat
from neurobo.integrations.optuna.attributes import (
    CORRECTION_OF,
    FAILURE,
    LATE_FOR,
    MEMBER,
    OUTPUT,
    RETRY_OF,
    failure_of,
    member_of,
    number_in,
)
from neurobo.integrations.optuna.history import trials_of_study
from neurobo.integrations.optuna.leases import LEASE, lease
from neurobo.running.loop import ask, suggest_all
from neurobo.running.workers import Outcome
from neurobo.space.search_space import Params
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.runner.lease import give_up_expired, known_trials, new_trial, successor
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


def tell_result(file: StudyFile, study: Study, number: int, outcome: Outcome) -> FrozenTrial:
    """The result of a trial. One that comes late counts if nothing has replaced the trial."""
    trial = _trial(study, number)
    if trial.state == TrialState.WAITING:
        raise InvalidInput(f"trial {number} must be asked for before its result is told")
    try:
        record(study, trial, outcome)
        return compat.stored_trial(study, trial)
    except UpdateFinishedTrialError:
        told = accept_late(study, number, outcome, _refuse)
        assert told is not None
        return told


def _refuse(reason: str) -> None:
    raise InvalidInput(reason)


def record(
    study: Study,
    trial: Trial | FrozenTrial,
    outcome: Outcome,
    user_attrs: Mapping[str, Any] | None = None,
) -> None:
    """Store a result; UpdateFinishedTrialError if the trial has ended meanwhile."""
    compat.finish_trial(
        study,
        trial,
        TrialState.FAIL if outcome.failure else TrialState.COMPLETE,
        None if outcome.failure else [outcome.value],
        user_attrs={**(user_attrs or {}), **_marks(outcome)},
        constraints=outcome.constraints,
    )


def _marks(outcome: Outcome) -> dict[str, Any]:
    own = {FAILURE: outcome.failure, OUTPUT: outcome.output}
    return {**(outcome.attrs or {}), **{name: text for name, text in own.items() if text}}


def accept_late(
    study: Study, number: int, outcome: Outcome, refuse: Callable[[str], None]
) -> FrozenTrial | None:
    """A result of a trial that was given up. It takes the place of a repetition that nobody has
    begun, or becomes a trial of its own if there is no repetition."""
    trials = study.get_trials(deepcopy=False)
    trial = trials[number]
    reason = failure_of(trial)
    if trial.state == TrialState.COMPLETE:
        refuse(
            f"trial {number} has its result already: {trial.value!r}, got another one; "
            "`neurobo tell --replace` corrects it"
        )
        return None
    if not reason.startswith("lost"):
        ended = reason or trial.state.name
        refuse(
            f"trial {number} has ended already: {ended}, got another result; "
            "`neurobo tell --replace` corrects it"
        )
        return None
    again = successor(study, number)
    if again is None:
        told = [t.number for t in trials if number_in(t, LATE_FOR) == number]
        if told:
            refuse(f"the late result of trial {number} is known already, as trial {told[0]}")
            return None
        return _add(study, trial, outcome, {LATE_FOR: number})
    # For as long as it takes to write the result: should this process die, the lease ends.
    held = lease(60.0, by_process=True)
    if again.state == TrialState.WAITING and compat.claim_trial(study, again, {LEASE: held}):
        params, live = compat.enqueued_params(again), compat.live_trial(study, again)
        with compat.bundled(study):
            for name, distribution in trial.distributions.items():
                if name in params:
                    ask(live, name, distribution)
        record(study, again, outcome, {LATE_FOR: number})
        return compat.stored_trial(study, again)
    refuse(
        f"trial {number} ran out of its lease and was begun again as trial {again.number} "
        f"({again.state.name.lower()}); its late result is not taken, because the point would "
        "count twice"
    )
    return None


def correct_result(study: Study, number: int, outcome: Outcome) -> FrozenTrial:
    """Another result for a trial that has one already.

    Optuna does not let an ended trial be changed: a new trial with the same parameters gets the
    result and takes the place of the old one, which teaches nothing any more and does not count.
    """
    trial = successor(study, number) or _trial(study, number)
    if not trial.state.is_finished():
        again = "" if trial.number == number else f", as trial {trial.number}"
        raise InvalidInput(
            f"only a result that was told can be replaced, got trial {number}, which is "
            f"{trial.state.name.lower()}{again}"
        )
    if not trial.params:
        raise InvalidInput(f"trial {number} was lost before it had a point, got a result for it")
    kept = {
        name: value
        for name, value in trial.user_attrs.items()
        if name not in (FAILURE, OUTPUT, RETRY_OF, LATE_FOR)
    }
    member = {MEMBER: member_of(trial)} if member_of(trial) else {}
    return _add(study, trial, outcome, {**kept, CORRECTION_OF: trial.number}, member)


def _trial(study: Study, number: int) -> FrozenTrial:
    trials = study.get_trials(deepcopy=False)
    if not 0 <= number < len(trials):
        raise InvalidInput(
            f"a result must belong to a trial of the study, got {number}, {known_trials(trials)}"
        )
    return trials[number]


def _add(
    study: Study,
    trial: FrozenTrial,
    outcome: Outcome,
    user_attrs: Mapping[str, Any],
    system_attrs: dict[str, Any] | None = None,
) -> FrozenTrial:
    """A trial of its own for a result, at the point of `trial`."""
    state = TrialState.FAIL if outcome.failure else TrialState.COMPLETE
    study.add_trial(
        create_trial(
            state=state,
            value=None if outcome.failure else outcome.value,
            params=trial.params,
            distributions=trial.distributions,
            user_attrs={**user_attrs, **_marks(outcome)},
            system_attrs=system_attrs,
            constraints=dict(outcome.constraints or {}),
        )
    )
    return study.get_trials(deepcopy=False)[-1]


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
