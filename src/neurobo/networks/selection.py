"""Which architecture the inputs call for."""

from __future__ import annotations

from neurobo.networks.architectures import Architecture
from neurobo.networks.cnn import CNN
from neurobo.networks.mlp import MLP


def network_for(
    image: tuple[int, int, int] | None,
    width: int,
    depth: int,
    activation: str,
    *,
    sphere: bool = False,
) -> Architecture:
    """A fully connected network, or a convolutional one for images, which has its own sizes."""
    if image is None:
        return MLP(width, depth, activation, sphere)
    return CNN(image, activation=activation)
