"""Neural-linear Thompson sampling (Snoek et al. 2015, Riquelme et al. 2018, Xu et al. 2020).

A network is trained, then its output layer is replaced by a draw from a Bayesian linear regression
on what that layer sees.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.algorithm.registry import options, register
from neurobo.data.observations import Data
from neurobo.errors import check_number
from neurobo.networks.architectures import Architecture, Gamma, Layer, Theta
from neurobo.networks.mlp import MLP
from neurobo.networks.selection import network_for
from neurobo.search.optimiser import Region, Score
from neurobo.surrogates.draws import Draw, Network, Recipe, draw, normal
from neurobo.training.gauss_newton import linear
from neurobo.training.problem import TrainingProblem
from neurobo.training.residuals import OutputRows


@options
class NeuralLinear:
    """Options of neural-linear Thompson sampling."""

    prior: float = 100.0
    """Variance of the regression's weights ("Be Greedy", F.1: γ in {10, 100, 1000})."""
    noise: float = 0.01
    """σ², in units of the standardised objective (F.1: in {0.001, 0.01, 0.1})."""
    gamma: float = 1.0
    width: int = 500
    depth: int = 1
    activation: str = "tanh"

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        for name in ("prior", "noise", "gamma"):
            check_number(name, getattr(self, name), above=0)

    def score(self, key: Array, data: Data, number: int) -> Score:
        network = network_for(data.image, self.width, self.depth, self.activation)
        recipe = Recipe(network, gamma=(self.gamma, self.gamma), perturbed=False)
        fitted, _ = draw(key, data, recipe)  # from the run's one random start
        trained = fitted.parts[0]
        assert isinstance(trained, Network)
        start_key, noise_key = jax.random.split(jax.random.fold_in(key, number))
        hidden = _hidden(network, trained.theta, trained.gamma, jnp.asarray(data.x))
        # The prior variance is that of the plain features; ours are divided by their number.
        scale = np.sqrt(self.prior * hidden.shape[1]) / self.gamma
        noise = self.noise / scale**2
        weights = normal(start_key, hidden.shape[1] + 1)
        start = Layer(jnp.asarray(weights[None, 1:]), jnp.asarray(weights[:1]))
        problem = TrainingProblem(
            OutputRows(trained.gamma, hidden),
            jnp.asarray(data.y / scale + np.sqrt(noise) * normal(noise_key, len(data.y))),
            jnp.asarray(data.mask),
            jnp.asarray(noise),
            start,
        )
        output = linear([problem])[0].theta
        parts = (Network(network, trained.gamma, (*trained.theta[:-1], output)),)
        return Draw(jnp.asarray(scale), fitted.scales, parts)

    def region(self, data: Data, number: int) -> Region | None:
        return None


@partial(jax.jit, static_argnames="network")
def _hidden(
    network: Architecture, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]
) -> Float[Array, "n m"]:
    return network.hidden(theta, gamma, x)


register(
    "neural-linear-ts",
    NeuralLinear,
    "Bayesian linear regression on a trained network's last hidden layer.",
)
