"""An Optuna study as the history of a suggestion."""

from __future__ import annotations

import json
import math

import numpy as np
from jaxtyping import Bool, Float
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from neurobo.data.trials import Trials
from neurobo.integrations.optuna.attributes import is_crash, member_of, void_numbers
from neurobo.integrations.optuna.compat import set_trial_system_attr
from neurobo.space.search_space import Params, Space

# A RUNNING trial shows other workers only what its objective has asked for so far. The whole
# suggestion is stored with it, in pieces that fit Optuna's limit on attribute length.
_SUGGESTED = "neurobo:suggested"
_PIECE = 2045


def sign_of(study: Study) -> float:
    """What turns a study's values so that lower is better, and back: 1, or -1 if it maximises."""
    return -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0


def trials_of_study(study: Study, space: Space, *, without: int | None = None) -> Trials:
    """A study's trials as history: its values turned so that lower is better, its failures kept
    as failures, its running trials as pending points, its constraints by name. Points outside the
    space are left out."""
    sign = sign_of(study)
    params, values, pending, constraints, crashed, members = [], [], [], [], [], []
    pruned: list[bool] = []
    void = void_numbers(study)
    for t in study.get_trials(deepcopy=False):
        if t.number == without or t.state == TrialState.WAITING or t.number in void:
            continue
        point = suggested(t) if t.state == TrialState.RUNNING else t.params
        if not space.contains(point):
            continue
        if t.state == TrialState.RUNNING:
            pending.append(point)
        else:
            params.append(point)
            values.append(sign * _value(t))
            constraints.append(t.constraints)
            crashed.append(is_crash(t))
            members.append(member_of(t))
            pruned.append(t.state == TrialState.PRUNED)
    values = _pessimistic(np.array(values), np.array(pruned, dtype=bool)).tolist()
    return Trials(params, values, pending, constraints, crashed, members, pruned)


def _value(trial: FrozenTrial) -> float:
    """Of a complete trial, or the last one that a pruned trial reported; else NaN."""
    if trial.state == TrialState.COMPLETE and trial.value is not None:
        return trial.value
    if trial.state == TrialState.PRUNED and trial.last_step is not None:
        return trial.intermediate_values[trial.last_step]
    return math.nan


def _pessimistic(
    values: Float[np.ndarray, " n"], pruned: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Pruned trials in the worse half of the complete ones: somebody judged them so, and what they
    reported early is not to be compared with the others' last values."""
    complete = values[~pruned & np.isfinite(values)]
    if not len(complete):
        return values
    return np.where(pruned, np.clip(values, np.median(complete), np.max(complete)), values)


def suggested(trial: FrozenTrial) -> Params:
    """All that was suggested to a trial, also what its objective has not asked for yet."""
    return {**_stored(trial), **trial.params}


def store_suggestion(study: Study, trial: FrozenTrial, params: Params) -> None:
    """Let other workers see the whole suggestion."""
    text = json.dumps(params)
    for i, at in enumerate(range(0, len(text), _PIECE)):
        piece = text[at : at + _PIECE]
        set_trial_system_attr(study, trial, f"{_SUGGESTED}:{i}", piece)


def _stored(trial: FrozenTrial) -> Params:
    pieces: list[str] = []
    while (piece := trial.system_attrs.get(f"{_SUGGESTED}:{len(pieces)}")) is not None:
        pieces.append(piece)
    try:
        found = json.loads("".join(pieces)) if pieces else {}
    except ValueError:
        return {}  # not written to its end
    return found if isinstance(found, dict) else {}
