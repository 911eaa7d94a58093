"""NeuralUCB (Zhou et al. 2020) and NeuralTS (Zhang et al. 2021), for continuous domains too.

A network is trained from one random start for the whole run; its gradients give a confidence bound
or a posterior sample. The papers keep only the diagonal of U; the dual formula needs no such
saving.
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
    """`neural-ucb`, `neural-ts`: confidence bound or Thompson sampling from a network's gradients.

    NeuralUCB (Zhou et al.) and NeuralTS (Zhang et al.), baselines of the papers; symbols are
    theirs.
    """

    acquisition: Literal["ucb", "ts"] = "ucb"
    """"ucb": lower confidence bound; "ts": the minimum of one posterior sample."""
    covariance: Literal["exact", "diagonal"] = "exact"
    """"exact": the whole matrix U; "diagonal": only its diagonal, as published."""
    nu: float = 1.0
    """ν: how many standard deviations the bound lies below the mean, or the scale of the sample."""
    ridge: float = 1e-3
    """λ, the regularisation of the training and of U."""
    gamma: FixedGamma = 1.0
    """γ: a number sets both σ_w and σ_b, a pair each; larger means less smooth."""
    width: int = 256
    """Units of each hidden layer."""
    depth: int = 2
    """Number of hidden layers."""
    activation: str = "relu"
    """Activation: "erf", "tanh", "relu", "gelu", "silu", "softplus" or "sin"."""

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
    "Thompson sampling from a trained network's gradients.",
)
