"""Points that the user wants evaluated first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from optuna.study import Study
from optuna.trial import TrialState

from neurobo.errors import InvalidInput
from neurobo.integrations.optuna.attributes import counting
from neurobo.integrations.optuna.compat import enqueued_params
from neurobo.space.search_space import Params, Space


def initial_points(space: Space, initial: Any, n_trials: int) -> list[Params]:
    """The points as parameters, checked."""
    if isinstance(initial, str | bytes | Mapping) or not isinstance(initial, Iterable):
        raise InvalidInput(f"initial must be a list of points, got {initial!r}")
    points = [_point(space, given, i) for i, given in enumerate(initial)]
    if len(points) > n_trials:
        raise InvalidInput(
            f"n_trials must be at least the number of initial points, got n_trials={n_trials} and "
            f"{len(points)} points"
        )
    for i, point in enumerate(points):
        if point in points[:i]:
            raise InvalidInput(
                f"initial points must be different from each other, got {point} again"
            )
    return points


def _point(space: Space, given: Any, i: int) -> Params:
    try:
        if isinstance(given, Mapping) and (unknown := sorted(given.keys() - space.distributions)):
            raise InvalidInput(
                f"a point must have the parameters {sorted(space.distributions)}, got {unknown}"
            )
        params = space.params(given)
        if space.where is not None and (broken := space.where.broken(params)):
            raise InvalidInput(f"a point must meet `where`, got {params}, which breaks {broken}")
    except InvalidInput as error:
        raise InvalidInput(f"initial[{i}]: {error}") from None
    # As Optuna stores them: Python's own numbers and choices.
    return {
        name: d.to_external_repr(d.to_internal_repr(params[name]))
        for name, d in space.distributions.items()
        if name in params
    }


def enqueue(study: Study, points: Sequence[Params]) -> None:
    """Queue the points that the study has neither evaluated nor queued."""
    waiting = study.get_trials(deepcopy=False, states=(TrialState.WAITING,))
    known = [t.params for t in counting(study)]
    known += [enqueued_params(t) for t in waiting]
    for point in points:
        if point not in known:
            study.enqueue_trial(point)
