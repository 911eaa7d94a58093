"""Neural Greedy (Paria et al., "Be Greedy", Algorithms 1 to 3).

Train a fresh random network on the data and go where it is lowest. The random start of the network
is the exploration: a wide network trained this way is a draw from a Gaussian process.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import jax
import numpy as np
from jax import Array

from neurobo import evidence
from neurobo.algorithms.base import options, register
from neurobo.algorithms.settings import (
    Gammas,
    Region,
    check_gamma,
    check_region,
    hyper_for,
    network_for,
    radius_for,
)
from neurobo.data import Data
from neurobo.errors import InvalidInput, check_number
from neurobo.evidence import Hyper
from neurobo.maximise import Score
from neurobo.networks import MLP
from neurobo.ntk import Wide
from neurobo.posterior import SOLVERS, SURROGATES, Recipe, draws
from neurobo.schedules import greedy_nu


@options
class NeuralGreedy:
    """Options of Neural Greedy; symbols are the paper's."""

    surrogate: Literal["simple", "posterior", "linear"] = "simple"
    """SimpleSMB (Algorithm 2), or PosteriorSMB (Algorithm 3): Thompson sampling when wide; or only
    the network's tangent, which is Thompson sampling at any width."""
    gamma: Gammas = "evidence"
    """γ: larger means less smooth. "evidence" finds σ_w, σ_b, ν and the noise by the marginal
    likelihood of the wide limit. A number is both σ_w and σ_b; "grid" finds it in the paper's
    range [0.5, 5] by leaving one observation out."""
    noise: float | None = None
    """Variance of the noise, in units of the standardised objective. None: by evidence, or 0."""
    scale: float | Literal["theory"] = 1.0
    """ν, or a factor of it if it comes from the evidence: larger explores more. "theory" is the
    factor ν_t of Theorem 3, which grows with the information gained from noisy values."""
    ard: bool = False
    """Whether the evidence gives each input column a scale of its own."""
    width: int = 1024
    depth: int = 1
    activation: str = "erf"
    """The paper's tanh looks the same, but the kernel of erf has a short closed form."""
    solver: Literal["gauss-newton", "adam"] = "gauss-newton"
    restless: bool = True
    """Explore more, by a larger ν, when the run has settled. False: the paper's algorithm."""
    trust_region: Region = None
    """Every other suggestion stays within this half-width (whole box: 2) of the best point.
    "auto": 0.4 above 6 columns. None: never, as in the paper."""

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        check_gamma(self.gamma)
        if self.scale != "theory":
            check_number("scale", self.scale, above=0)
        if self.noise is not None:
            check_number("noise", self.noise, least=0)
        if self.surrogate not in SURROGATES:
            raise InvalidInput(
                f"surrogate must be one of {list(SURROGATES)}, got {self.surrogate!r}"
            )
        if self.solver not in SOLVERS:
            raise InvalidInput(f"solver must be one of {sorted(SOLVERS)}, got {self.solver!r}")
        check_region(self.trust_region)

    def score(self, key: Array, data: Data, number: int) -> Score:
        return self.scores(key, data, [number])[0]

    def scores(self, key: Array, data: Data, numbers: Sequence[int]) -> list[Score]:
        """A batch: one draw for each number."""
        network = network_for(data, width=self.width, depth=self.depth, activation=self.activation)
        hyper = hyper_for(data, network, self.gamma, ard=self.ard, noise=self.noise)
        scale = hyper.scale * self._factor(data, hyper)
        recipe = Recipe(
            network=network,
            gamma=hyper.gamma,
            noise=hyper.noise / scale**2,
            scale=scale * (_restlessness(data) if self.restless else 1.0),
            scales=hyper.scales,
            surrogate=self.surrogate,
            solver=self.solver,
        )
        keys = [jax.random.fold_in(key, number) for number in numbers]
        return [drawn for drawn, _ in draws(keys, data, recipe)]

    def _factor(self, data: Data, hyper: Hyper) -> float:
        if self.scale != "theory":
            return self.scale
        wide = Wide(self.depth, self.activation)
        return greedy_nu(evidence.information(data, wide, hyper), float(np.sqrt(hyper.noise)))

    def radius(self, data: Data, number: int) -> float | None:
        return radius_for(self.trust_region, data, number)


def _restlessness(data: Data) -> float:
    """A factor for ν: 1, but up to 32 at every other turn when the best point is crowded.

    Without noise a draw has little doubt near its data, so a greedy run can settle in a dip that
    is not the best. Observations within 1 % of the box around the best one are the sign of it.
    """
    if data.n % 2 or not data.n:
        return 1.0
    x = data.x[: data.n]
    distance = np.sqrt(np.mean((x - x[data.order[0]]) ** 2, axis=1))
    crowd = int(np.sum(distance < 0.02)) - 1
    return float(2 ** (min(max(crowd - 3, 0), 10) / 2))


register("neural-greedy", NeuralGreedy, "Train a fresh network, go to its minimum (SimpleSMB).")
register(
    "neural-greedy-posterior",
    partial(NeuralGreedy, surrogate="posterior"),
    "The same with a posterior draw: neural Thompson sampling (PosteriorSMB).",
)
