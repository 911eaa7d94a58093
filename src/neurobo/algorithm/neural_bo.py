"""Neural-BO (Phan-Trong et al., "Neural-BO: A Black-box Optimization Algorithm using Deep Neural
Networks", Algorithm 1).

A network that starts at zero is trained on the data: the mean. Its uncertainty comes from the
gradients at the start, as for a Bayesian linear model. The next point is the minimum of a random
function with that mean and covariance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.acquisition.exploration import neural_bo_nu
from neurobo.acquisition.score import Score
from neurobo.acquisition.thompson_sampling import PointwiseSample
from neurobo.algorithm.network_sampling import NetworkSampling
from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import options, register
from neurobo.data.content_cache import cached
from neurobo.data.observations import Data
from neurobo.errors import check_choice, check_count, check_number
from neurobo.networks.architectures import Theta
from neurobo.networks.keys import fold_in
from neurobo.search.trust_region import RadiusOption
from neurobo.surrogates import linearised as tangents
from neurobo.surrogates.draws import Draw, Network, Recipe, draw
from neurobo.surrogates.posterior import Function


@options
class NeuralBO(NetworkSampling):
    """`neural-bo`: a trained network plus a posterior sample whose variance comes from its
    gradients.

    Neural-BO (Phan-Trong et al.); symbols are the paper's. `NeuralBO.paper()` has the settings of
    the paper.
    """

    sampling: Literal["function", "pointwise"] = "function"
    """"function": one function is sampled and minimised with gradients; "pointwise": an independent
    number at every point, as in the paper."""
    nu: float | Literal["theory"] = 0.3
    """ν, the factor of the standard deviation; larger explores more. The paper chooses among 0.1, 1
    and 10 for each problem. "theory" is that of Theorem 1."""
    update_every: int = 1
    """The network is trained after this many new observations; the variance shrinks with each."""
    width: int = 500
    depth: int = 1
    activation: str = "relu"
    trust_region: RadiusOption = "adaptive"
    solver: Literal["gauss-newton", "adam", "minibatch-sgd"] = "gauss-newton"
    """How the network is trained: a few linear solves, Adam, or "minibatch-sgd" as in the paper: 50
    epochs in batches of 50 with learning rate 0.001."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("update_every", self.update_every)
        check_number("nu", self.nu, above=0, unless=("theory",))
        check_choice("sampling", self.sampling, ("function", "pointwise"))
        check_choice("solver", self.solver, ("adam", "gauss-newton", "minibatch-sgd"))

    @classmethod
    def paper(cls, **changes: Any) -> NeuralBO:
        """The settings of Neural-BO, section 7 (thesis, 3.5.1), and of the authors' program.

        One hidden layer of 500 ReLU units without biases, λ = 0.01, training by SGD with batches of
        50, 50 epochs and learning rate 0.001; ν = 1, the middle of the values 0.1, 1 and 10 that
        the paper tries for each problem. From the program: independent normal numbers at 50,000
        Sobol points. Networks see the box, no trust region. The learning rate counts in NTK
        parameterisation, and values are standardised: the text says neither. Its first weights have
        variance 1/m for any number d of columns, ours are divided by √d: on this box its prior
        variance is d times ours, which a larger ν makes up for.
        """
        settings: dict[str, Any] = {
            "width": 500, "depth": 1, "activation": "relu", "gamma": (1.0, 0.0), "noise": 0.01,
            "nu": 1.0, "sampling": "pointwise", "solver": "minibatch-sgd", "candidates": 50_000,
            "sphere": False, "trust_region": None,
        }  # fmt: skip
        return cls(**{**settings, **changes})

    def posterior(self, key: Array, data: Data) -> tangents.Exact:
        """h(x; θ_t) and ν σ_t(x); the network's start θ0 is the same throughout a run."""
        # The network learns from the first observations, in units that later ones do not change.
        early, offset, unit = data.alone(np.arange(data.n - data.n % self.update_every))
        hyper = self.hyper(early)
        ridge = hyper.noise / hyper.scale**2  # λ
        recipe = Recipe(
            self.network(data), hyper.gamma, noise=ridge, scale=hyper.scale, surrogate="centred",
            perturbed=False, solver=self.solver,
        )  # fmt: skip
        mean, start = _trained(key, early.x[: early.n], early.y[: early.n], recipe)
        nu = self.nu
        if nu == "theory":
            nu = neural_bo_nu(float(np.sqrt(hyper.noise)), ridge=hyper.noise)
        scale = unit * hyper.scale
        mean = replace(mean, scale=_number(scale), offset=_number(offset))
        found = tangents.around(mean, data, nu=nu * scale, ridge=ridge, theta=start)
        assert isinstance(found, tangents.Exact)
        return found

    def sample(self, key: Array, data: Data, number: int) -> Function:
        return tangents.draw(fold_in(key, number), self.posterior(key, data))

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        score: Score
        if self.sampling == "function":
            score = self.sample(key, data, number)
        else:
            score = PointwiseSample(self.posterior(key, data), fold_in(key, number))
        return Decision(score, self.region(data, number), candidates=self.candidates)


def _number(value: float) -> Array:
    return jnp.asarray(np.asarray(value, dtype=float))


@cached
def _trained(
    key: Array, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], recipe: Recipe
) -> tuple[Draw, Theta]:
    """The mean and θ0. Pending points and `update_every` leave them as they were."""
    mean, _ = draw(key, Data.pad(x, y), recipe)
    minus = mean.parts[1]  # - f(x; θ0)
    assert isinstance(minus, Network)
    return mean, recipe.network.negated(minus.theta)


register(
    "neural-bo",
    NeuralBO,
    "A trained network plus a posterior sample whose variance comes from its gradients.",
    paper=NeuralBO.paper,
)
