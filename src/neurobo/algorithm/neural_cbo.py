"""Neural-CBO (Phan-Trong et al., "Neural-CBO: Black-box Optimization with Unknown Constraints",
Algorithm 3 of the thesis' chapter 4).

The objective and every constraint are networks that begin at zero. The next point has the largest
expected improvement where every constraint's lower confidence bound permits feasibility.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from jax import Array

from neurobo.acquisition.constraints import Feasibility
from neurobo.acquisition.expected_improvement import expected_improvement
from neurobo.algorithm.drawing import check_solver, smoothed
from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import options, register, set_gamma
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput, check_flag, check_number
from neurobo.networks.architectures import Architecture, FixedGamma, gamma_pair
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.mlp import MLP
from neurobo.networks.selection import network_for
from neurobo.search import trust_region as trust
from neurobo.search.trust_region import Region
from neurobo.surrogates.fantasies import with_fantasies
from neurobo.surrogates.hyperparameters import Hyper
from neurobo.surrogates.multi_output import (
    FixedHyper,
    OneOutput,
    OneOutputNetwork,
    hyper_for,
)


@options
class NeuralCBO:
    """Options of Neural-CBO; symbols are the text's."""

    beta: float | Literal["theory"] = 1.0
    """β of the constraints' bounds: mean minus √β standard deviations. "theory": as many as Lemma
    4.1.5 asks for, which grows with what the observations have told."""
    caution: float | None = 1.0
    """At every other suggestion a constraint's mean plus so many standard deviations must be
    feasible, so that good feasible points are found, too. None: never, as in the text."""
    width: int = 256
    depth: int = 1
    activation: str = "erf"
    """The text's ReLU networks have two layers; erf ones did better in our comparison."""
    solver: Literal["gauss-newton", "adam", "sgd"] = "gauss-newton"
    """"sgd" is the text's one pass over the data with steps of 0.001 (equation 4.2)."""
    sphere: bool = True
    """Whether inputs are put on a sphere, as the theory assumes, by one more column. False:
    networks see the box, as in the text's experiments."""
    trust_region: bool = True
    """Whether every other pair of suggestions, a hopeful and a cautious one, stays near the best
    point, as far away as the history says. False: never, as in the text."""
    gamma: FixedGamma | Literal["evidence"] = "evidence"
    """A number is both σ_w and σ_b, a pair one of each; "evidence" finds them, and ν and the noise
    of the objective and of each constraint."""
    noise: float | None = None
    """λ, the variance of the noise in standardised units, for a given `gamma`. None: 0, or by
    evidence."""

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        if self.beta != "theory":
            check_number("beta", self.beta, least=0)
        if self.caution is not None:
            least = 1.0 if self.beta == "theory" else float(np.sqrt(self.beta))
            check_number("caution", self.caution, least=-least)
        set_gamma(self, words=("evidence",))
        if self.noise is not None:
            check_number("noise", self.noise, least=0)
            if self.gamma == "evidence":
                raise InvalidInput(
                    f'noise must go with a given gamma, got noise={self.noise} and gamma="evidence"'
                )
        check_solver(self.solver, known=("adam", "gauss-newton", "sgd"))
        check_flag("sphere", self.sphere)
        check_flag("trust_region", self.trust_region)

    @classmethod
    def paper(cls, **changes: Any) -> NeuralCBO:
        """The settings of Neural-CBO, sections 4.1 and 4.3.1 of the thesis.

        Two hidden layers of ReLU units without biases (equation 4.1), U_0 = I and so λ = 1
        (Algorithm 3), β by Lemma 4.1.5, training by one pass of SGD with learning rate 0.001
        (equation 4.2). Networks see the box; no trust region and no cautious suggestions. The width
        is the budget T in the text: give `width=T`, here 100. Where no point satisfies the bounds
        the authors' program takes a random one, ours the likeliest to be feasible.
        """
        settings: dict[str, Any] = {
            "width": 100, "depth": 2, "activation": "relu", "gamma": (1.0, 0.0), "noise": 1.0,
            "beta": "theory", "caution": None, "solver": "sgd", "sphere": False,
            "trust_region": False,
        }  # fmt: skip
        return cls(**{**settings, **changes})

    @property
    def _fixed(self) -> FixedHyper | None:
        if isinstance(self.gamma, str):
            return None
        return FixedHyper(gamma_pair(self.gamma), self.noise or 0.0)

    @property
    def feasibility(self) -> Feasibility:
        return Feasibility(
            beta=self.beta,
            caution=self.caution,
            width=self.width,
            depth=self.depth,
            activation=self.activation,
            solver=self.solver,
            sphere=self.sphere,
            fixed=self._fixed,
        )

    def _network(self, data: Data) -> Architecture:
        return network_for(data.image, self.width, self.depth, self.activation, sphere=self.sphere)

    def surrogate(self, data: Data) -> OneOutputNetwork:
        return OneOutputNetwork(self._network(data), self.solver, self._fixed)

    def posterior(self, key: Array, data: Data) -> OneOutput:
        return self.surrogate(data).fit(key, data)

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        _, posterior = with_fantasies(self.surrogate(data), key, data)
        return Decision(expected_improvement(posterior, data), self._region(data, number))

    def _region(self, data: Data, number: int) -> Region | None:
        if not self.trust_region or not data.n or not number // 2 % 2:
            return None
        network = self._network(data)
        wide = InfiniteWidthMLP.of(network) if isinstance(network, MLP) else None
        gamma, scales, noises = hyper_for([data], network, self._fixed)
        hyper = Hyper(gamma, float(scales[0]), float(noises[0]), (1.0,) * data.x.shape[1])
        return Region(int(smoothed(data, wide, hyper).order[0]), trust.radius(data))


register(
    "neural-cbo",
    NeuralCBO,
    "Expected improvement where unknown constraints may hold.",
    paper=NeuralCBO.paper,
)
