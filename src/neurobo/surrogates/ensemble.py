"""An ensemble of networks trained on the same data: where they disagree, it is uncertain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.data.observations import Data
from neurobo.networks.architectures import Architecture, Gamma, Theta
from neurobo.networks.keys import fold_in, split
from neurobo.surrogates.draws import Draw, Recipe, draw, draws
from neurobo.training.gauss_newton import stacked


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Ensemble:
    """Mean and standard deviation over the members."""

    network: Architecture = field(metadata={"static": True})
    gamma: Gamma
    scale: Float[Array, ""]
    members: Theta
    """Parameters with a leading axis that counts members."""

    def _values(self, x: Float[Array, "n d"]) -> Float[Array, "k n"]:
        found: Array = jax.vmap(lambda theta: self.network.apply(theta, self.gamma, x))(
            self.members
        )
        return self.scale * found

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return jnp.mean(self._values(x), axis=0)

    def mean_and_sd(self, x: Float[Array, "n d"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        values = self._values(x)
        mean = jnp.mean(values, axis=0)
        # At an observation all agree: the floor keeps the root's slope finite.
        return mean, jnp.sqrt(jnp.var(values, axis=0, ddof=1) + 1e-12)


@dataclass(frozen=True)
class EnsembleSurrogate:
    """Members keep their random starts through a run; a sample is one fresh member."""

    recipe: Callable[[Data], Recipe]
    """Of a member."""
    members: int

    def fit(self, key: Array, data: Data) -> Ensemble:
        keys, recipe = split(key, self.members), self.recipe(data)
        members = stacked([fit.theta for _, fit in draws(list(keys), data, recipe)])
        scale = jnp.asarray(np.asarray(recipe.scale, dtype=float))
        return Ensemble(recipe.network, jnp.asarray(recipe.gamma), scale, members)

    def sample(self, key: Array, data: Data, number: int) -> Draw:
        return draw(fold_in(key, number), data, self.recipe(data))[0]
