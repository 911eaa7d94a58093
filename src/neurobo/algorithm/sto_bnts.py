"""STO-BNTS and STO-BNTS-Linear (Dai et al., "Sample-Then-Optimize Batch Neural Thompson Sampling",
Algorithms 1 and 2).

Each point of a batch is the minimum of one posterior sample of the network's tangent kernel, so a
batch needs nothing but several samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from jax import Array

from neurobo.acquisition.exploration import sto_beta
from neurobo.algorithm.network_sampling import NetworkSampling
from neurobo.algorithm.protocols import Decision
from neurobo.algorithm.registry import options, register
from neurobo.data.observations import Data
from neurobo.errors import check_choice, check_count, check_flag, check_number
from neurobo.networks.keys import fold_in
from neurobo.surrogates.draws import Recipe, draws
from neurobo.training.gradient_descent import ADAM_STEPS


@options
class STOBNTS(NetworkSampling):
    """`sto-bnts`, `sto-bnts-linear`: neural Thompson sampling in batches.

    Sample-Then-Optimize Batch Neural Thompson Sampling (Dai et al.); symbols are the paper's.
    Suited to large batches, whose points spread. `STOBNTS.paper()` has the settings of the paper.
    """

    linear: bool = False
    """Whether only the network's tangent is trained (STO-BNTS-Linear, Algorithm 2): exact for the
    kernel of the finite network."""
    beta: float | Literal["theory"] = 1.0
    """β_t, the factor of the posterior's standard deviation; larger explores more. "theory" is that
    of Theorem 1 for a grid of 100 values in each column."""
    batch: int = 1
    """B, the number of points that are evaluated at the same time, for `beta="theory"`: t counts
    batches, and a history does not say which of its points were evaluated together."""
    perturb: bool = True
    """Whether the targets are perturbed with noise, as an exact posterior sample requires. False:
    as in the authors' program."""
    standardise: bool = True
    """Whether networks are trained on standardised values. False: on the original values, as in the
    authors' program; `noise` then has their units."""
    solver: Literal["gauss-newton", "adam"] = "gauss-newton"
    """How networks are trained: a few linear solves, or Adam as in the paper."""
    adam_steps: int = ADAM_STEPS
    """Number of steps of `solver="adam"`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("beta", self.beta, above=0, unless=("theory",))
        check_count("batch", self.batch)
        check_flag("standardise", self.standardise)
        check_choice("solver", self.solver, ("adam", "gauss-newton"))
        check_count("adam_steps", self.adam_steps)

    @classmethod
    def paper(cls, **changes: Any) -> STOBNTS:
        """The settings of STO-BNTS, section 5.5, and of the authors' program.

        Two hidden layers of 256 ReLU units (section 5.5), β_t = 1 (footnote 2). From the program:
        σ_w = 1.5, σ_b = 0.05, noise of standard deviation 0.1, values neither standardised nor
        perturbed, 10,000 steps of Adam with learning rate 0.001, the best of 10,000 random points
        (its further search hardly moved). Networks see the box, no trust region.
        `linear=True` is STO-BNTS-Linear, solved exactly. Not reproduced: the program uses one
        random key in every iteration. Its Lunar-Lander runs begin with 20 points.
        """
        settings: dict[str, Any] = {
            "width": 256, "depth": 2, "activation": "relu", "gamma": (1.5, 0.05), "noise": 0.01,
            "beta": 1.0, "perturb": False, "standardise": False, "solver": "adam",
            "adam_steps": 10_000, "candidates": 10_000, "sphere": False, "trust_region": None,
        }  # fmt: skip
        return cls(**{**settings, **changes})

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        return self.decide_batch(key, data, [number])[0]

    def decide_batch(self, key: Array, data: Data, numbers: Sequence[int]) -> list[Decision]:
        """A posterior sample for each number."""
        data = data if self.standardise else data.raw
        hyper = self.hyper(data)
        recipe = Recipe(
            network=self.network(data),
            gamma=hyper.gamma,
            noise=hyper.noise / hyper.scale**2,
            scale=hyper.scale * self._beta(data),  # β_t² of the variance, also of the noise's
            scales=hyper.scales,
            surrogate="linear" if self.linear else "posterior",
            solver=self.solver,
            adam_steps=self.adam_steps,
            perturbed=self.perturb,
        )
        keys = [fold_in(key, number) for number in numbers]
        samples = draws(keys, data, recipe)
        return self.decisions([sample for sample, _ in samples], data, numbers)

    def _beta(self, data: Data) -> float:
        if self.beta == "theory":
            return sto_beta(data.n // self.batch + 1, data.x.shape[1] * np.log(100))
        return self.beta


register(
    "sto-bnts",
    STOBNTS,
    "Neural Thompson sampling in batches: minimises a trained posterior sample.",
    paper=STOBNTS.paper,
)
register(
    "sto-bnts-linear",
    partial(STOBNTS, linear=True),
    "The same with the network's tangent: exact for the kernel of the finite network.",
    paper=partial(STOBNTS.paper, linear=True),
)
