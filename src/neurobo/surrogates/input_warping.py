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
from neurobo.data.scaling import standardise
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.input_maps import warped
from neurobo.surrogates import marginal_likelihood, refit_schedule
from neurobo.surrogates.hyperparameters import Logarithms
from neurobo.surrogates.output_warping import FittedWarping
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
    data: Data, wide: InfiniteWidthMLP, warp: FittedWarping | None = None
) -> InputWarping | None:
    """From the first observations, until there are half as many more, with values as they are or
    warped. None: columns are best as they are."""
    rows = refit_schedule.choice_rows(data.n, _least(data.x.shape[1]), MOST)
    if rows is None or data.x.shape[1] > marginal_likelihood.MANY:
        return None
    values, start = data.values[rows], None
    if warp is not None:
        values, start = warp.as_of(values), warp.start
    return choose(data.x[rows], standardise(values), wide, start, noisy=data.noisy)[0]


def _least(columns: int) -> int:
    """Observations: more than numbers to find."""
    return 5 + 2 * columns


def gain(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], wide: InfiniteWidthMLP) -> float:
    """By how much warped columns raise the logarithm of the evidence; 0: they are best as they
    are."""
    return choose(x, y, wide, None, noisy=False)[1] if len(y) >= _least(x.shape[1]) else 0.0


@cached
def choose(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    wide: InfiniteWidthMLP,
    start: Logarithms | None,
    *,
    noisy: bool,
) -> tuple[InputWarping | None, float]:
    """The t of the highest evidence, and by how much that is higher than without any."""
    data = replace(Data.pad(x, y), noisy=noisy)
    values = [len(np.unique(column)) for column in data.points.T]
    most = np.where(np.array(values) > 2, LARGEST, 0.0)  # two values have nothing between them
    given = None if start is None else np.pad(start, (0, len(values)))
    plain = marginal_likelihood.search(data, wide, ard=True, start=given)
    begin = np.pad(plain, (0, len(values)))
    starts = [begin]
    if begin[3] > np.log(CLEAR):
        starts.append(np.where(np.arange(len(begin)) == 3, np.log(CLEAR), begin))
    found = [
        marginal_likelihood.search(data, wide, ard=True, strengths=most, start=s) for s in starts
    ]
    costs = [marginal_likelihood.cost(data, wide, p) for p in found]
    penalty = len(values) * np.log(len(y)) / 2  # what so many numbers more explain by chance (BIC)
    gained = marginal_likelihood.cost(data, wide, begin) - (min(costs) + penalty)
    if not gained > 0:
        return None, 0.0
    logs, strengths = np.split(found[int(np.argmin(costs))], [len(plain)])
    return InputWarping(tuple(strengths.tolist()), tuple(logs.tolist())), float(gained)
