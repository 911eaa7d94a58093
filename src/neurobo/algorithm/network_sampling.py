"""What the algorithms that minimise functions sampled by a network share: the network, its
hyper-parameters γ, ν and noise, and the trust region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neurobo.acquisition.score import Score
from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import given_later, options, set_gamma
from neurobo.data.observations import Data
from neurobo.errors import check_count, check_flag, check_number
from neurobo.networks.architectures import Architecture
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.mlp import MLP
from neurobo.networks.selection import network_for
from neurobo.search import trust_region as trust
from neurobo.search.trust_region import RadiusOption, Region, check_radius
from neurobo.surrogates.hyperparameter_choice import GammaOption, hyper_for
from neurobo.surrogates.hyperparameters import Hyper, Logarithms
from neurobo.surrogates.smoothed_values import smoothed


@options
class NetworkSampling:
    """Options that the algorithms with posterior samples of a network share."""

    gamma: GammaOption = "evidence"
    """γ, the standard deviations σ_w and σ_b of weights and biases; larger means less smooth.
    "evidence" maximises the marginal likelihood of the infinitely wide network over σ_w, σ_b, the
    scale ν and the noise. A number sets both, a pair each. "grid" chooses a number in the range
    [0.5, 5] of the "Be Greedy" paper by leave-one-out cross-validation."""
    noise: float | None = None
    """Noise variance, in units of the standardised objective. None: chosen by marginal likelihood,
    or 0 if `gamma` is given."""
    ard: bool = False
    """Whether each input column has a scale of its own (automatic relevance determination)."""
    width: int = 256
    """Units of each hidden layer."""
    depth: int = 2
    """Number of hidden layers."""
    activation: str = "relu"
    """Activation: "erf", "tanh", "relu", "gelu", "silu", "softplus" or "sin"."""
    sphere: bool = True
    """Whether inputs are mapped to a sphere by one more column, as the theory assumes; ignored with
    `ard`. False: networks see the box, as in the papers' experiments."""
    trust_region: RadiusOption = "auto"
    """Half-width of the trust region around the best point, which every other suggestion stays in;
    the whole box has 1. "auto": 0.4 above 6 columns; "adaptive": grows and shrinks with the
    history, above 6 columns. None: no trust region, as in the papers."""
    candidates: int | None = None
    """Number of Sobol points to choose from, without refinement, as in some of the authors'
    programs. None: Sobol points and perturbations of the best observations, refined with
    gradients."""

    start: Logarithms | None = given_later(default=None)

    def with_start(self, start: Logarithms) -> NetworkSampling:
        return replace(self, start=start)

    def __post_init__(self) -> None:
        MLP(self.width, self.depth, self.activation)
        set_gamma(self, words=("evidence", "grid"))
        check_flag("sphere", self.sphere)
        check_number("noise", self.noise, least=0, unless=(None,))
        if self.candidates is not None:
            check_count("candidates", self.candidates)
        check_radius(self.trust_region)

    def network(self, data: Data) -> Architecture:
        sphere = self.sphere and not self.ard
        return network_for(data.image, self.width, self.depth, self.activation, sphere=sphere)

    def hyper(self, data: Data) -> Hyper:
        network = self.network(data)
        return hyper_for(
            data, network, self.gamma, ard=self.ard, noise=self.noise, start=self.start
        )

    def decisions(
        self, samples: Sequence[Score], data: Data, numbers: Sequence[int]
    ) -> list[Decision]:
        """Samples as scores, each with its trust region."""
        return [
            Decision(sample, self.region(data, number), candidates=self.candidates)
            for sample, number in zip(samples, numbers, strict=True)
        ]

    def region(self, data: Data, number: int) -> Region | None:
        """Where to search for suggestion `number`; None: everywhere."""
        radius = trust.radius_of_sample(self.trust_region, data, number)
        if radius is None:
            return None
        network = self.network(data)
        wide = InfiniteWidthMLP.of(network) if isinstance(network, MLP) else None
        return Region(int(smoothed(data, wide, self.hyper(data)).order[0]), radius)
