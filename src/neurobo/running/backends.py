"""Where the trials of a run live: a study of its own, or one that others work on, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from neurobo.integrations.optuna.attributes import FAILURE, counting, counts
from neurobo.integrations.optuna.compat import finish_trial, outage_of, stored_trial
from neurobo.running.retries import give_up
from neurobo.running.spool import Spool
from neurobo.running.workers import Outcome
from neurobo.space.search_space import Space

if TYPE_CHECKING:
    from neurobo.running.loop import Run

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

    def serve(self, loop: Run) -> None:
        """Hear whose trials these are: results of this run are kept while the storage is away."""
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
    """A study that no other process works on."""

    patience = None

    def __init__(
        self, study: Study, space: Space, retries: int, spool: Spool | None = None
    ) -> None:
        self.study = study
        self.finished = len(counting(study))
        self._space, self._retries = space, retries
        self._spool = spool
        self._loop: Run | None = None

    def serve(self, loop: Run) -> None:
        self._loop = loop
        outage = outage_of(self.study)
        if outage is not None:
            outage.meanwhile, outage.waits_for_space = self._keep_results, True

    def _keep_results(self) -> None:
        if self._spool is not None and self._loop is not None:
            self._loop.keep_results(self._spool)

    def look_around(self) -> None:
        pass

    def begun(self, own: int) -> int:
        return self.finished + own

    def ask(self) -> Trial | None:
        return self.study.ask()

    def tell(self, trial: Trial, outcome: Outcome) -> FrozenTrial | None:
        if outcome.lost:
            self._give_up(trial, f"lost: {outcome.failure}")
        elif outcome.failure:
            self._fail(trial, outcome.failure, outcome.constraints)
        else:
            finish_trial(
                self.study, trial, TrialState.COMPLETE, [outcome.value],
                constraints=outcome.constraints,
            )  # fmt: skip
        told = stored_trial(self.study, trial)
        self.finished += counts(told)
        if self._spool is not None:
            self._spool.forget(trial.number)  # last: every call above may keep it once more
        return told

    def _give_up(self, trial: Trial, reason: str) -> None:
        stored = stored_trial(self.study, trial)
        give_up(self.study, stored, self._space, self._retries, reason)

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
        return not_waiting(self.study, self._keep_results)


@contextmanager
def not_waiting(study: Study, keep_results: Callable[[], None]) -> Iterator[None]:
    """Leave the block if the storage is away, after `keep_results`; a run that ends does not wait
    for it any more."""
    outage = outage_of(study)
    if outage is None:
        yield
        return
    outage.meanwhile = keep_results  # without an answer to signals: the run ends already
    with outage.impatient(0.0 if outage.away else LEAVING):
        try:
            yield
        except Exception as error:
            if not outage.is_worth_waiting(error):
                raise
            keep_results()
