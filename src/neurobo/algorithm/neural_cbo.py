"""Neural-CBO (Phan-Trong et al., "Neural-CBO: Black-box Optimization with Unknown Constraints",
Algorithm 3 of the thesis' chapter 4).

The objective and every constraint are networks that begin at zero. The next point has the largest
expected improvement where every constraint's lower confidence bound permits feasibility.

As soon as the observations suffice for a scale of each column, the networks' exact NTK GP takes
their place, with all hyper-parameters by evidence; `ard=False` keeps the networks.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from jax import Array

from neurobo.acquisition.constraints import Feasibility
from neurobo.acquisition.expected_improvement import expected_improvement
from neurobo.algorithm.drawing import check_solver, smoothed
from neurobo.algorithm.ntk_gp import NOISY, NTKGP
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
from neurobo.surrogates.gaussian_process import GPSurrogate
from neurobo.surrogates.hyperparameters import Hyper, unknown
from neurobo.surrogates.multi_output import FixedHyper, OneOutputNetwork
from neurobo.surrogates.posterior import Posterior
from neurobo.surrogates.wide_outputs import data_suffice


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
    """Whether every other pair of suggestions, an optimistic and a cautious one, stays near the
    best point, as far away as the history says. False: never, as in the text."""
    gamma: FixedGamma | Literal["evidence"] = "evidence"
    """A number is both σ_w and σ_b, a pair one of each; "evidence" finds them, and ν and the noise
    of the objective and of each constraint. Under noise it also replaces expected improvement on
    the lowest mean, which goes to the same point again and again, by noisy expected improvement of
    the NTK GP."""
    ard: bool = True
    """Whether objective and constraints have their NTK GP as surrogate, with a scale for each
    column, as soon as the observations suffice for that; only with γ by evidence and the solver
    "gauss-newton". False: always networks, as in the text."""
    warp: bool = True
    """Whether constraints are warped around their thresholds if the marginal likelihood prefers it.
    False: never, as in the text."""
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
        check_flag("warp", self.warp)
        check_flag("ard", self.ard)

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
            warp=self.warp,
            ard=self.ard and self._exact,
        )

    def _network(self, data: Data) -> Architecture:
        return network_for(data.image, self.width, self.depth, self.activation, sphere=self.sphere)

    def surrogate(self, data: Data) -> GPSurrogate | OneOutputNetwork:
        wide = self._wide(data)
        return self._networks(data) if wide is None else wide.surrogate(data)

    def posterior(self, key: Array, data: Data) -> Posterior:
        return self.surrogate(data).fit(key, data)

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        region, wide = self._region(data, number), self._wide(data)
        if wide is not None:
            return Decision(wide.decide(key, data, number).score, region)
        _, posterior = with_fantasies(self._networks(data), key, data)
        return Decision(expected_improvement(posterior, data), region)

    @property
    def _exact(self) -> bool:
        """Whether networks are trained to the end, so that their NTK GP may stand for them."""
        return self.solver == "gauss-newton" and self._fixed is None

    def _networks(self, data: Data) -> OneOutputNetwork:
        return OneOutputNetwork(self._network(data), self.solver, self._fixed)

    def _wide(self, data: Data) -> NTKGP | None:
        """The NTK GP if it stands for the network: where the observations suffice for a scale
        of each column, and under noise. None: the network."""
        if not self._exact or data.image is not None or not data.n:
            return None
        ard = self.ard and data_suffice(data)
        wide = NTKGP(depth=self.depth, activation=self.activation, ard=ard, sphere=self.sphere)
        return wide if ard or wide.hyper(data).noise >= NOISY else None

    def _region(self, data: Data, number: int) -> Region | None:
        if not self.trust_region or not data.n or not number // 2 % 2:
            return None
        means = smoothed(data, *self._limit(data))
        return Region(int(means.order[0]), trust.radius(data))

    def _limit(self, data: Data) -> tuple[InfiniteWidthMLP | None, Hyper]:
        """The NTK GP and its hyper-parameters; None: values are taken as observed."""
        columns = data.x.shape[1]
        if (wide := self._wide(data)) is not None:
            return wide.wide, wide.hyper(data)
        networks = self._networks(data)
        hyper = networks.hyper(data)
        if hyper is None or not isinstance(networks.network, MLP):
            return None, unknown(columns)
        found = Hyper(hyper.gamma, float(hyper.scales[0]), float(hyper.noises[0]), (1.0,) * columns)
        return InfiniteWidthMLP.of(networks.network), found


register(
    "neural-cbo",
    NeuralCBO,
    "Expected improvement under unknown constraints, with a network for each.",
    paper=NeuralCBO.paper,
)
