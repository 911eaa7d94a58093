"""What a study amounts to so far: counts, the best feasible trial, times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from neurobo.integrations.optuna.attributes import (
    VOID,
    attempt_of,
    constraints_of,
    counting,
    is_feasible,
    is_interrupted,
    least_violating,
    replaced,
)
from neurobo.integrations.optuna.history import sign_of
from neurobo.integrations.optuna.leases import is_leased, seconds_left

SPARKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Tally:
    trials: Sequence[FrozenTrial]
    """Ended ones that count, by number."""
    running: Sequence[FrozenTrial]
    waiting: int
    void: int
    """Lost, interrupted, or failed by an error of the program: they do not count."""
    replaced: int
    """Results that were corrected, and failures that are evaluated again."""
    sign: float
    """What turns values so that lower is better: -1 if the study maximises."""

    @staticmethod
    def of(study: Study) -> Tally:
        everything = study.get_trials(deepcopy=False)
        trials = counting(study, everything)
        ended = sum(t.state.is_finished() for t in everything)
        exchanged = sum(map(_was_evaluated, (everything[i] for i in replaced(everything))))
        return Tally(
            trials=trials,
            running=[t for t in everything if t.state == TrialState.RUNNING],
            waiting=sum(t.state == TrialState.WAITING for t in everything),
            void=ended - len(trials) - exchanged,
            replaced=exchanged,
            sign=sign_of(study),
        )

    @property
    def maximize(self) -> bool:
        return self.sign < 0

    @property
    def complete(self) -> list[FrozenTrial]:
        return [t for t in self.trials if t.state == TrialState.COMPLETE]

    @property
    def failed(self) -> list[FrozenTrial]:
        return [t for t in self.trials if t.state == TrialState.FAIL]

    @property
    def feasible(self) -> list[FrozenTrial]:
        return [t for t in self.complete if is_feasible(t)]

    @property
    def constrained(self) -> bool:
        return any(constraints_of(t) for t in self.complete)

    def lower(self, trial: FrozenTrial) -> float:
        """The trial's value turned so that lower is better."""
        assert trial.value is not None
        return self.sign * trial.value

    @property
    def best(self) -> FrozenTrial | None:
        return min(self.feasible, key=self.lower, default=None)

    @property
    def nearest(self) -> FrozenTrial | None:
        """The trial that breaks the constraints least, if none is feasible."""
        return None if self.feasible else least_violating(self.complete)

    @property
    def retried(self) -> int:
        return sum(attempt_of(t) > 1 for t in self.trials)

    def best_so_far(self) -> list[tuple[int, float]]:
        """Number and value of every trial that was better than all before."""
        steps: list[tuple[int, float]] = []
        best = float("inf")
        for trial in self.feasible:
            if self.lower(trial) < best:
                best = self.lower(trial)
                steps.append((trial.number, float(trial.value or 0.0)))
        return steps

    def trend(self, width: int = 24) -> str:
        """The best value over the trials, as a row of small bars."""
        lows: list[float] = []
        for trial in self.feasible:
            lows.append(min([self.lower(trial), *lows[-1:]]))
        if len(lows) < 2 or lows[0] == lows[-1]:
            return ""
        some = [lows[round(i * (len(lows) - 1) / (width - 1))] for i in range(width)]
        low, high = some[-1], some[0]
        places = [round((v - low) / (high - low) * (len(SPARKS) - 1)) for v in some]
        return "".join(SPARKS[i] for i in places)


def _was_evaluated(trial: FrozenTrial) -> bool:
    """Whether a trial whose place another one has taken had been evaluated to its end."""
    return VOID not in trial.system_attrs and not is_interrupted(trial)


def elapsed(trial: FrozenTrial, now: datetime) -> float:
    return (now - trial.datetime_start).total_seconds() if trial.datetime_start else 0.0


def as_dict(tally: Tally) -> dict[str, Any]:
    """For scripts."""
    now = datetime.now()
    best = tally.best
    return {
        "complete": len(tally.complete),
        "failed": len(tally.failed),
        "running": [
            {
                "id": t.number,
                "seconds": round(elapsed(t, now), 1),
                "lease_left": round(seconds_left(t), 1) if is_leased(t) else None,
            }
            for t in tally.running
        ],
        "waiting": tally.waiting,
        "lost_or_interrupted": tally.void,
        "replaced": tally.replaced,
        "retried": tally.retried,
        "feasible": len(tally.feasible) if tally.constrained else None,
        "best": None
        if best is None
        else {"id": best.number, "value": best.value, "params": best.params},
    }


def duration(seconds: float) -> str:
    """Short and readable: 42 s, 5:03, 2:05:03."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def short(value: Any) -> str:
    """For a terminal: few digits, and no character that would do more than stand there."""
    if isinstance(value, float):
        return f"{value:.5g}"
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", "�", str(value))
