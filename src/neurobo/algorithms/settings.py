"""What the drawing algorithms have in common: the network, and γ, ν and the noise for it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from neurobo import evidence
from neurobo.data import Data
from neurobo.errors import InvalidInput, check_number
from neurobo.evidence import Hyper
from neurobo.networks import CNN, MLP, Architecture
from neurobo.ntk import Wide
from neurobo.posterior import random_network
from neurobo.rows import ValueRows

Gammas = float | Literal["evidence", "grid"]


def check_gamma(gamma: Gammas) -> None:
    if gamma not in ("evidence", "grid"):
        check_number("gamma", gamma, above=0)


Region = float | Literal["auto"] | None
REGION = 0.4
"""Half-width of a trust region; the whole box has 2."""
HIGH = 6
"""Columns above which a drawn function is lowest in a far corner more often than not."""


def check_region(region: Region) -> None:
    if region not in (None, "auto") and not (isinstance(region, float | int) and 0 < region <= 2):
        raise InvalidInput(f'trust_region must be None, "auto" or in (0, 2], got {region!r}')


def radius_for(region: Region, data: Data, number: int) -> float | None:
    """Every other suggestion stays near the best point; "auto": only above 6 columns."""
    if region == "auto":
        region = REGION if data.x.shape[1] > HIGH else None
    return region if number % 2 else None


def network_for(data: Data, *, width: int, depth: int, activation: str) -> Architecture:
    """A fully connected network, or a convolutional one for images, which has its own sizes."""
    if data.image is None:
        return MLP(width, depth, activation)
    return CNN(data.image, activation=activation)


def hyper_for(
    data: Data,
    network: Architecture,
    gamma: Gammas,
    *,
    ard: bool = False,
    noise: float | None = None,
) -> Hyper:
    """γ, ν and the noise: given, or found by evidence."""
    ones = (1.0,) * data.x.shape[1]
    if isinstance(gamma, float | int):
        return Hyper((gamma, gamma), 1.0, noise or 0.0, ones)
    if isinstance(network, CNN):
        found = _of_images(data, network)
        return found if noise is None else replace(found, noise=noise)
    assert isinstance(network, MLP)
    wide = Wide(network.depth, network.activation)
    if gamma == "evidence":
        return evidence.scheduled(data, wide, ard=ard, noise=noise)
    best = evidence.by_leaving_out(data, wide)
    return Hyper((best, best), 1.0, noise or 0.0, ones)


IMAGE_GAMMAS = ((1.5, 0.1), (1.5, 1.0), (3.0, 0.1))
"""σ_w and σ_b that the evidence chooses from for images."""


def _of_images(data: Data, network: CNN) -> Hyper:
    """Evidence with the kernel of one finite network: that of the wide limit is not known."""
    if not data.n:
        return Hyper(IMAGE_GAMMAS[0], 1.0, 0.0, (1.0,) * data.x.shape[1])
    y = data.y[: data.n]
    found = []
    for gamma in IMAGE_GAMMAS:
        kernel = np.asarray(_image_kernel(network, gamma, data.x.tobytes(), data.x.shape))
        found.append((*evidence.of_kernel(kernel[: data.n, : data.n], y), gamma))
    _, variance, noise, gamma = min(found)
    return Hyper(gamma, float(np.sqrt(variance)), noise, (1.0,) * data.x.shape[1])


@lru_cache(maxsize=8)
def _image_kernel(
    network: CNN, gamma: tuple[float, float], x: bytes, shape: tuple[int, int]
) -> np.ndarray:
    rows = ValueRows(network, jnp.asarray(gamma), jnp.asarray(np.frombuffer(x).reshape(shape)))
    # Any network will do: this only asks how large the kernels of such networks are.
    theta = random_network(network, jax.random.key(0), shape[1])
    return np.asarray(_gram(rows, theta))


_gram = jax.jit(lambda rows, theta: rows.gram(theta))
