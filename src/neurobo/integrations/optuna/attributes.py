"""What an ended Optuna trial says about its point, beyond its value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from neurobo.integrations.optuna.compat import set_study_system_attr, study_system_attrs

FAILURE = "failure"
"""The user attribute in which a failed trial keeps its reason."""
INTERRUPTED = "interrupted"
"""The reason of a trial that was not evaluated to its end because the run stopped."""
VOID = "neurobo:void"
"""The system attribute of a failed trial that says nothing about its point: nobody evaluated it to
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
MEMBER = "neurobo:member"
"""The system attribute with the member of a portfolio that proposed the trial."""


def member_of(trial: FrozenTrial) -> str:
    """The member that proposed a trial, or ""."""
    return str(trial.system_attrs.get(MEMBER, ""))


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
        for mark in (RETRY_OF, CORRECTION_OF):
            number = trial.user_attrs.get(mark)
            if isinstance(number, int) and 0 <= number < trial.number:
                found[number] = trial.number
    return found


def void_numbers(study: Study) -> set[int]:
    """The numbers of the void trials, and of those whose place another trial has taken."""
    trials = study.get_trials(deepcopy=False)
    found = {t.number for t in trials if t.state == TrialState.FAIL and VOID in t.system_attrs}
    found.update(replaced(trials))
    for key, numbers in study_system_attrs(study).items():
        if key.startswith(f"{VOID}:"):
            found.update(numbers)
    return found


def counting(study: Study, trials: Sequence[FrozenTrial] | None = None) -> list[FrozenTrial]:
    """The ended trials of a study that count as evaluations: not void, not interrupted."""
    void = void_numbers(study)
    return [
        t
        for t in (study.get_trials(deepcopy=False) if trials is None else trials)
        if t.state.is_finished()
        and t.number not in void
        and t.user_attrs.get(FAILURE) != INTERRUPTED
    ]


def is_crash(trial: FrozenTrial) -> bool:
    """Whether the evaluation failed, rather than being stopped."""
    return trial.state == TrialState.FAIL and trial.user_attrs.get(FAILURE) != INTERRUPTED


def is_feasible(trial: FrozenTrial) -> bool:
    """Whether the constraints that the trial carries hold, as Optuna sees it."""
    return all(value <= 0 for value in trial.constraints.values())


def least_violating(trials: Sequence[FrozenTrial]) -> FrozenTrial | None:
    """The trial that is nearest to feasible, where each constraint counts in units of its spread
    over the trials."""
    total = np.zeros(len(trials))
    for name in sorted({name for t in trials for name in t.constraints}):
        values = np.array([t.constraints.get(name, np.nan) for t in trials])
        spread = float(np.nanstd(values)) or 1.0
        total += np.nan_to_num(np.maximum(values, 0.0)) / spread
    return trials[int(np.argmin(total))] if trials else None
