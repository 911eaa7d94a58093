"""Results of trials: stored, accepted late, or corrected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from neurobo.errors import InvalidInput
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
    replaced,
)
from neurobo.integrations.optuna.leases import LEASE, lease
from neurobo.running.suggesting import ask
from neurobo.running.workers import Outcome


def tell_result(study: Study, number: int, outcome: Outcome) -> FrozenTrial:
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
    """A result of a trial that was given up. It takes the place of a retry that has not been
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
        f"trial {number} ran out of its lease and was retried as trial {again.number} "
        f"({again.state.name.lower()}); its late result is not taken, because the point would "
        "count twice"
    )
    return None


def correct_result(study: Study, number: int, outcome: Outcome) -> FrozenTrial:
    """Another result for a trial that has one already.

    Optuna does not let an ended trial be changed: a new trial with the same parameters gets the
    result and takes the place of the old one, which the model ignores and which does not count.
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


def known_trials(trials: Sequence[FrozenTrial]) -> str:
    """The end of a message about a number that no trial has."""
    if len(trials) < 2:
        return "but there is only trial 0" if trials else "but there is no trial yet"
    return f"but there are only trials 0 to {len(trials) - 1}"


def successor(study: Study, number: int) -> FrozenTrial | None:
    """The trial that stands in the place of trial `number`, or the last of them."""
    trials = study.get_trials(deepcopy=False)
    places, last = replaced(trials), number
    while last in places:
        last = places[last]
    return None if last == number else trials[last]
