"""Input warping: columns stretched at one end, as wide networks explain the values best.

A learning rate between 1e-5 and 0.1 matters by its logarithm; who forgets to say so leaves nearly
all that happens to a thousandth of the range. How far each column is stretched, t, is found with
the other hyper-parameters by the marginal likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.acquisition.functions import Posterior
from neurobo.data.content_cache import cached
from neurobo.data.observations import Data
from neurobo.networks.infinite_width import Wide
from neurobo.networks.input_maps import stretched
from neurobo.search.optimiser import Score
from neurobo.surrogates import marginal_likelihood, refit_schedule

MOST = 128
"""Observations that decide: an even share of more."""
LARGEST = 14.0
"""|t|: a range of a million to 1."""
CLEAR = 1e-4
"""Variance of little noise: what looks noisy may be exact once it is stretched."""


@dataclass(frozen=True)
class Stretch:
    bends: tuple[float, ...]
    """t of each column."""
    begin: tuple[float, ...]
    """Logarithms of the hyper-parameters that the evidence was highest for."""

    def __call__(self, data: Data) -> Data:
        """What networks see of the same observations."""
        k = len(data.pending)
        padded = Data.pad(data.pending, np.zeros(k)).x  # few shapes, few compilations
        x, pending = (np.asarray(_stretched(v, self._bends)) for v in (data.x, padded))
        return replace(data, x=x, pending=pending[:k], begin=self.begin)

    def of(self, score: Score) -> Score:
        """The score of points that are not stretched."""
        return Stretched(score, jnp.asarray(self._bends))

    def believed(self, posterior: Posterior) -> Posterior:
        """The belief about points that are not stretched."""
        return StretchedPosterior(posterior, jnp.asarray(self._bends))

    @property
    def _bends(self) -> Float[np.ndarray, " d"]:
        return np.array(self.bends)


_stretched = jax.jit(stretched)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Stretched:
    """x -> the score of x stretched."""

    score: Score
    bends: Float[Array, " d"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.score(stretched(x, self.bends))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StretchedPosterior:
    """What is believed about x stretched."""

    posterior: Posterior
    bends: Float[Array, " d"]

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.posterior.mean(stretched(x, self.bends))

    def mean_and_sd(self, x: Float[Array, "n d"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        return self.posterior.mean_and_sd(stretched(x, self.bends))


def stretch_for(data: Data, wide: Wide) -> Stretch | None:
    """As the hyper-parameters: from the first observations, until there are a tenth more. None:
    columns are best as they are."""
    columns = data.x.shape[1]
    if columns > marginal_likelihood.MANY or data.n <= 4 + 2 * columns:  # as many numbers to find
        return None
    plain, some, _ = refit_schedule.scheduled_search(data, wide, ard=True)
    rows = refit_schedule.even_share(some.n, MOST)
    return choose(some.x[rows], some.y[rows], wide, plain, noisy=data.noisy)


@cached
def choose(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    wide: Wide,
    plain: tuple[float, ...],
    *,
    noisy: bool,
) -> Stretch | None:
    """The t of the highest evidence, found from the hyper-parameters without any."""
    data = replace(Data.pad(x, y), noisy=noisy)
    values = [len(np.unique(column)) for column in data.points.T]
    most = np.where(np.array(values) > 2, LARGEST, 0.0)  # two values have nothing between them
    start = np.pad(plain, (0, len(values)))
    starts = [start]
    if start[3] > np.log(CLEAR):
        starts.append(np.where(np.arange(len(start)) == 3, np.log(CLEAR), start))
    found = [marginal_likelihood.search(data, wide, ard=True, bends=most, start=s) for s in starts]
    costs = [marginal_likelihood.cost(data, wide, p) for p in found]
    doubt = len(values) * np.log(len(y)) / 2  # what so many numbers more explain by chance (BIC)
    if not min(costs) + doubt < marginal_likelihood.cost(data, wide, start):
        return None
    logs, bends = np.split(found[int(np.argmin(costs))], [len(plain)])
    return Stretch(tuple(bends.tolist()), tuple(logs.tolist()))
