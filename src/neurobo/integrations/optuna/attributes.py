"""What Optuna trials say beyond their values: neurobo's marks, and how they are read.

Anybody can write into a study. What has not the form that neurobo writes is read as absent, here
and in `leases`, so that one bad attribute stops no process.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from neurobo.integrations.optuna.compat import (
    recent,
    set_study_system_attr,
    study_system_attrs,
)

FAILURE = "failure"
"""The user attribute in which a failed trial keeps its reason."""
INTERRUPTED = "interrupted"
"""The reason of a trial that was not evaluated to its end because the run stopped."""
CANCELLED = "cancelled"
"""The reason of a trial whose evaluation somebody cancelled where it ran."""
VOID = "neurobo:void"
"""The system attribute of a failed trial that says nothing about its point: it was not evaluated to
its end, and another trial takes its turn. Optuna does not change trials that have ended; those that
become void later are listed in a system attribute of the study (`mark_void`)."""
RETRY_OF = "retry_of"
"""The user attribute of a trial that evaluates the point of another one again: that one's number.
"""
CORRECTION_OF = "correction_of"
"""The user attribute of a trial that corrects the result of another one: that one's number."""
LATE_FOR = "late_result_of"
"""The user attribute of a trial that holds the late result of another one: that one's number."""
OUTPUT = "output"
"""The user attribute with the end of what a failed evaluation printed."""
SOURCE = "imported_from"
"""The user attribute of an imported trial: the file's name, a digest of its content, the line."""
ATTEMPT = "attempt"
"""The user attribute that counts how often the point was begun."""
ID = "id"
"""The user attribute with the id of a pool's candidate."""
RESERVED = frozenset({FAILURE, RETRY_OF, CORRECTION_OF, LATE_FOR, OUTPUT, SOURCE, ATTEMPT})
"""User attributes that mean something to neurobo: objectives may not set them."""
MEMBER = "neurobo:member"
"""The system attribute with the member of a portfolio that proposed the trial."""


def member_of(trial: FrozenTrial) -> str:
    """The member that proposed a trial, or ""."""
    return str(trial.system_attrs.get(MEMBER, ""))


def failure_of(trial: FrozenTrial) -> str:
    """The reason of a failed trial, or ""."""
    found = trial.user_attrs.get(FAILURE) if trial.state == TrialState.FAIL else None
    return "" if found is None else str(found)


def is_interrupted(trial: FrozenTrial) -> bool:
    """Whether a trial was not evaluated to its end because somebody stopped the run, or it."""
    return failure_of(trial) in (INTERRUPTED, CANCELLED)


def attempt_of(trial: FrozenTrial) -> int:
    """How often the point was begun, with this time."""
    found = trial.user_attrs.get(ATTEMPT)
    return found if _is_count(found) and found > 0 else 1


def number_in(trial: FrozenTrial, mark: str) -> int | None:
    """The number of an earlier trial that a mark names."""
    found = trial.user_attrs.get(mark)
    return found if _is_count(found) and 0 <= found < trial.number else None


def _is_count(found: Any) -> TypeGuard[int]:
    return isinstance(found, int) and not isinstance(found, bool)


def mark_void(study: Study, numbers: Sequence[int]) -> None:
    """Make failed trials void after they have ended."""
    # A key of their own: runs that do this at the same moment do not overwrite each other's.
    set_study_system_attr(study, f"{VOID}:{numbers[0]}", list(numbers))


def replaced(trials: Iterable[FrozenTrial]) -> dict[int, int]:
    """Which trial stands in the place of which, by their numbers.

    Optuna does not let an ended trial be changed, so the new one says whose place it takes.
    """
    found = {}
    for trial in trials:
        for mark in (RETRY_OF, CORRECTION_OF) if trial.user_attrs else ():
            number = number_in(trial, mark)
            if number is not None:
                found[number] = trial.number
    return found


def void_numbers(study: Study, trials: Sequence[FrozenTrial] | None = None) -> set[int]:
    """The numbers of the void trials, and of those whose place another trial has taken. `trials`
    are all of the study, if they were read already."""
    trials = study.get_trials(deepcopy=False) if trials is None else trials
    found = {t.number for t in trials if t.state == TrialState.FAIL and VOID in t.system_attrs}
    found.update(replaced(trials))
    with recent(study, math.inf):  # as old as the trials
        attrs = study_system_attrs(study)
    for key, numbers in attrs.items():
        if key.startswith(f"{VOID}:") and isinstance(numbers, list):
            found.update(filter(_is_count, numbers))
    return found


def counting(study: Study, trials: Sequence[FrozenTrial] | None = None) -> list[FrozenTrial]:
    """The ended trials of a study that count as evaluations: not void, not interrupted. `trials`
    are all of the study, if they were read already."""
    trials = study.get_trials(deepcopy=False) if trials is None else trials
    void = void_numbers(study, trials)
    return [
        t
        for t in trials
        if t.state.is_finished() and t.number not in void and not is_interrupted(t)
    ]


def counts(trial: FrozenTrial) -> bool:
    """Whether a trial that has just ended counts as an evaluation."""
    return VOID not in trial.system_attrs and not is_interrupted(trial)


def is_crash(trial: FrozenTrial) -> bool:
    """Whether the evaluation failed, rather than being stopped."""
    return trial.state == TrialState.FAIL and not is_interrupted(trial)


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """The constraints that a trial carries, by name, as far as they are numbers."""
    found = trial.constraints.items()
    return {name: c for name, c in found if isinstance(c, int | float) and not isinstance(c, bool)}


def is_feasible(trial: FrozenTrial) -> bool:
    """Whether the constraints that the trial carries hold, as Optuna sees it."""
    return all(value <= 0 for value in constraints_of(trial).values())


def least_violating(trials: Sequence[FrozenTrial]) -> FrozenTrial | None:
    """The trial that is nearest to feasible, where each constraint counts in units of its spread
    over the trials."""
    total = np.zeros(len(trials))
    known = [constraints_of(trial) for trial in trials]
    for name in sorted({name for one in known for name in one}):
        values = np.array([one.get(name, np.nan) for one in known])
        spread = float(np.nanstd(values)) or 1.0
        total += np.nan_to_num(np.maximum(values, 0.0)) / spread
    return trials[int(np.argmin(total))] if trials else None
