"""Which member of a portfolio makes the next suggestion: who found better points may go on.

The credit of a member is how often its suggestions became the best so far, recent ones counting
more. Members share the turns in proportion to it, and each keeps some. It follows from the history
alone, with nothing kept in between, and chance plays no part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from neurobo.data.observations import Data

MEMORY = 30.0
"""Suggestions after which a success counts for half."""
PRIOR = 3.0
"""So many suggestions are needed to change the first opinion, that all members are alike."""
EXPECTED = 0.2
"""The share of successes among these."""
KEPT = 0.4
"""The share of the turns that all members have in equal parts."""
GOLDEN = (np.sqrt(5) - 1) / 2


def shares(
    data: Data, proposers: Sequence[str], names: Sequence[str]
) -> Float[np.ndarray, " members"]:
    """The share of the turns that each member has earned. `proposers` says who proposed each
    observation; empty: unknown."""
    tried, won = np.full(len(names), PRIOR), np.full(len(names), PRIOR * EXPECTED)
    places = np.empty(data.n)
    places[data.order] = np.arange(data.n)  # constraints considered
    best = np.minimum.accumulate(places) if data.n else places
    for t, name in enumerate(proposers):
        if t and name in names:
            weight = 0.5 ** ((data.n - 1 - t) / MEMORY)
            tried[names.index(name)] += weight
            won[names.index(name)] += weight * (best[t] < best[t - 1])
    earned = won / tried
    return np.asarray(KEPT / len(names) + (1 - KEPT) * earned / earned.sum())


def turn(data: Data, proposers: Sequence[str], names: Sequence[str], number: int) -> str:
    """Who makes suggestion `number`: multiples of the golden ratio spread the turns evenly."""
    edges = np.cumsum(shares(data, proposers, names))
    return names[min(int(np.searchsorted(edges, number * GOLDEN % 1.0)), len(names) - 1)]
