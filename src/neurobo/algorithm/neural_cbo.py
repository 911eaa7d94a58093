"""Neural-CBO (Phan-Trong et al., "Neural-CBO: Black-box Optimization with Unknown Constraints",
Algorithm 3 of the thesis' chapter 4).

The objective and every constraint are networks that begin at zero. The next point has the largest
expected improvement where every constraint's lower confidence bound permits feasibility.

As soon as the observations suffice for a scale of each column, the NTK GP replaces the networks;
`ard=False` keeps them.
"""

from __future__ import annotations

from typing import Any, Literal

from jax import Array

from neurobo.acquisition.constraints import Feasibility, check_bounds
from neurobo.acquisition.noisy_improvement import improvement
from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import options, register, set_gamma
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput, check_choice, check_flag, check_number
from neurobo.networks.architectures import FixedGamma
from neurobo.networks.mlp import MLP
from neurobo.networks.selection import network_for
from neurobo.search import trust_region as trust
from neurobo.search.trust_region import Region
from neurobo.surrogates.gaussian_process import GPSurrogate
from neurobo.surrogates.multi_output import FixedHyper
from neurobo.surrogates.one_output import OneOutputNetwork
from neurobo.surrogates.posterior import Posterior
from neurobo.surrogates.smoothed_values import smoothed


@options
class NeuralCBO:
    """`neural-cbo`: expected improvement under unknown constraints, with a network for each.

    Neural-CBO (Phan-Trong et al.); symbols are the paper's. The other algorithms respect
    constraints, too. `NeuralCBO.paper()` has the settings of the paper.
    """

    beta: float | Literal["theory"] = 1.0
    """β of the constraints' bounds: mean minus √β standard deviations. "theory": as many as Lemma
    4.1.5 asks for, which grows with what the observations have told."""
    caution: float | None = 1.0
    """At every other suggestion a constraint's mean plus so many standard deviations must be
    feasible, so that good feasible points are found, too. None: never, as in the text."""
    width: int = 256
    """Units of each hidden layer."""
    depth: int = 1
    """Number of hidden layers."""
    activation: str = "erf"
    """The text's ReLU networks have two layers; erf ones did better in our comparison."""
    solver: Literal["gauss-newton", "adam", "sgd"] = "gauss-newton"
    """"sgd" is the text's one pass over the data with steps of 0.001 (equation 4.2)."""
    sphere: bool = True
    """Whether inputs are put on a sphere, as the theory assumes, by one more column. False:
    networks see the box, as in the text's experiments."""
    trust_region: bool = True
    """Whether every other pair of suggestions (one optimistic, one cautious) stays in a trust
    region around the best point. False: never, as in the text."""
    gamma: FixedGamma | Literal["evidence"] = "evidence"
    """γ: a number sets both σ_w and σ_b, a pair each. "evidence" chooses γ, ν and the noise of the
    objective and of each constraint by marginal likelihood; if it finds noise, the acquisition is
    noisy expected improvement of the NTK GP."""
    ard: bool = True
    """Whether the NTK GP with a scale for each column replaces the networks as soon as the
    observations suffice; only with `gamma="evidence"` and `solver="gauss-newton"`. False: always
    networks, as in the text."""
    warp: bool = True
    """Whether constraints are warped around their thresholds if the marginal likelihood prefers it.
    False: never, as in the text."""
    noise: float | None = None
    """λ, the variance of the noise in standardised units, for a given `gamma`. None: 0, or by
    evidence."""

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        check_bounds(self.beta, self.caution)
        set_gamma(self, words=("evidence",))
        check_number("noise", self.noise, least=0, unless=(None,))
        if self.noise is not None and self.gamma == "evidence":
            raise InvalidInput(
                f'noise must go with a given gamma, got noise={self.noise} and gamma="evidence"'
            )
        check_choice("solver", self.solver, ("adam", "gauss-newton", "sgd"))
        for flag in ("sphere", "trust_region", "warp", "ard"):
            check_flag(flag, getattr(self, flag))

    @classmethod
    def paper(cls, **changes: Any) -> NeuralCBO:
        """The settings of Neural-CBO, sections 4.1 and 4.3.1 of the thesis.

        Two hidden layers of ReLU units without biases (equation 4.1), U_0 = I and so λ = 1
        (Algorithm 3), β by Lemma 4.1.5, training by one pass of SGD with learning rate 0.001
        (equation 4.2). Networks see the box; no trust region, no cautious suggestions and no warped
        constraints. The width is the budget T in the text: give `width=T`, here 100. Where no point
        satisfies the bounds the authors' program takes a random one, ours the likeliest to be
        feasible. Not reproduced: output weights of -1 and 1 that are never trained (ours are
        normal, and trained), inputs that are not divided by √d (the text's prior variance is d
        times ours), the bounds' margin for finite networks, ℰ(m), of which only the order is known.
        """
        settings: dict[str, Any] = {
            "width": 100, "depth": 2, "activation": "relu", "gamma": (1.0, 0.0), "noise": 1.0,
            "beta": "theory", "caution": None, "solver": "sgd", "sphere": False,
            "trust_region": False, "warp": False, "ard": False,
        }  # fmt: skip
        return cls(**{**settings, **changes})

    @property
    def feasibility(self) -> Feasibility:
        return Feasibility(
            beta=self.beta, caution=self.caution, width=self.width, depth=self.depth,
            activation=self.activation, solver=self.solver, sphere=self.sphere,
            fixed=FixedHyper.given(self.gamma, self.noise), warp=self.warp,
            ard=self.ard and self.solver == "gauss-newton",
        )  # fmt: skip

    def surrogate(self, data: Data) -> GPSurrogate | OneOutputNetwork:
        size = (data.image, self.width, self.depth, self.activation)
        network, fixed = network_for(*size, sphere=self.sphere), self.feasibility.fixed
        return OneOutputNetwork(network, self.solver, fixed).or_ntk_gp(data, ard=self.ard)

    def posterior(self, key: Array, data: Data) -> Posterior:
        return self.surrogate(data).fit(key, data)

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        surrogate, region = self.surrogate(data), None
        if self.trust_region and data.n and number // 2 % 2:
            best = smoothed(data, *surrogate.infinite_width(data)).order[0]
            region = Region(int(best), trust.radius(data))
        return Decision(improvement(surrogate, key, data, number), region)


register(
    "neural-cbo",
    NeuralCBO,
    "Expected improvement under unknown constraints, with a network for each.",
    paper=NeuralCBO.paper,
)
