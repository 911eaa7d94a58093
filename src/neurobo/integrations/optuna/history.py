"""An Optuna study as the history of a suggestion."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

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


class _Row(NamedTuple):
    """What one trial says."""

    point: Params
    value: float = math.nan
    constraints: Mapping[str, float] = {}
    crashed: bool = False
    member: str = ""
    pruned: bool = False
    ended: bool = False
    x: np.ndarray | None = None
    """The point as the space encodes it."""


class ReadTrials:
    """Remembers what trials say in a space. A storage gives a trial that has changed as another
    object, so that only those are read again."""

    def __init__(self) -> None:
        self._space: Space | None = None
        self._rows: dict[int, tuple[FrozenTrial, _Row | None]] = {}

    def rows(self, study: Study, space: Space, trials: Sequence[FrozenTrial]) -> list[_Row | None]:
        if space is not self._space:
            self._space, self._rows = space, {}
        sign, known = sign_of(study), self._rows
        new = [t for t in trials if t.number not in known or known[t.number][0] is not t]
        read = [_row(t, space, sign) for t in new]
        encoded = iter(space.encode([row.point for row in read if row is not None]))
        for trial, row in zip(new, read, strict=True):
            known[trial.number] = (trial, row and row._replace(x=next(encoded)))
        return [known[t.number][1] for t in trials]


def trials_of_study(
    study: Study,
    space: Space,
    *,
    without: int | None = None,
    trials: Sequence[FrozenTrial] | None = None,
    read: ReadTrials | None = None,
) -> Trials:
    """A study's trials as history: its values turned so that lower is better, its failures kept
    as failures, its running and queued trials as pending points, its constraints by name. Points
    outside the space are left out. `trials` are all of the study, if they were read already; `read`
    remembers what they say."""
    trials = study.get_trials(deepcopy=False) if trials is None else trials
    void = void_numbers(study, trials)
    counted = [t for t in trials if t.number != without and t.number not in void]
    rows = [row for row in (read or ReadTrials()).rows(study, space, counted) if row is not None]
    ended, pending = [row for row in rows if row.ended], [row for row in rows if not row.ended]
    pruned = [row.pruned for row in ended]
    values = np.array([row.value for row in ended])
    return Trials(
        [row.point for row in ended],
        _pessimistic(values, np.array(pruned, dtype=bool)).tolist(),
        [row.point for row in pending],
        [row.constraints for row in ended],
        [row.crashed for row in ended],
        [row.member for row in ended],
        pruned,
        encoded=(_stacked(space, ended), _stacked(space, pending)),
    )


def _row(trial: FrozenTrial, space: Space, sign: float) -> _Row | None:
    """None for a point outside the space."""
    if not trial.state.is_finished():
        point = suggested(trial)
        if not space.contains(point):
            return None
        return _Row({name: point[name] for name in space.distributions if name in point})
    if not space.contains(trial.params):
        return None
    return _Row(
        trial.params,
        sign * _value(trial),
        constraints_of(trial),
        is_crash(trial),
        member_of(trial),
        trial.state == TrialState.PRUNED,
        ended=True,
    )


def _stacked(space: Space, rows: Sequence[_Row]) -> Float[np.ndarray, "n d"]:
    return np.array([row.x for row in rows]).reshape(len(rows), space.dim)


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
    known: Collection[int] | None,
) -> bool:
    """Store the whole suggestion, so that other workers see it; False if another trial has the
    point. Trials of the numbers `known` do not; None: the point may be there twice."""

    def is_free(trials: Collection[FrozenTrial]) -> bool:
        if known is None or len(trials) <= len(known):  # numbers have no gaps: all are known
            return True
        new = (t for t in trials if t.number not in known and t.number != trial.number)
        others = [suggested(t) for t in new if VOID not in t.system_attrs]
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
