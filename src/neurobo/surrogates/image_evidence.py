"""Hyper-parameters by evidence for networks of images, with the kernel of one finite network: that
of an infinitely wide one is not known."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from neurobo.data.content_cache import cached
from neurobo.data.observations import Data
from neurobo.networks.cnn import CNN
from neurobo.surrogates.draws import random_network
from neurobo.surrogates.hyperparameters import Hyper
from neurobo.surrogates.kernel_spectrum import of_kernel
from neurobo.training.residuals import ValueRows, gram_of

GAMMAS = ((1.5, 0.1), (1.5, 1.0), (3.0, 0.1))
"""σ_w and σ_b that the evidence chooses from."""


def fit(data: Data, network: CNN) -> Hyper:
    """The hyper-parameters of highest likelihood for these observations."""
    ones = (1.0,) * data.x.shape[1]
    if not data.n:
        return Hyper(GAMMAS[0], 1.0, 0.0, ones)
    y = data.y[: data.n]
    found = []
    for gamma in GAMMAS:
        kernel = _kernel(network, gamma, data.x)
        found.append((*of_kernel(kernel[: data.n, : data.n], y), gamma))
    _, variance, noise, gamma = min(found)
    return Hyper(gamma, float(np.sqrt(variance)), noise, ones)


@cached
def _kernel(
    network: CNN, gamma: tuple[float, float], x: Float[np.ndarray, "N d"]
) -> Float[np.ndarray, "N N"]:
    rows = ValueRows(network, jnp.asarray(gamma), jnp.asarray(x))
    # Any network will do: this only asks how large the kernels of such networks are.
    theta = random_network(network, jax.random.key(0), x.shape[1])
    return np.asarray(gram_of(rows, theta))
