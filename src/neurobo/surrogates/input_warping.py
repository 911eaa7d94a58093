"""Input warping: columns expanded at one end so that wide networks explain the values best.

A learning rate between 1e-5 and 0.1 matters by its logarithm; who forgets to say so leaves nearly
all that happens to a thousandth of the range. The strength t of each column's warping is found with
the other hyper-parameters by the marginal likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.compilation import compiled
from neurobo.data.content_cache import cached
from neurobo.data.observations import Data
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.input_maps import warped
from neurobo.surrogates import marginal_likelihood, refit_schedule
from neurobo.surrogates.hyperparameters import Logarithms
from neurobo.surrogates.posterior import Function, Posterior

MOST = 128
"""Observations that decide: an even share of more."""
LARGEST = 14.0
"""|t|: a range of a million to 1."""
CLEAR = 1e-4
"""Variance of little noise: what looks noisy may be exact once it is warped."""


@dataclass(frozen=True)
class InputWarping:
    strengths: tuple[float, ...]
    """t of each column."""
    start: Logarithms
    """Logarithms of the hyper-parameters that the evidence was highest for."""

    def __call__(self, data: Data) -> Data:
        """What networks see of the same observations."""
        k = len(data.pending)
        padded = Data.pad(data.pending, np.zeros(k)).x  # few shapes, few compilations
        x, pending = (np.asarray(_warped(v, self._strengths)) for v in (data.x, padded))
        moved = data.incumbents
        if moved is not None:
            every = Data.pad(moved, np.zeros(len(moved))).x
            moved = np.asarray(_warped(every, self._strengths))[: len(moved)]
        return replace(data, x=x, pending=pending[:k], incumbents=moved)

    def of(self, function: Function) -> Function:
        """The same function of points that are not warped."""
        return WarpedFunction(function, jnp.asarray(self._strengths))

    def posterior(self, posterior: Posterior) -> Posterior:
        """The posterior at points that are not warped."""
        return WarpedPosterior(posterior, jnp.asarray(self._strengths))

    @property
    def _strengths(self) -> Float[np.ndarray, " d"]:
        return np.array(self.strengths)


_warped = compiled(warped)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class WarpedFunction:
    """x -> the function's value at x warped."""

    function: Function
    strengths: Float[Array, " d"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.function(warped(x, self.strengths))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class WarpedPosterior:
    """The posterior at warped x."""

    posterior: Posterior
    strengths: Float[Array, " d"]

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.posterior.mean(warped(x, self.strengths))

    def mean_and_sd(self, x: Float[Array, "n d"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        return self.posterior.mean_and_sd(warped(x, self.strengths))


def input_warping_for(
    data: Data, wide: InfiniteWidthMLP, start: Logarithms | None = None
) -> InputWarping | None:
    """As the hyper-parameters: from the first observations, until there are a tenth more. None:
    columns are best as they are."""
    columns = data.x.shape[1]
    if columns > marginal_likelihood.MANY or data.n <= 4 + 2 * columns:  # as many numbers to find
        return None
    plain, some, _ = refit_schedule.scheduled_search(data, wide, ard=True, start=start)
    rows = refit_schedule.even_share(some.n, MOST)
    return choose(some.x[rows], some.y[rows], wide, plain, noisy=data.noisy)


def gain(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], wide: InfiniteWidthMLP) -> float:
    """By how much warped columns raise the logarithm of the evidence; 0: they are best as they
    are."""
    if len(y) <= 4 + 2 * x.shape[1]:
        return 0.0
    plain = marginal_likelihood.search(Data.pad(x, y), wide, ard=True)
    return _gain_and_warping(x, y, wide, tuple(plain.tolist()), noisy=False)[0]


def choose(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    wide: InfiniteWidthMLP,
    plain: tuple[float, ...],
    *,
    noisy: bool,
) -> InputWarping | None:
    """The t of the highest evidence, found from the hyper-parameters without any."""
    return _gain_and_warping(x, y, wide, plain, noisy=noisy)[1]


@cached
def _gain_and_warping(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    wide: InfiniteWidthMLP,
    plain: tuple[float, ...],
    *,
    noisy: bool,
) -> tuple[float, InputWarping | None]:
    data = replace(Data.pad(x, y), noisy=noisy)
    values = [len(np.unique(column)) for column in data.points.T]
    most = np.where(np.array(values) > 2, LARGEST, 0.0)  # two values have nothing between them
    start = np.pad(plain, (0, len(values)))
    starts = [start]
    if start[3] > np.log(CLEAR):
        starts.append(np.where(np.arange(len(start)) == 3, np.log(CLEAR), start))
    found = [
        marginal_likelihood.search(data, wide, ard=True, strengths=most, start=s) for s in starts
    ]
    costs = [marginal_likelihood.cost(data, wide, p) for p in found]
    penalty = len(values) * np.log(len(y)) / 2  # what so many numbers more explain by chance (BIC)
    gained = marginal_likelihood.cost(data, wide, start) - (min(costs) + penalty)
    if not gained > 0:
        return 0.0, None
    logs, strengths = np.split(found[int(np.argmin(costs))], [len(plain)])
    return float(gained), InputWarping(tuple(strengths.tolist()), tuple(logs.tolist()))
