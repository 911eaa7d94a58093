"""Deep ensembles (Lakshminarayanan et al. 2017; as a surrogate Kim et al. 2021).

Several networks are trained on the same data; where they disagree there is doubt. The members keep
their random starts through a run: that is what warm-started training comes to, if it ends at an
optimum, without a state that a crash could lose.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.acquisition.functions import LogExpectedImprovement, expected, expected_best
from neurobo.algorithm.drawing import Gammas, check_gamma, hyper_for
from neurobo.algorithm.registry import options, register
from neurobo.data.observations import Data
from neurobo.errors import check_choice, check_count
from neurobo.networks.architectures import Architecture, Gamma, Theta
from neurobo.networks.mlp import MLP
from neurobo.networks.selection import network_for
from neurobo.search.optimiser import Region, Score
from neurobo.surrogates.draws import Recipe, draw, draws
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


@options
class DeepEnsemble:
    """Options of the ensemble."""

    acquisition: Literal["ei", "draw"] = "ei"
    """Expected improvement over the members, or one fresh member's minimum: STO-BNTS without its
    random tangent, as its authors compare with."""
    members: int = 10
    gamma: Gammas = 1.0
    """A number is both σ_w and σ_b; "evidence" finds them and the scale."""
    width: int = 1000
    depth: int = 1
    activation: str = "tanh"

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        check_count("members", self.members, least=2)
        check_gamma(self.gamma)
        check_choice("acquisition", self.acquisition, ("ei", "draw"))

    def _recipe(self, data: Data) -> Recipe:
        network = network_for(data.image, self.width, self.depth, self.activation)
        hyper = hyper_for(data, network, self.gamma)
        return Recipe(network, hyper.gamma, scale=hyper.scale, perturbed=False)

    def posterior(self, key: Array, data: Data) -> Ensemble:
        keys = jax.random.split(key, self.members)
        recipe = self._recipe(data)
        members = stacked([fit.theta for _, fit in draws(list(keys), data, recipe)])
        scale = jnp.asarray(np.asarray(recipe.scale, dtype=float))
        return Ensemble(recipe.network, jnp.asarray(recipe.gamma), scale, members)

    def sample(self, key: Array, data: Data, number: int) -> Score:
        return draw(jax.random.fold_in(key, number), data, self._recipe(data))[0]

    def score(self, key: Array, data: Data, number: int) -> Score:
        if self.acquisition == "draw" or not data.n:
            return self.sample(key, data, number)
        found = self.posterior(key, data)
        if len(data.pending):
            found = self.posterior(key, data.believing(expected(found, data)))
        return LogExpectedImprovement(found, jnp.asarray(np.asarray(expected_best(found, data))))

    def region(self, data: Data, number: int) -> Region | None:
        return None


register("deep-ensemble", DeepEnsemble, "Expected improvement over networks trained side by side.")
