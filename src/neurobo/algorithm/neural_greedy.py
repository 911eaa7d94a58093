"""Neural Greedy (Paria et al., "Be Greedy", Algorithms 1 to 3).

Train a network with fresh random parameters on the data and suggest its minimum. The random
initialisation is the exploration: a wide network trained this way is a sample of a Gaussian
process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from jax import Array

from neurobo.acquisition.crowding import crowding_factor
from neurobo.acquisition.exploration import greedy_nu
from neurobo.algorithm.network_sampling import NetworkSampling
from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import options, register
from neurobo.data.observations import Data
from neurobo.errors import check_choice, check_count, check_number
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.keys import fold_in
from neurobo.search.trust_region import RadiusOption
from neurobo.surrogates import marginal_likelihood
from neurobo.surrogates.draws import SURROGATES, Recipe, draws
from neurobo.surrogates.hyperparameters import Hyper
from neurobo.training.gradient_descent import ADAM_STEPS


@options
class NeuralGreedy(NetworkSampling):
    """`neural-greedy`: trains a network with fresh random parameters and suggests its minimum.

    SimpleSMB and PosteriorSMB of "Be Greedy" (Paria et al.); symbols are the paper's. Suited to
    smooth objectives with many parameters. `NeuralGreedy.paper()` has the settings of the paper.
    """

    surrogate: Literal["simple", "posterior", "linear"] = "simple"
    """"simple": SimpleSMB (Algorithm 2); "posterior": PosteriorSMB (Algorithm 3), which is Thompson
    sampling for wide networks; "linear": only the network's tangent, which is Thompson sampling at
    any width."""
    scale: float | Literal["theory"] = 1.0
    """ν, the scale of the sample, or a factor of it if ν is chosen by marginal likelihood; larger
    explores more. "theory" is the factor ν_t of Theorem 3, which grows with the information
    gain."""
    width: int = 1024
    depth: int = 1
    activation: str = "erf"
    """Activation: "erf", "tanh", "relu", "gelu", "silu", "softplus" or "sin". The paper has tanh;
    erf looks the same, and its kernel has a short closed form."""
    solver: Literal["gauss-newton", "adam"] = "gauss-newton"
    """How networks are trained: a few linear solves, or Adam as in the paper."""
    adam_steps: int = ADAM_STEPS
    """Number of steps of `solver="adam"`."""
    restless: bool = True
    """Whether to explore more, by a larger ν, when the points cluster around the best one. False:
    the paper's algorithm."""
    trust_region: RadiusOption = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("scale", self.scale, above=0, unless=("theory",))
        check_choice("surrogate", self.surrogate, SURROGATES)
        check_choice("solver", self.solver, ("adam", "gauss-newton"))
        check_count("adam_steps", self.adam_steps)

    @classmethod
    def paper(cls, **changes: Any) -> NeuralGreedy:
        """The settings of "Be Greedy", appendix F.2, and of the thesis, appendix A.

        One hidden layer of 5000 tanh units, ν = 1, σ² = 0, 5000 steps of Adam with learning rate
        0.001, networks that see the box, no trust region. `surrogate="posterior"` is PosteriorSMB.
        The paper tunes γ in [0.5, 5] for each problem by its regret; here leaving one observation
        out chooses it from that range. Its 10 descents from random points are our search, with
        gradients. Its start is `n_startup_trials="paper"`, in the thesis with `start="lhs"`.
        The output has a bias, as in appendix B; in appendix F.2 that bias begins at 0. Adam's
        learning rate counts in NTK parameterisation, F.2 has the standard one.
        """
        settings: dict[str, Any] = {
            "width": 5000, "depth": 1, "activation": "tanh", "gamma": "grid", "noise": 0.0,
            "scale": 1.0, "solver": "adam", "adam_steps": 5000, "restless": False,
            "sphere": False, "trust_region": None,
        }  # fmt: skip
        return cls(**{**settings, **changes})

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        return self.decide_batch(key, data, [number])[0]

    def decide_batch(self, key: Array, data: Data, numbers: Sequence[int]) -> list[Decision]:
        """A posterior sample for each number."""
        hyper = self.hyper(data)
        if self.scale != "theory":
            hyper = replace(hyper, scale=hyper.scale * self.scale)
        factor = self._theory_nu(data, hyper) if self.scale == "theory" else 1.0
        recipe = Recipe(
            network=self.network(data),
            gamma=hyper.gamma,
            noise=hyper.noise / hyper.scale**2,  # λ, which ν_t leaves as it is (Proposition 2)
            scale=factor * hyper.scale * (crowding_factor(data) if self.restless else 1.0),
            scales=hyper.scales,
            surrogate=self.surrogate,
            solver=self.solver,
            adam_steps=self.adam_steps,
        )
        keys = [fold_in(key, number) for number in numbers]
        samples = draws(keys, data, recipe)
        return self.decisions([sample for sample, _ in samples], data, numbers)

    def _theory_nu(self, data: Data, hyper: Hyper) -> float:
        wide = InfiniteWidthMLP(self.depth, self.activation, sphere=self.sphere and not self.ard)
        information = marginal_likelihood.information(data, wide, hyper)
        return greedy_nu(information, float(np.sqrt(hyper.noise)), ridge=hyper.noise)


register(
    "neural-greedy",
    NeuralGreedy,
    "Trains a network with fresh random parameters and suggests its minimum (SimpleSMB).",
    paper=NeuralGreedy.paper,
)
register(
    "neural-greedy-posterior",
    partial(NeuralGreedy, surrogate="posterior"),
    "The same with a posterior sample: neural Thompson sampling (PosteriorSMB).",
    paper=partial(NeuralGreedy.paper, surrogate="posterior"),
)
