"""Ask, tell, die, expire, retry and come late, in any order and from several threads."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)
from optuna.study import Study
from optuna.trial import TrialState
from studies.made import read

from neurobo.analysis.tally import Tally
from neurobo.errors import InvalidInput
from neurobo.integrations.optuna.attributes import RETRY_OF, VOID, attempt_of, replaced
from neurobo.integrations.optuna.compat import set_trial_system_attr, storage_of
from neurobo.integrations.optuna.history import suggested
from neurobo.integrations.optuna.leases import LEASE, lease
from neurobo.running.results import accept_late, tell_result
from neurobo.running.suggesting import suggest_all
from neurobo.running.workers import Outcome
from neurobo.studies.runner.lease import give_up_expired, new_trial, retry
from neurobo.studies.runner.store import open_study

RUNNERS, RETRIES = 3, 2
SPACE = 'n = { type = "int", low = 0, high = 300 }\nc = { choices = ["a", "b", "c"] }'
runners = st.integers(0, RUNNERS - 1)
values = st.floats(-1e6, 1e6)


class SharedStudy(RuleBasedStateMachine):
    """Three runners with storages of their own, and what they have been told."""

    running = Bundle("running")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.file = read(self.folder, trials=1000, space=SPACE, top="n_startup_trials = 10_000\n")
        self.studies: list[Study] = [open_study(self.file) for _ in range(RUNNERS)]
        self.pool = ThreadPoolExecutor(RUNNERS)
        self.points: dict[int, dict[str, Any]] = {}
        self.told: dict[int, float | None] = {}
        """Acknowledged results by trial; None: a failure."""
        self.lost: set[int] = set()
        """Trials whose lease will never be renewed."""

    def teardown(self) -> None:
        self.pool.shutdown()
        for study in self.studies:
            storage_of(study)._backend.engine.dispose()  # type: ignore[attr-defined]
        shutil.rmtree(self.folder)

    def _ask(self, runner: int) -> int:
        study = self.studies[runner]
        trial = new_trial(study, self.file.space, lease(3600, by_process=False))
        self.points[trial.number] = suggest_all(trial, self.file.space)
        return trial.number

    @rule(target=running, runner=runners)
    def ask(self, runner: int) -> int:
        return self._ask(runner)

    @rule(target=running)
    def ask_together(self) -> Any:
        return multiple(*self.pool.map(self._ask, range(RUNNERS)))

    @rule(trial=running, runner=runners, value=st.one_of(values, st.none()))
    def tell(self, trial: int, runner: int, value: float | None) -> None:
        """By any runner, whether it is known already, lost, or begun again."""
        study = self.studies[runner]
        outcome = Outcome(failure="broken") if value is None else Outcome(value)
        try:
            told = tell_result(study, trial, outcome)
        except InvalidInput:
            state = study.trials[trial].state
            assert state in (TrialState.COMPLETE, TrialState.FAIL)
            return
        assert told.number not in self.told
        assert self.points[trial] == told.params
        self.points[told.number] = told.params
        self.told[told.number] = value

    @rule(trials=st.lists(running, min_size=2, max_size=3, unique=True), value=values)
    def tell_together(self, trials: list[int], value: float) -> None:
        """All at the same moment, and each twice: only one of the two is taken."""
        pairs = list(itertools.product(trials, range(2)))

        def one(pair: tuple[int, int]) -> int | None:
            number, runner = pair
            try:
                outcome = Outcome(value + runner)
                return tell_result(self.studies[runner], number, outcome).number
            except InvalidInput:
                return None

        for (number, runner), told in zip(pairs, list(self.pool.map(one, pairs)), strict=True):
            if told is not None:
                assert told not in self.told
                self.told[told] = value + runner
                self.points[told] = self.points[number]

    @rule(trial=running, dies=st.booleans())
    def lose(self, trial: int, dies: bool) -> None:
        """Its runner is killed, or sleeps through the lease."""
        study = self.studies[0]
        stored = study.trials[trial]
        if stored.state != TrialState.RUNNING:
            return
        dead = lease(3600, by_process=True)
        dead["place"] += "0"
        held = dead if dies else {"until": time.time() - 1, "by_process": False}
        set_trial_system_attr(study, stored, LEASE, held)
        self.lost.add(trial)

    @precondition(lambda self: self.lost)
    @rule()
    def sweep_together(self) -> None:
        """All runners look for lost trials at the same moment: each is given up once."""

        def sweep(study: Study) -> list[int]:
            return give_up_expired(study, self.file.space, RETRIES)

        swept = [n for numbers in self.pool.map(sweep, self.studies) for n in numbers]
        assert len(swept) == len(set(swept))
        assert set(swept) <= self.lost
        self.lost.clear()
        trials = self.studies[0].trials
        successors = [t for t in trials if t.user_attrs.get(RETRY_OF) in swept]
        again = {t.user_attrs[RETRY_OF] for t in successors}
        assert len(again) == len(successors)
        for number in swept:
            assert (number in again) == (VOID in trials[number].system_attrs)
            assert (number in again) == (attempt_of(trials[number]) <= RETRIES)

    @rule(runner=runners)
    def retry_failures(self, runner: int) -> None:
        retry(self.studies[runner], self.file.space)

    @rule(trial=running, runner=runners, value=values)
    def come_late(self, trial: int, runner: int, value: float) -> None:
        """A result for a trial that was given up, from a runner that does not know it."""
        study = self.studies[runner]
        if study.trials[trial].state == TrialState.FAIL:
            told = accept_late(study, trial, Outcome(value), lambda _: None)
            if told is not None:
                assert told.number not in self.told
                self.told[told.number] = value
                self.points[told.number] = told.params

    @invariant()
    def nothing_is_lost_and_nobody_is_twice(self) -> None:
        trials = self.studies[0].get_trials(deepcopy=False)
        for number, value in self.told.items():
            assert trials[number].value == value
            assert trials[number].state == (
                TrialState.FAIL if value is None else TrialState.COMPLETE
            )
        complete = {t.number for t in trials if t.state == TrialState.COMPLETE}
        assert complete == {number for number, value in self.told.items() if value is not None}
        # Nobody works on a point that somebody else works on.
        open_points = [suggested(t) for t in trials if not t.state.is_finished()]
        assert all(open_points.count(point) == 1 for point in open_points)
        # A trial stands in the place of at most one other.
        marks = [t.user_attrs[RETRY_OF] for t in trials if RETRY_OF in t.user_attrs]
        assert len(marks) == len(set(marks)) == len(replaced(trials))
        tally = Tally.of(self.studies[1])
        ended = [t for t in trials if t.state.is_finished()]
        assert len(tally.trials) + tally.void + tally.replaced == len(ended)


def _machine(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        SharedStudy,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip


def test_a_few_histories() -> None:
    _machine(8, 15)


@pytest.mark.faults
def test_many_histories() -> None:
    _machine(150, 40)
