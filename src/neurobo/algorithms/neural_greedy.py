"""Neural Greedy (Paria et al., "Be Greedy", Algorithms 1 to 3).

Train a fresh random network on the data and go where it is lowest. The random start of the network
is the exploration: a wide network trained this way is a draw from a Gaussian process.
"""

from __future__ import annotations

import math
from typing import Literal

from jax import Array

from neurobo.algorithms.base import options, register
from neurobo.data import Data
from neurobo.errors import InvalidInput
from neurobo.maximise import Score
from neurobo.networks import MLP
from neurobo.posterior import SOLVERS, draw


@options
class NeuralGreedy:
    """Options of Neural Greedy; symbols are the paper's."""

    surrogate: Literal["simple", "posterior"] = "simple"
    """SimpleSMB (Algorithm 2), or PosteriorSMB (Algorithm 3): Thompson sampling when wide."""
    gamma: float = 2.0
    """γ = σ_w = σ_b: larger means less smooth."""
    noise: float = 0.0
    """σ²: variance of the noise, in units of the standardised objective."""
    scale: float = 1.0
    """ν: larger explores more."""
    width: int = 1024
    depth: int = 1
    activation: str = "tanh"
    solver: Literal["gauss-newton", "adam"] = "gauss-newton"
    trust_region: float | None = None
    """Every other suggestion stays within this half-width (whole box: 2) of the best point."""

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        for name, low in (("gamma", 0.0), ("scale", 0.0), ("noise", -1e-300)):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and math.isfinite(value) and value > low):
                rule = "at least 0" if name == "noise" else "positive"
                raise InvalidInput(f"{name} must be {rule} and finite, got {value!r}")
        if self.surrogate not in ("simple", "posterior"):
            raise InvalidInput(
                f"surrogate must be 'simple' or 'posterior', got {self.surrogate!r}"
            )
        if self.solver not in SOLVERS:
            raise InvalidInput(f"solver must be one of {sorted(SOLVERS)}, got {self.solver!r}")
        if self.trust_region is not None and not 0 < self.trust_region <= 2:
            raise InvalidInput(
                f"trust_region must be None or in (0, 2], got {self.trust_region!r}"
            )

    def score(self, key: Array, data: Data) -> Score:
        drawn, _ = draw(
            key,
            data,
            network=MLP(self.width, self.depth, self.activation),
            gamma=(self.gamma, self.gamma),
            noise=self.noise,
            scale=self.scale,
            corrected=self.surrogate == "posterior",
            solver=self.solver,
        )
        return drawn

    def radius(self, data: Data, number: int) -> float | None:
        return self.trust_region if number % 2 else None


register("neural-greedy", NeuralGreedy, "Train a fresh network, go to its minimum (SimpleSMB).")
register(
    "neural-greedy-posterior",
    lambda: NeuralGreedy(surrogate="posterior"),
    "The same with a posterior draw: neural Thompson sampling (PosteriorSMB).",
)
