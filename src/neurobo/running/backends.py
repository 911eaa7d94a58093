"""Where the trials of a run live: a study of its own, or one that others work on, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from neurobo.integrations.optuna.attributes import FAILURE, counting
from neurobo.integrations.optuna.compat import finish_trial, outage_of, stored_trial
from neurobo.integrations.optuna.outage import is_away
from neurobo.running.workers import Outcome

LEAVING = 10.0
"""Seconds that a run which ends waits for its storage."""


class TrialBackend(Protocol):
    """Where a run's trials live."""

    study: Study
    finished: int
    """Trials that have ended and count."""

    @property
    def patience(self) -> float | None:
        """Seconds after which the loop looks around again while it waits; None: no need."""
        ...

    def look_around(self) -> None:
        """See what others have done meanwhile."""
        ...

    def begun(self, own: int) -> int:
        """How many trials have ended or begun; `own` are those of this run that have not ended."""
        ...

    def ask(self) -> Trial | None:
        """A new trial, or None if others were faster and the last one is already begun."""
        ...

    def tell(self, trial: Trial, outcome: Outcome) -> FrozenTrial | None:
        """None if the trial was not this run's any more."""
        ...

    def abandon(self, trial: Trial, reason: str) -> None:
        """A trial that will not be evaluated to its end."""
        ...

    def release(self, trial: Trial) -> None:
        """A trial that others have given up: it is not this run's any more."""
        ...

    def wait_for_others(self) -> bool:
        """Whether trials that others evaluate are worth waiting for; waits a little if so."""
        ...

    def leaving(self) -> AbstractContextManager[None]:
        """The run ends in this block, and does not wait for a storage that is away."""
        ...


class LocalBackend:
    """A study that nobody else works on."""

    patience = None

    def __init__(self, study: Study) -> None:
        self.study = study
        self.finished = len(counting(study))

    def look_around(self) -> None:
        pass

    def begun(self, own: int) -> int:
        return self.finished + own

    def ask(self) -> Trial | None:
        return self.study.ask()

    def tell(self, trial: Trial, outcome: Outcome) -> FrozenTrial | None:
        self.finished += 1
        if outcome.failure:
            self._fail(trial, outcome.failure, outcome.constraints)
        else:
            finish_trial(
                self.study, trial, TrialState.COMPLETE, [outcome.value],
                constraints=outcome.constraints,
            )  # fmt: skip
        return stored_trial(self.study, trial)

    def abandon(self, trial: Trial, reason: str) -> None:
        self._fail(trial, reason)

    def _fail(
        self, trial: Trial, reason: str, constraints: Mapping[str, float] | None = None
    ) -> None:
        finish_trial(
            self.study, trial, TrialState.FAIL,
            user_attrs={FAILURE: reason}, constraints=constraints,
        )  # fmt: skip

    def release(self, trial: Trial) -> None:
        pass

    def wait_for_others(self) -> bool:
        return False

    def leaving(self) -> AbstractContextManager[None]:
        return not_waiting(self.study)


@contextmanager
def not_waiting(study: Study) -> Iterator[None]:
    """Leave the block if the storage is away; a run that ends does not wait for it any more."""
    outage = outage_of(study)
    if outage is None:
        yield
        return
    with outage.impatient(0.0 if outage.away else LEAVING):
        try:
            yield
        except Exception as error:
            if not is_away(error):
                raise
