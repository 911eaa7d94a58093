"""Context parameters: the best expected value for each of their values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from neurobo.analysis.recommendation import Recommendation, best_rest
from neurobo.analysis.tally import Tally
from neurobo.integrations.optuna.compat import enqueued_params
from neurobo.space.search_space import Space
from neurobo.studies.reporting.findings import Findings

MOST = 2
"""Parameters that are shown."""
POINTS = 9
"""Values of a number."""


class Context(NamedTuple):
    """The best rest for values of one parameter."""

    name: str
    values: list[Any]
    found: list[Recommendation]

    @property
    def mean(self) -> Float[np.ndarray, " n"]:
        return np.array([one.value for one in self.found])

    @property
    def sd(self) -> Float[np.ndarray, " n"]:
        return np.array([one.sd for one in self.found])


def context_names(space: Space, tally: Tally) -> list[str]:
    """Parameters that trials were asked for with different values of, as `neurobo ask --set` does:
    the trial was queued with some of its values, not with all."""
    values: dict[str, set[Any]] = {}
    for trial in tally.complete:
        given = enqueued_params(trial)
        if given and trial.params.keys() - given.keys():
            for name in given.keys() & trial.params.keys():
                values.setdefault(name, set()).add(trial.params[name])
    always = space.parameters.keys() - space.conditions.requirements.keys()
    return [n for n in space.parameters if n in always and len(values.get(n, ())) > 1]


def contexts(found: Findings) -> list[Context]:
    """Of the context parameters, with what is best for each of their values."""
    if found.belief is None or found.space.where is not None:
        return []
    return [_over(found, name) for name in context_names(found.space, found.tally)[:MOST]]


def _over(found: Findings, name: str) -> Context:
    parameter = found.space.parameters[name]
    if parameter.count <= POINTS:
        columns = parameter.nth(np.arange(int(parameter.count)))
    else:
        columns = parameter.from_unit(np.linspace(0, 1 - 1e-12, POINTS))
    values = parameter.decode(columns)
    best = [best_rest(found.space.holding({name: v}), found.tally, found.belief) for v in values]
    return Context(name, values, best)
