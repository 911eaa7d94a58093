"""Neural-linear Thompson sampling (Snoek et al. 2015, Riquelme et al. 2018, Xu et al. 2020).

A network is trained, then its output layer is replaced by a draw from a Bayesian linear regression
on what that layer sees.
"""

from __future__ import annotations

from jax import Array

from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import options, register, set_gamma
from neurobo.data.observations import Data
from neurobo.errors import check_number
from neurobo.networks.architectures import FixedGamma, gamma_pair
from neurobo.networks.mlp import MLP
from neurobo.networks.selection import network_for
from neurobo.surrogates.last_layer import BayesianLastLayer


@options
class NeuralLinear:
    """Options of neural-linear Thompson sampling."""

    prior: float = 100.0
    """Variance of the regression's weights ("Be Greedy", F.1: γ in {10, 100, 1000})."""
    noise: float = 0.01
    """σ², in units of the standardised objective (F.1: in {0.001, 0.01, 0.1})."""
    gamma: FixedGamma = 1.0
    """A number is both σ_w and σ_b, a pair one of each."""
    width: int = 500
    depth: int = 1
    activation: str = "tanh"

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        for name in ("prior", "noise"):
            check_number(name, getattr(self, name), above=0)
        set_gamma(self)

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        network = network_for(data.image, self.width, self.depth, self.activation)
        surrogate = BayesianLastLayer(network, gamma_pair(self.gamma), self.prior, self.noise)
        return Decision(surrogate.sample(key, data, number))


register(
    "neural-linear-ts",
    NeuralLinear,
    "Bayesian linear regression on a trained network's last hidden layer.",
)
