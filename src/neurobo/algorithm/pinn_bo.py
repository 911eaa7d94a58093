"""PINN-BO (Phan-Trong, chapter 5 of the thesis, Algorithm 4): the objective obeys known laws.

Rows for the laws join those of the observations in one training problem; the next point is the
minimum of a posterior sample given both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from jax import Array

from neurobo.acquisition.physics_exploration import improves, theory_nu
from neurobo.acquisition.registry import acquire
from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import given_later, options, register, set_gamma
from neurobo.data.observations import Data
from neurobo.errors import check_choice, check_number
from neurobo.networks.architectures import FixedGamma, check_smooth, gamma_pair
from neurobo.networks.mlp import MLP
from neurobo.physics.laws import Laws
from neurobo.physics.surrogate import LawPosterior, PhysicsSurrogate
from neurobo.surrogates.draws import SURROGATES
from neurobo.surrogates.posterior import Function


@options
class PINNBO:
    """`pinn-bo`: posterior samples that satisfy a differential equation; needs `physics=`.

    PINN-BO (Phan-Trong, chapter 5 of the thesis); symbols are the paper's. `auto` uses it if
    `physics` is given. `PINNBO.paper()` has the settings of the paper.
    """

    surrogate: Literal["linear", "posterior", "simple"] = "linear"
    """"linear": the tangent of a network, for which Lemma 5.3.4 holds at any width; "posterior": a
    network trained as in PosteriorSMB; "simple": as in SimpleSMB, the paper's choice."""
    acquisition: Literal["auto", "ts", "ei"] = "auto"
    """"ts": Thompson sampling, as in the paper; "ei": log expected improvement; "auto": expected
    improvement at every other suggestion up to 4 columns, unless network and laws are so large that
    it takes seconds. Samples also go where a law may prove wrong."""
    nu: float | Literal["theory"] = 1.0
    """ν, the factor of the standard deviation; larger explores more. "theory" is that of Algorithm
    4, which grows with the information beyond the laws."""
    weight: float | Literal["evidence"] = "evidence"
    """λ1/λ2, the weight of a collocation point in comparison with an observation, for laws without
    their own `weight` or `noise`. "evidence": by marginal likelihood. 0: laws are ignored."""
    gamma: FixedGamma | Literal["evidence"] = "evidence"
    """γ: a number sets both σ_w and σ_b, a pair each; larger means less smooth. "evidence": chosen
    by marginal likelihood."""
    noise: float | None = None
    """Noise variance, in units of the standardised objective. None: by marginal likelihood."""
    width: int = 1024
    """Largest number of units of a layer; a single layer has fewer if there are many columns."""
    depth: int = 1
    """Number of hidden layers."""
    activation: str = "sin"
    """Activation, any but "relu": it must have derivatives of every order. The paper has tanh in
    two to four layers."""
    additive: bool | Literal["auto"] = "auto"
    """Whether the marginal likelihood may also choose a sum of functions of one column each.
    "auto": above 4 columns, where a few hundred collocation points say little to other networks."""

    laws: Laws | None = given_later(default=None)

    requires_physics = True

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        check_number("nu", self.nu, above=0, unless=("theory",))
        set_gamma(self, words=("evidence",))
        check_number("weight", self.weight, least=0, unless=("evidence",))
        check_number("noise", self.noise, least=0, unless=(None,))
        check_choice("additive", self.additive, (True, False, "auto"))
        check_choice("surrogate", self.surrogate, SURROGATES)
        check_choice("acquisition", self.acquisition, ("auto", "ts", "ei"))
        check_smooth(self.activation)

    @classmethod
    def paper(cls, **changes: Any) -> PINNBO:
        """The settings of PINN-BO, Algorithm 4 and section 5.4.1 of the thesis.

        A network of tanh units with N(0, 1) parameters is trained on values and laws, which count
        alike (equation 5.1), and minimised. Width and depth are chosen for each problem among 100,
        200, 500 and 2, 3, 4 in the text; here they are 200 and 2. Not reproduced: Gauss-Newton
        finds the minimum of (5.1) that the authors approach by gradient descent, whose learning
        rate they choose for each problem, at every suggestion instead of every tenth. Their
        programs ask for a law at 5,000 to 40,000 points, `PDE(..., n_points=)`, and begin with 10
        to 50 observations.
        """
        settings: dict[str, Any] = {
            "surrogate": "simple", "acquisition": "ts", "nu": 1.0, "weight": 1.0, "gamma": 1.0,
            "width": 200, "depth": 2, "activation": "tanh", "additive": False,
        }  # fmt: skip
        return cls(**{**settings, **changes})

    def with_laws(self, laws: Laws) -> PINNBO:
        return replace(self, laws=laws)

    def surrogate_for(self, number: int) -> PhysicsSurrogate:
        """For suggestion `number`, as the points of a law may be others in each."""
        assert self.laws is not None  # `check_physics` has seen to it
        nu, network = self.nu, MLP(self.width, self.depth, self.activation)
        return PhysicsSurrogate(
            laws=self.laws, number=number, network=network, surrogate=self.surrogate,
            nu=theory_nu if nu == "theory" else lambda state: nu, additive=self.additive,
            gamma=None if isinstance(self.gamma, str) else gamma_pair(self.gamma),
            noise=self.noise, weight=None if self.weight == "evidence" else self.weight,
        )  # fmt: skip

    def posterior(self, key: Array, data: Data) -> LawPosterior:
        return self.surrogate_for(0).fit(key, data)

    def sample(self, key: Array, data: Data, number: int) -> Function:
        return self.surrogate_for(number).sample(key, data, number)

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        return self.decide_batch(key, data, [number])[0]

    def decide_batch(self, key: Array, data: Data, numbers: Sequence[int]) -> list[Decision]:
        """The first of a batch, and as many more as do not depend on it: samples do not."""
        surrogate = self.surrogate_for(numbers[0])
        better = [improves(self.acquisition, self.surrogate_for(i), data, i) for i in numbers]
        if better[0]:
            return [Decision(acquire("ei", surrogate, key, data, numbers[0]))]
        sampled = numbers[: [*better, True].index(True)]
        if surrogate.laws.moving:
            return [Decision(self.sample(key, data, number)) for number in sampled]
        return [Decision(sample) for sample in surrogate.samples(key, data, sampled)]


register(
    "pinn-bo",
    PINNBO,
    "Posterior samples that satisfy a differential equation: needs physics=PDE(...).",
    paper=PINNBO.paper,
)
