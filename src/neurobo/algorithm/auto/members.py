"""The members of the portfolio `auto`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from neurobo.algorithm.auto.middle import Middle
from neurobo.algorithm.neural_greedy import NeuralGreedy
from neurobo.algorithm.ntk_gp import NTKGP
from neurobo.algorithm.pinn_bo import PINNBO
from neurobo.algorithm.protocols import Algorithm
from neurobo.physics.laws import Laws


class Member(NamedTuple):
    algorithm: Algorithm
    local: bool
    """Whether it stays near the best point."""


NETWORK = NeuralGreedy()


def _members(wide: NTKGP) -> dict[str, Member]:
    """The NTK Gaussian process with expected improvement, and samples of Neural Greedy."""
    return {
        "wide": Member(wide, local=False),
        "wide-local": Member(wide, local=True),
        "network-local": Member(NETWORK, local=True),
        "network": Member(NETWORK, local=False),
    }


MEMBERS, MEMBERS_OF_MANY = _members(NTKGP()), _members(NTKGP(ard=False))
PICTURES = {"network": Member(NETWORK, local=False)}
"""For candidates that are images: convolutional networks."""
WIDE = NTKGP().wide
"""The surrogate whose marginal likelihood chooses warpings."""


def physics_member(laws: Laws) -> dict[str, Member]:
    """Where a law is known."""
    return {"physics": Member(PINNBO().with_laws(laws), local=False)}


def first_member(middle: Float[np.ndarray, " columns"]) -> dict[str, Member]:
    """Once, before the others."""
    return {"middle": Member(Middle(middle), local=False)}
