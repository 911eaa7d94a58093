"""Deep ensembles (Lakshminarayanan et al. 2017; as a surrogate Kim et al. 2021).

Several networks are trained on the same data; where they disagree, the ensemble is uncertain. The
members keep their random starts through a run: the same as warm-started training that ends at an
optimum, without a state that a crash could lose.
"""

from __future__ import annotations

from typing import Literal

from jax import Array

from neurobo.acquisition.registry import acquire
from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import options, register, set_gamma
from neurobo.data.observations import Data
from neurobo.errors import check_choice, check_count
from neurobo.networks.mlp import MLP
from neurobo.networks.selection import network_for
from neurobo.surrogates.draws import Recipe
from neurobo.surrogates.ensemble import Ensemble, EnsembleSurrogate
from neurobo.surrogates.hyperparameter_choice import GammaOption, hyper_for
from neurobo.surrogates.posterior import Function


@options
class DeepEnsemble:
    """`deep-ensemble`: expected improvement over an ensemble of networks.

    A baseline of the papers (Lakshminarayanan et al., Kim et al.).
    """

    acquisition: Literal["ei", "draw"] = "ei"
    """"ei": expected improvement over the members; "draw": the minimum of one new member, which is
    STO-BNTS without its random tangent, the baseline of its authors."""
    members: int = 10
    """Number of networks."""
    gamma: GammaOption = 1.0
    """γ: a number sets both σ_w and σ_b, a pair each; larger means less smooth. "evidence" chooses
    them and the scale by marginal likelihood, "grid" by leave-one-out cross-validation."""
    width: int = 1000
    """Units of each hidden layer."""
    depth: int = 1
    """Number of hidden layers."""
    activation: str = "tanh"
    """Activation: "erf", "tanh", "relu", "gelu", "silu", "softplus" or "sin"."""

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        check_count("members", self.members, least=2)
        set_gamma(self, words=("evidence", "grid"))
        check_choice("acquisition", self.acquisition, ("ei", "draw"))

    def _recipe(self, data: Data) -> Recipe:
        network = network_for(data.image, self.width, self.depth, self.activation)
        hyper = hyper_for(data, network, self.gamma)
        return Recipe(network, hyper.gamma, scale=hyper.scale, perturbed=False)

    @property
    def surrogate(self) -> EnsembleSurrogate:
        return EnsembleSurrogate(self._recipe, self.members)

    def posterior(self, key: Array, data: Data) -> Ensemble:
        return self.surrogate.fit(key, data)

    def sample(self, key: Array, data: Data, number: int) -> Function:
        return self.surrogate.sample(key, data, number)

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        name: Literal["ei", "ts"] = "ei" if self.acquisition == "ei" and data.n else "ts"
        return Decision(acquire(name, self.surrogate, key, data, number))


register("deep-ensemble", DeepEnsemble, "Expected improvement over an ensemble of networks.")
