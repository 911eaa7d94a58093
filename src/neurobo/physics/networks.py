"""Which networks learn from laws: their gradients are kept, so that memory limits their size."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import jax

from neurobo.networks.additive import Additive
from neurobo.networks.architectures import Architecture
from neurobo.networks.mlp import MLP

MANY = 4
"""Columns above which sums of functions of one column are considered."""
PARAMETERS = 8192
"""Of a single hidden layer at most: gradients of some hundred rows are kept for many γ."""
CHEAP = 4e6
"""Parameters times rows, of values and laws."""
AMPLE = 1024
"""Units of a single hidden layer that are enough to judge γ by."""


def candidates(
    network: MLP, columns: int, additive: bool | Literal["auto"]
) -> tuple[Architecture, ...]:
    """The networks that the evidence chooses from."""
    usual = affordable(network, columns)
    many = columns > MANY if additive == "auto" else additive
    return (usual, Additive(network.width, network.activation)) if many else (usual,)


def affordable(network: MLP, columns: int) -> MLP:
    """Every unit of a single layer has a weight for each column: memory grows with both."""
    if network.depth > 1:
        return network
    return replace(network, width=min(network.width, PARAMETERS // (columns + 2)))


def ample(network: Architecture, columns: int) -> Architecture:
    """The same so wide that its width no longer limits what it can do."""
    if not isinstance(network, MLP) or network.depth > 1:
        return network
    return affordable(replace(network, width=max(network.width, AMPLE)), columns)


def uncertainty_is_cheap(network: MLP, columns: int, rows: int) -> bool:
    """Whether standard deviations at thousands of points take little more than a second."""
    if columns > MANY:
        return False
    drawn = jax.eval_shape(lambda: affordable(network, columns).init(jax.random.key(0), columns))
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(drawn)) * rows <= CHEAP
