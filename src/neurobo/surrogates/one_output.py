"""The one quantity of `multi_output` as a surrogate: a network trained from a fresh start."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.data.observations import Data
from neurobo.networks.architectures import Architecture
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.keys import fold_in
from neurobo.networks.mlp import MLP
from neurobo.surrogates import refit_schedule
from neurobo.surrogates.gaussian_process import GPSurrogate
from neurobo.surrogates.hyperparameters import NOISY, Hyper, unknown
from neurobo.surrogates.multi_output import FixedHyper, MultiOutput, MultiOutputHyper, learn
from neurobo.surrogates.wide_outputs import data_suffice


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class OneOutput:
    """The one quantity of `MultiOutput` as a posterior."""

    found: MultiOutput

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.found.mean(x)[0]

    def mean_and_sd(self, x: Float[Array, "n d"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        mean, sd = self.found.mean_and_sd(x)
        return mean[0], sd[0]


@dataclass(frozen=True)
class OneOutputNetwork:
    """A network trained from a fresh start, whenever there is something new to learn from."""

    network: Architecture
    solver: str = "gauss-newton"
    fixed: FixedHyper | None = None

    def fit(self, key: Array, data: Data) -> OneOutput:
        name = fold_in(key, data.n)
        return OneOutput(
            learn(name, [data], self.network, solver=self.solver, hyper=self.hyper(data))
        )

    def hyper(self, data: Data) -> MultiOutputHyper | None:
        """Those given, or those of the NTK GP by evidence. None: no NTK GP is known."""
        if self.fixed is not None:
            return self.fixed.of(1)
        if not isinstance(self.network, MLP):
            return None
        found = refit_schedule.scheduled(data, InfiniteWidthMLP.of(self.network))
        return MultiOutputHyper(found.gamma, np.array([found.scale]), np.array([found.noise]))

    def infinite_width(self, data: Data) -> tuple[InfiniteWidthMLP | None, Hyper]:
        """The network's NTK GP and its hyper-parameters; None if it is not known."""
        columns, hyper = data.x.shape[1], self.hyper(data)
        if hyper is None or not isinstance(self.network, MLP):
            return None, unknown(columns)
        found = Hyper(hyper.gamma, float(hyper.scales[0]), float(hyper.noises[0]), (1.0,) * columns)
        return InfiniteWidthMLP.of(self.network), found

    def or_ntk_gp(self, data: Data, *, ard: bool) -> OneOutputNetwork | GPSurrogate:
        """The network's NTK GP in its place: where the observations suffice for a scale of each
        column, if `ard` allows them, and under noise. Only if networks are trained to the end."""
        exact = self.solver == "gauss-newton" and self.fixed is None
        if not exact or not isinstance(self.network, MLP) or not data.n:
            return self
        ard, wide = ard and data_suffice(data), InfiniteWidthMLP.of(self.network)
        hyper = refit_schedule.scheduled(data, wide, ard=ard)
        return GPSurrogate(wide, hyper) if ard or hyper.noise >= NOISY else self
