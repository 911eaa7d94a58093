"""Whom `auto` may ask for a suggestion, and when."""

from __future__ import annotations

from typing import NamedTuple

from neurobo.algorithm.auto.middle import Middle
from neurobo.algorithm.neural_greedy import NeuralGreedy
from neurobo.algorithm.ntk_gp import NTKGP
from neurobo.algorithm.pinn_bo import PINNBO
from neurobo.algorithm.registry import Algorithm


class Member(NamedTuple):
    algorithm: Algorithm
    local: bool
    """Whether it stays near the best point."""


NETWORK = NeuralGreedy()


def _members(wide: NTKGP) -> dict[str, Member]:
    """The wide limit with expected improvement, and draws of Neural Greedy."""
    return {
        "wide": Member(wide, local=False),
        "wide-local": Member(wide, local=True),
        "network-local": Member(NETWORK, local=True),
        "network": Member(NETWORK, local=False),
    }


MEMBERS, MEMBERS_OF_MANY = _members(NTKGP()), _members(NTKGP(ard=False))
LAWFUL = {"physics": Member(PINNBO(), local=False)}
"""Where a law is known."""
PICTURES = {"network": Member(NETWORK, local=False)}
"""For candidates that are images: convolutional networks."""
FIRST = {"middle": Member(Middle(), local=False)}
"""Once, before the others."""
PLAIN = LAWFUL, PICTURES, FIRST
"""Who see observations as they are: laws are about them, images have no wide limit here."""
WIDE = NTKGP().wide
"""What bends are judged by."""
