"""What a run says about evaluations that fail."""

from __future__ import annotations

import re
from collections.abc import Callable

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from neurobo.analysis.tally import short
from neurobo.integrations.optuna.attributes import FAILURE, OUTPUT

LINES, WIDTH = 8, 200
"""How much of an evaluation's output is shown."""
KINDS = 5
"""After so many kinds of failure a run only counts them."""


class FailureNotes:
    """A callback that shows the first failure of each kind, with the end of its output.

    Failures whose reasons differ only in numbers are of one kind.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._kinds: set[str] = set()

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        if trial.state != TrialState.FAIL or len(self._kinds) >= KINDS:
            return
        reason = str(trial.user_attrs.get(FAILURE, "no reason is known"))
        kind = re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", reason)
        if kind in self._kinds:
            return
        self._kinds.add(kind)
        printed = _last_lines(str(trial.user_attrs.get(OUTPUT, "")))
        shown = "; its output ends with" + printed if printed else ""
        self._note(f"trial {trial.number} failed: {short(reason)}{shown}")


def _last_lines(text: str) -> str:
    lines = [short(line.rstrip())[:WIDTH] for line in text.splitlines() if line.strip()]
    return "".join(f"\n    {line}" for line in lines[-LINES:])
