"""A trained network whose output layer is replaced by a Bayesian linear regression."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.compilation import compiled
from neurobo.data.observations import Data
from neurobo.networks.architectures import Architecture, Gamma, Layer, Theta
from neurobo.networks.keys import fold_in, split
from neurobo.surrogates.draws import Draw, Network, Recipe, draw, normal
from neurobo.training.gauss_newton import linear
from neurobo.training.problem import TrainingProblem
from neurobo.training.residuals import OutputRows


@dataclass(frozen=True)
class BayesianLastLayer:
    """It has samples only."""

    network: Architecture
    gamma: tuple[float, float]
    prior: float
    """Variance of the regression's weights."""
    noise: float
    """σ²."""

    def sample(self, key: Array, data: Data, number: int) -> Draw:
        recipe = Recipe(self.network, gamma=self.gamma, perturbed=False)
        fitted, _ = draw(key, data, recipe)  # from the run's one random start
        trained = fitted.parts[0]
        assert isinstance(trained, Network)
        start_key, noise_key = split(fold_in(key, number))
        hidden = _hidden(self.network, trained.theta, trained.gamma, jnp.asarray(data.x))
        # The prior variance is that of the plain features; ours are divided by their number.
        scale = np.sqrt(self.prior * hidden.shape[1]) / self.gamma[0]
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
        parts = (Network(self.network, trained.gamma, (*trained.theta[:-1], output)),)
        return Draw(jnp.asarray(scale), fitted.scales, parts)


@compiled(static="network")
def _hidden(
    network: Architecture, theta: Theta, gamma: Gamma, x: Float[Array, "n d"]
) -> Float[Array, "n m"]:
    return network.hidden(theta, gamma, x)
