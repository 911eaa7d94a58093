"""Neural-linear Thompson sampling (Snoek et al. 2015, Riquelme et al. 2018, Xu et al. 2020).

A network is trained, then its output layer is replaced by a posterior sample of a Bayesian linear
regression on its last hidden layer.
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
    """`neural-linear-ts`: Thompson sampling with a Bayesian linear last layer.

    A baseline of the papers (Snoek et al., Riquelme et al., Xu et al.).
    """

    prior: float = 100.0
    """Prior variance of the regression's weights ("Be Greedy", F.1: γ in {10, 100, 1000})."""
    noise: float = 0.01
    """Noise variance σ², in units of the standardised objective (F.1: in {0.001, 0.01, 0.1})."""
    gamma: FixedGamma = 1.0
    """γ: a number sets both σ_w and σ_b, a pair each; larger means less smooth."""
    width: int = 500
    """Units of each hidden layer."""
    depth: int = 1
    """Number of hidden layers."""
    activation: str = "tanh"
    """Activation: "erf", "tanh", "relu", "gelu", "silu", "softplus" or "sin"."""

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
    "Thompson sampling with a Bayesian linear last layer on a trained network.",
)
