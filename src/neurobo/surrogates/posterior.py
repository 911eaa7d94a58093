"""What a surrogate is, and what it says after a fit: mean, standard deviation, samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.compilation import compiled
from neurobo.data.observations import Data

Function = Callable[[Float[Array, "n d"]], Float[Array, " n"]]
"""A pytree that can be called, such as a posterior sample: jitted code takes it as an argument."""


@runtime_checkable
class Posterior(Protocol):
    """The objective given the data, in units of the standardised objective; a pytree."""

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, " n"]: ...

    def mean_and_sd(
        self, x: Float[Array, "n d"]
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]: ...


P = TypeVar("P", bound=Posterior)
P_co = TypeVar("P_co", bound=Posterior, covariant=True)


@runtime_checkable
class Surrogate(Protocol[P_co]):
    """A model of the objective whose settings are chosen."""

    def fit(self, key: Array, data: Data) -> P_co:
        """Its posterior given the data. Randomness, if there is any, comes from the key."""
        ...


@runtime_checkable
class SamplingSurrogate(Surrogate[P_co], Protocol[P_co]):
    """One whose posterior can be sampled."""

    def sample(self, key: Array, data: Data, number: int) -> Function:
        """A posterior sample for suggestion `number`; `key` is the run's."""
        ...


@compiled
def mean_at(posterior: Posterior, x: Float[Array, "n d"]) -> Float[Array, " n"]:
    return posterior.mean(x)


def means(posterior: Posterior, data: Data) -> Float[np.ndarray, " n"]:
    """The means at the observations."""
    return np.asarray(mean_at(posterior, data.x))[: data.n]


def lowest_mean(posterior: Posterior, data: Data) -> Float[np.ndarray, ""]:
    """The lowest mean at a feasible observation: with noise the lowest value is luck. Where some
    parameters are fixed, at the observations moved there."""
    if data.incumbents is None:
        return np.asarray(np.min(means(posterior, data)[data.eligible]))
    n = len(data.incumbents)
    moved = Data.pad(data.incumbents, np.zeros(n)).x
    found = np.asarray(mean_at(posterior, moved))[:n]
    return np.asarray(np.min(found[data.eligible[data.eligible < n]]))
