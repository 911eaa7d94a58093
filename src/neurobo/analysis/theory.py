"""The quantities of the papers' regret bounds, as numbers: `neurobo.theory`.

| symbol     | here                       | where                                        |
|------------|----------------------------|----------------------------------------------|
| Θ          | `kernel`                   | neural tangent kernel of a wide network      |
| I(f; Y)    | `information_gain`         | Greedy, Theorem 3                            |
| γ_T        | `maximum_information_gain` | all of them                                  |
| d̃          | `effective_dimension`      | Neural-BO, remark 3.3.6 of the thesis        |
| T_init     | `initial_rounds`           | STO-BNTS, section 4.1                        |
| I(f; Y; U) | `interaction_information`  | PINN-BO, Lemma 5.3.6                         |
| N_r        | `collocation_count`        | PINN-BO, Lemma 5.3.8                         |

λ is the variance of the noise in the units of the kernel.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from neurobo.acquisition import physics_exploration
from neurobo.algorithm import NTKGP, PINNBO
from neurobo.analysis.information_gain import (
    collocation_count,
    effective_dimension,
    information_gain,
    initial_rounds,
    interaction_information,
    kernel,
    maximum_information_gain,
    wide_kernel,
)
from neurobo.analysis.predictions import Surrogate
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput, check_seed
from neurobo.integrations.history import is_study, trials_of
from neurobo.integrations.optuna.history import sign_of
from neurobo.physics.laws import bind
from neurobo.search.candidates import Box, sobol_points
from neurobo.space.search_space import Space, SpaceLike
from neurobo.training.blas_threads import one_blas_thread

__all__ = [
    "LawInformation",
    "Theory",
    "collocation_count",
    "effective_dimension",
    "information_gain",
    "initial_rounds",
    "interaction_information",
    "kernel",
    "law_information",
    "maximum_information_gain",
    "theory_of",
]

POINTS = 512
"""Of the domain, that the maximum information gain chooses from."""


class LawInformation(NamedTuple):
    """The information of values and laws in PINN-BO's model, in nats."""

    values: float
    """I(f; Y)."""
    shared: float
    """I(f; Y; U), the part that the laws have already."""
    nu: float
    """ν_t of Algorithm 4."""
    collocation: float
    """N_r for c_r = 1."""


def law_information(
    space: SpaceLike,
    history: Any,
    physics: Any,
    *,
    algorithm: PINNBO | None = None,
    seed: int | None = 0,
) -> LawInformation:
    """How much information a law has about the values of a history.

    Args:
        space: As for `suggest`.
        history: Results, or an Optuna study.
        physics: A `neurobo.PDE`, or several.
        algorithm: Its network and weights; by default those of `PINNBO()`.
        seed: Seed of the network.

    Returns:
        The terms of PINN-BO's bounds.
    """
    checked = Space.of(space)
    sign = sign_of(history) if is_study(history) else 1.0
    model = (algorithm or PINNBO()).with_laws(bind(physics, checked, sign=sign))
    data = Data.of(checked, trials_of(checked, history))
    if not data.n:
        raise InvalidInput("history must have at least one result, got none")
    with jax.enable_x64(True), one_blas_thread():
        state = model.surrogate_for(0).condition(jax.random.key(check_seed(seed)), data)
        gain, shared = physics_exploration.information(state)
        nu = physics_exploration.theory_nu(state)
        gram = np.asarray(state.rows.values_only.gram(None))[: data.n, : data.n]
        sizes = np.diag(state.found.among)[np.isfinite(state.law_ridge)]
    count = collocation_count(gram, state.ridge, float(np.sqrt(sizes.max()))) if len(sizes) else 0.0
    return LawInformation(gain, shared, nu, count)


@dataclass(frozen=True)
class Theory:
    """The terms of the bounds for the wide network that the marginal likelihood chooses."""

    observations: int
    noise: float
    """λ, in units of the standardised objective."""
    information: float
    """I(f; Y) of the observations."""
    maximum: float
    """γ_T of as many observations, by greedy choice."""
    effective_dimension: float
    initial_rounds: dict[int, int | None]
    """T_init for C = 1, by the size of the batch."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def sentences(self) -> list[str]:
        share = self.information / self.maximum if self.maximum else 1.0
        rounds = ", ".join(
            f"{'more than ' + str(10 * self.observations) if t is None else t} for batches of {b}"
            for b, t in self.initial_rounds.items()
        )
        return [
            f"The {self.observations} observations tell {self.information:.3g} nats about the "
            f"function, with noise of variance λ = {self.noise:.2g} (standardised).",
            f"As many points chosen greedily tell {self.maximum:.3g}, which is at least 63 % of "
            f"the maximum information gain γ_T; the observations have {share:.0%} of it.",
            f"The effective dimension is {self.effective_dimension:.3g}.",
            f"Points of uncertainty sampling that STO-BNTS' Theorem 1 asks for (C = 1): {rounds}.",
        ]


def theory_of(belief: Surrogate, batches: tuple[int, ...] = (2, 4, 8)) -> Theory:
    """The terms of the bounds for the observations of a surrogate.

    Args:
        belief: The surrogate, fitted to a study.
        batches: Sizes of batches to compute T_init for.

    Returns:
        Information gain, effective dimension and T_init.
    """
    data, model = belief.data, NTKGP()
    with jax.enable_x64(True), one_blas_thread():
        hyper = model.hyper(data)
    x = data.x[: data.n]
    seen = wide_kernel(model.wide, hyper, x)
    noise = max(hyper.noise, LEAST * float(np.mean(np.diag(seen))))
    rng, space = np.random.default_rng(0), belief.space
    whole = Box.of(space, data, None)
    domain = np.concatenate([x, space.inputs(sobol_points(space, whole, rng, POINTS))])
    gains = maximum_information_gain(wide_kernel(model.wide, hyper, domain), 10 * data.n, noise)
    return Theory(
        observations=data.n,
        noise=noise,
        information=information_gain(seen, noise),
        maximum=float(gains[data.n - 1]),
        effective_dimension=effective_dimension(seen, noise),
        initial_rounds={batch: initial_rounds(gains, batch) for batch in batches},
    )


LEAST = 1e-6
"""Noise counts as at least this share of the prior's variance: without noise all gains are
infinite."""
