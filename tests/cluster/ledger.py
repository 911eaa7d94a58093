"""An objective that writes what it evaluates to a file, and the check of a study against it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from neurobo.integrations.optuna.attributes import RETRY_OF, counting, failure_of

SPACE = {"x": (-5.0, 5.0), "y": (-5.0, 5.0)}
HEAVY = ("jax", "optuna", "neurobo.suggestion", "neurobo.space", "neurobo.algorithm")
"""What workers shall not import."""


def objective(path: Path, seconds: float) -> Callable[[dict[str, float]], float]:
    """Sent by value: a worker need not know this module."""
    name = str(path)

    def evaluate(p: dict[str, float]) -> float:
        import json
        import os
        import sys
        import time

        time.sleep(seconds)
        value = (p["x"] - 1) ** 2 + p["y"] ** 2
        heavy = [m for m in ("jax", "optuna", "neurobo.suggestion", "neurobo.space",
                             "neurobo.algorithm") if m in sys.modules]  # fmt: skip
        entry = {"point": [p["x"], p["y"]], "value": value, "pid": os.getpid(), "heavy": heavy}
        file = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, (json.dumps(entry) + "\n").encode())
        os.close(file)
        return value

    return evaluate


def entries(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line[-1:]]


class Enemy:
    """A callback that strikes once, when so many trials have been told; it remembers all that were
    acknowledged."""

    def __init__(self, after: int, strike: Callable[[], None]) -> None:
        self.after, self.strike, self.told = after, strike, list[FrozenTrial]()

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        self.told.append(trial)
        if len(self.told) == self.after:
            self.strike()


def check(study: Study, enemy: Enemy, ledger: Path, trials: int) -> Counter[str]:
    """Nothing acknowledged is lost, no point counts twice, every loss is retried."""
    written = entries(ledger)
    counted = counting(study)
    assert len(counted) == trials
    assert all(t.state == TrialState.COMPLETE for t in counted)
    assert all(t.state.is_finished() for t in study.trials)
    now = {t.number: t.value for t in study.trials}
    for trial in enemy.told:
        assert now[trial.number] == trial.value
    points = Counter((t.params["x"], t.params["y"]) for t in counted)
    assert max(points.values()) == 1
    evaluated = {tuple(entry["point"]): entry["value"] for entry in written}
    for trial in counted:
        assert evaluated[trial.params["x"], trial.params["y"]] == trial.value
    assert not any(entry["heavy"] for entry in written)
    lost = [t for t in study.trials if failure_of(t).startswith("lost")]
    retried = {t.user_attrs[RETRY_OF] for t in study.trials if RETRY_OF in t.user_attrs}
    assert {t.number for t in lost} <= retried
    times = Counter(tuple(entry["point"]) for entry in written)
    return Counter({
        "acknowledged": len(enemy.told), "lost and retried": len(lost),
        "evaluated twice": sum(count > 1 for count in times.values()),
        "workers": len({entry["pid"] for entry in written}),
    })  # fmt: skip


def wait_until(what: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.1)
