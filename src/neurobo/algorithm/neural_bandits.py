"""NeuralUCB (Zhou et al. 2020) and NeuralTS (Zhang et al. 2021), for continuous domains too.

A network is trained from the run's one random start; its gradients give a confidence bound or a
random function. The papers keep only the diagonal of U; the dual formula needs no such saving.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

from jax import Array

from neurobo.acquisition.registry import acquire
from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import options, register, set_gamma
from neurobo.data.observations import Data
from neurobo.errors import check_choice, check_number
from neurobo.networks.architectures import FixedGamma, gamma_pair
from neurobo.networks.mlp import MLP
from neurobo.networks.selection import network_for
from neurobo.surrogates.draws import Recipe
from neurobo.surrogates.linearised import Diagonal, Exact, LinearisedNetwork
from neurobo.surrogates.posterior import Function


@options
class NeuralBandit:
    """Options of NeuralUCB and NeuralTS; symbols are the papers'."""

    acquisition: Literal["ucb", "ts"] = "ucb"
    """The lower confidence bound, or one drawn function."""
    covariance: Literal["exact", "diagonal"] = "exact"
    """"diagonal": as published."""
    nu: float = 1.0
    """ν, how many standard deviations the bound lies below the mean, or the draw's scale."""
    ridge: float = 1e-3
    """λ, for the training and for U."""
    gamma: FixedGamma = 1.0
    """A number is both σ_w and σ_b, a pair one of each."""
    width: int = 256
    depth: int = 2
    activation: str = "relu"

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        for name in ("nu", "ridge"):
            check_number(name, getattr(self, name), above=0)
        set_gamma(self)
        check_choice("acquisition", self.acquisition, ("ucb", "ts"))
        check_choice("covariance", self.covariance, ("exact", "diagonal"))

    def surrogate(self, data: Data) -> LinearisedNetwork:
        recipe = Recipe(
            network_for(data.image, self.width, self.depth, self.activation),
            gamma=gamma_pair(self.gamma),
            noise=self.ridge,
            surrogate="centred",
            perturbed=False,
        )
        return LinearisedNetwork(recipe, self.nu, self.ridge, self.covariance == "diagonal")

    def posterior(self, key: Array, data: Data) -> Exact | Diagonal:
        return self.surrogate(data).fit(key, data)

    def sample(self, key: Array, data: Data, number: int) -> Function:
        return self.surrogate(data).sample(key, data, number)

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        # Pending points reduce the variance as soon as they are chosen: no need for fantasies.
        score = acquire(self.acquisition, self.surrogate(data), key, data, number, fantasies=False)
        return Decision(score)


register("neural-ucb", NeuralBandit, "Confidence bound from a trained network's gradients.")
register(
    "neural-ts",
    partial(NeuralBandit, acquisition="ts"),
    "A trained network plus a random function of its gradients.",
)
