"""Telling the user that a law does not fit the observations, once in each study."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from weakref import WeakKeyDictionary

import numpy as np

from neurobo.data.observations import Data
from neurobo.errors import NeuroboWarning
from neurobo.physics.conditioning import PhysicsHyper
from neurobo.physics.hyperparameters import CLEARLY, TRUSTED
from neurobo.physics.laws import Laws
from neurobo.physics.pde import PDE

ENOUGH = 5
"""Observations; fewer may disagree with any law by chance."""
STUDIES = 64
"""Studies that are remembered for each law."""

Observations = frozenset[int]
_warned: WeakKeyDictionary[PDE, deque[Observations]] = WeakKeyDictionary()
"""For each law the latest observations of every study whose user was warned of it."""
_lock = threading.Lock()


def warn_of_misfits(laws: Laws, hyper: PhysicsHyper, data: Data) -> None:
    """Warn of each law that the observations contradict, unless this study's user was warned."""
    if len(data.points) < ENOUGH:
        return
    observations = _observations(data)
    for i, (law, misfit) in enumerate(zip(laws.laws, hyper.misfit, strict=False)):
        contradicted = misfit > CLEARLY and hyper.trust[i] > TRUSTED
        if not _is_news(law.pde, observations, contradicted):
            continue
        size = np.sqrt(hyper.trust[i])
        how = f"used with an error of {size:.0%} of its usual size" if size < 10 else "ignored"
        warnings.warn(
            f"law {i + 1} of {len(laws.laws)} does not fit the observations, which are "
            f"e^{misfit:.1f} times as likely without it; it is now {how} (the law may be wrong, "
            "or the objective may change too abruptly for the distance of the collocation points)",
            NeuroboWarning,
            stacklevel=2,
        )


def _observations(data: Data) -> Observations:
    """What was really observed: pending points that are taken to have a value come after it."""
    n = len(data.points)
    rows = np.column_stack([data.x[:n], data.values[:n]])
    return frozenset(hash(tuple(row)) for row in rows.tolist())


def _is_news(pde: PDE, observations: Observations, contradicted: bool) -> bool:
    """Whether the law is contradicted in a study whose user does not know it yet.

    A history that contains an earlier one continues the same study. A run that starts again has
    fewer observations than the one before had at its end.
    """
    with _lock:
        studies = _warned.setdefault(pde, deque(maxlen=STUDIES))
        for i, earlier in enumerate(studies):
            if earlier <= observations:
                studies[i] = observations
                return False
        if contradicted:
            studies.append(observations)
        return contradicted
