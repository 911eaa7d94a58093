"""More exploration where observations crowd around the best one."""

from __future__ import annotations

import numpy as np

from neurobo.data.observations import Data

NEAR = 0.02
"""1 % of the box: root mean square of the differences of the columns, which lie in [-1, 1]."""


def crowding_factor(data: Data) -> float:
    """A factor for ν: 1, but up to 32 at every other turn when the best point is crowded.

    Without noise a sample has little variance near its data, so a greedy run can converge to a dip
    that is not the best. Observations within 1 % of the box around the best one are the sign of it.
    """
    if data.n % 2 or not data.n:
        return 1.0
    x = data.x[: data.n]
    distance = np.sqrt(np.mean((x - x[data.order[0]]) ** 2, axis=1))
    crowd = int(np.sum(distance < NEAR)) - 1
    return float(2 ** (min(max(crowd - 3, 0), 10) / 2))
