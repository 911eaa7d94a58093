"""Telling the user that a law does not fit the observations."""

from __future__ import annotations

import warnings
from weakref import WeakSet

import numpy as np

from neurobo.errors import NeuroboWarning
from neurobo.physics.evidence import CLEARLY, TRUSTED
from neurobo.physics.laws import Laws
from neurobo.physics.pde import PDE
from neurobo.physics.surrogate import Hyper

_warned: WeakSet[PDE] = WeakSet()


def forget() -> None:
    """Warn again of laws that were warned of before."""
    _warned.clear()


ENOUGH = 5
"""Observations; fewer may disagree with any law by chance."""


def warn_about_doubts(laws: Laws, hyper: Hyper, n: int) -> None:
    """Once for each law, after n observations."""
    if n < ENOUGH:
        return
    for i, (law, doubt) in enumerate(zip(laws.laws, hyper.doubt, strict=False)):
        if doubt > CLEARLY and hyper.trust[i] > TRUSTED and law.pde not in _warned:
            _warned.add(law.pde)
            size = np.sqrt(hyper.trust[i])
            how = f"with an error of {size:.0%} of its usual size" if size < 10 else "not at all"
            warnings.warn(
                f"law {i + 1} of {len(laws.laws)} does not fit the observations, which are "
                f"e^{doubt:.1f} times as likely if it need not hold; it now counts {how} (it may "
                "be wrong, or the objective too abrupt for the points at which it is asked for)",
                NeuroboWarning,
                stacklevel=2,
            )
