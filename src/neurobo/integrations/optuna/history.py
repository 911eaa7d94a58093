"""An Optuna study as the history of a suggestion."""

from __future__ import annotations

import json
import math
from collections.abc import Container, Sequence

import numpy as np
from jaxtyping import Bool, Float
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from neurobo.data.trials import Trials
from neurobo.integrations.optuna.attributes import (
    MEMBER,
    VOID,
    constraints_of,
    is_crash,
    member_of,
    void_numbers,
)
from neurobo.integrations.optuna.compat import enqueued_params, store_if_free
from neurobo.space.search_space import Params, Space

# A RUNNING trial shows other workers only what its objective has asked for so far. The whole
# suggestion is stored with it, in pieces that fit Optuna's limit on attribute length.
_SUGGESTED = "neurobo:suggested"
_PIECE = 2045


def sign_of(study: Study) -> float:
    """What turns a study's values so that lower is better, and back: 1, or -1 if it maximises."""
    return -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0


def trials_of_study(
    study: Study,
    space: Space,
    *,
    without: int | None = None,
    trials: Sequence[FrozenTrial] | None = None,
) -> Trials:
    """A study's trials as history: its values turned so that lower is better, its failures kept
    as failures, its running and queued trials as pending points, its constraints by name. Points
    outside the space are left out. `trials` are all of the study, if they were read already."""
    trials = study.get_trials(deepcopy=False) if trials is None else trials
    sign = sign_of(study)
    params, values, pending, constraints, crashed, members = [], [], [], [], [], []
    pruned: list[bool] = []
    void = void_numbers(study, trials)
    for t in trials:
        if t.number == without or t.number in void:
            continue
        point = t.params if t.state.is_finished() else suggested(t)
        if not space.contains(point):
            continue
        if not t.state.is_finished():
            pending.append({name: point[name] for name in space.distributions if name in point})
        else:
            params.append(point)
            values.append(sign * _value(t))
            constraints.append(constraints_of(t))
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
    """All that was suggested to a trial, or that it was queued with, also what its objective has
    not asked for yet."""
    return {**enqueued_params(trial), **_stored(trial), **trial.params}


def reserve(
    study: Study,
    trial: FrozenTrial,
    space: Space,
    point: Params,
    member: str,
    known: Container[int] | None,
) -> bool:
    """Store the whole suggestion, so that other workers see it; False if another trial has the
    point. Trials of the numbers `known` do not; None: the point may be there twice."""

    def is_free(trials: Sequence[FrozenTrial]) -> bool:
        if known is None:
            return True
        others = [
            suggested(t) for t in trials if t.number not in known and VOID not in t.system_attrs
        ]
        taken = space.encode([one for one in others if space.contains(one)])
        near = np.abs(taken - space.encode([point])) <= space.tolerance
        return not np.any(np.all(near, axis=1))

    text = json.dumps(point)
    pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
    attrs = {f"{_SUGGESTED}:{i}": piece for i, piece in enumerate(pieces)}
    return store_if_free(study, trial, {**attrs, **({MEMBER: member} if member else {})}, is_free)


def _stored(trial: FrozenTrial) -> Params:
    pieces: list[str] = []
    while isinstance(piece := trial.system_attrs.get(f"{_SUGGESTED}:{len(pieces)}"), str):
        pieces.append(piece)
    try:
        found = json.loads("".join(pieces)) if pieces else {}
    except (ValueError, RecursionError):
        return {}  # not written to its end
    return found if isinstance(found, dict) else {}
