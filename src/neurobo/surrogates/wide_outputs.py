"""NTK GPs of several quantities that were observed at the same points.

Each quantity has hyper-parameters of its own by the evidence, among them a scale for each column,
and its columns are warped if the marginal likelihood prefers it. Constraints need that: one may
depend on two of ten parameters, and be steep in a thousandth of the range of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.data.observations import Data
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.input_maps import warped
from neurobo.surrogates import marginal_likelihood, refit_schedule
from neurobo.surrogates.fantasies import with_fantasies
from neurobo.surrogates.gaussian_process import GP, GPSurrogate
from neurobo.surrogates.input_warping import input_warping_for


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class WideOutputs:
    """k quantities."""

    structure: Any = field(metadata={"static": True})
    """Of a `GP`: one posterior's arrays make a posterior again."""
    arrays: list[Array]
    """Of all posteriors, with a leading axis that counts them: one graph, however many."""
    strengths: Float[Array, "k d"]
    """t of each quantity's columns; 0: as they are."""
    noise: Float[Array, " k"]
    """σ²."""

    def mean_and_sd(
        self, x: Float[Array, "n d"]
    ) -> tuple[Float[Array, "k n"], Float[Array, "k n"]]:
        def one(arrays: list[Array], strengths: Float[Array, " d"]) -> tuple[Array, Array]:
            posterior: GP = jax.tree.unflatten(self.structure, arrays)
            return posterior.mean_and_sd(warped(x, strengths))

        return jax.vmap(one)(self.arrays, self.strengths)


def data_suffice(data: Data) -> bool:
    """Whether there are more observations than hyper-parameters: a scale and a t for each column,
    and four besides. Images have no NTK GP here."""
    columns = data.x.shape[1]
    few = columns <= marginal_likelihood.MANY and data.n > 4 + 2 * columns
    return few and data.image is None


def learn(key: Array, known: Sequence[Data], wide: InfiniteWidthMLP) -> WideOutputs:
    """From data with the same points and other values, and perhaps pending points."""
    fitted = [_fit(key, data, wide) for data in known]
    posteriors = [posterior for posterior, _ in fitted]
    arrays = [jnp.stack(each) for each in zip(*map(jax.tree.leaves, posteriors), strict=True)]
    strengths = jnp.asarray(np.array([t for _, t in fitted]))
    noise = jnp.stack([posterior.noise for posterior in posteriors])
    return WideOutputs(jax.tree.structure(posteriors[0]), arrays, strengths, noise)


def _fit(key: Array, data: Data, wide: InfiniteWidthMLP) -> tuple[GP, tuple[float, ...]]:
    """The posterior of points whose columns are warped, and how far they are."""
    warping = input_warping_for(data, wide)
    seen = data if warping is None else warping(data)
    start = None if warping is None else warping.start
    hyper = refit_schedule.scheduled(seen, wide, ard=True, start=start)
    # Pending points reduce the uncertainty at once.
    _, posterior = with_fantasies(GPSurrogate(wide, hyper), key, seen)
    return posterior, (0.0,) * data.x.shape[1] if warping is None else warping.strengths
