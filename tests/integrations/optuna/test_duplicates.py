"""Runners in lockstep: nobody evaluates a point that another one has."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import TrialState

import neurobo
from neurobo.integrations.optuna import sampler as samplers
from neurobo.integrations.optuna.attributes import RETRY_OF
from neurobo.integrations.optuna.history import trials_of_study
from neurobo.integrations.optuna.storage import opened
from neurobo.running.retries import give_up
from neurobo.space.search_space import Space
from neurobo.suggestion import Proposal, next_point

SPACE = {"n": neurobo.Int(0, 7), "c": neurobo.Categorical(["a", "b", "c", "d", "e", "f"])}
RUNNERS = 4


def _studies(folder: Path, shared: bool) -> list[Study]:
    """One for each runner, with a storage and a sampler of its own."""
    url = f"sqlite:///{folder}/s.db"
    optuna.create_study(storage=url, study_name="s")
    return [
        optuna.load_study(
            study_name="s",
            storage=opened(url) if shared else optuna.storages.RDBStorage(
                url, engine_kwargs={"connect_args": {"timeout": 60}}
            ),
            sampler=neurobo.NeuroSampler(
                neurobo.NeuralGreedy(width=16, gamma=2.0), seed=0, search_space=SPACE
            ),
        )
        for _ in range(RUNNERS)
    ]  # fmt: skip


def _point(trial: optuna.Trial) -> tuple[int, str]:
    return trial.suggest_int("n", 0, 7), trial.suggest_categorical(
        "c", ["a", "b", "c", "d", "e", "f"]
    )


@pytest.mark.parametrize("shared", [True, False], ids=["neurobo's storage", "Optuna's storage"])
def test_runners_in_lockstep_never_choose_the_same_point(
    shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All four choose from the same history, then all four store. 32 of 48 points are taken."""
    together = threading.Barrier(RUNNERS)
    rounds: dict[int, int] = Counter()

    def in_lockstep(space: Space, trials: Any, plan: Any, number: int) -> Proposal:
        # With one turn for all: the same history and the same random numbers.
        proposal = next_point(space, trials, plan, 3 if number < samplers.ANEW else number)
        me = threading.get_ident()
        rounds[me] += 1
        if rounds[me] == 1:
            together.wait(timeout=60)
        return proposal

    monkeypatch.setattr(samplers, "next_point", in_lockstep)
    studies = _studies(tmp_path, shared)
    points: list[tuple[int, str]] = []

    def work(study: Study) -> tuple[optuna.Trial, tuple[int, str]]:
        trial = study.ask()
        return trial, _point(trial)

    with ThreadPoolExecutor(RUNNERS) as pool:
        for _ in range(8):
            rounds.clear()
            began = list(pool.map(work, studies))
            points += [point for _, point in began]
            for study, (trial, point) in zip(studies, began, strict=True):
                study.tell(trial, float(point[0]))
    assert len(points) == 8 * RUNNERS
    assert Counter(points).most_common(1)[0][1] == 1, Counter(points).most_common(3)


def test_a_point_that_waits_to_be_retried_is_not_suggested_to_others(tmp_path: Path) -> None:
    """The turn of the lost trial goes to the next one: with the same history and the same random
    numbers it would choose the very same point."""
    study = _studies(tmp_path, shared=True)[0]
    for _ in range(6):
        trial = study.ask()
        study.tell(trial, float(_point(trial)[0]))
    lost = study.ask()
    point = _point(lost)
    space = Space.of(SPACE)
    next_one = study._storage.create_new_trial(study._study_id)  # another runner's, begun before
    assert give_up(study, study.trials[lost.number], space, 1, "lost: died")
    waiting = study.get_trials(states=(TrialState.WAITING,))
    assert [t.user_attrs[RETRY_OF] for t in waiting] == [lost.number]
    assert {"n": point[0], "c": point[1]} in trials_of_study(study, space).pending
    assert _point(optuna.Trial(study, next_one)) != point
