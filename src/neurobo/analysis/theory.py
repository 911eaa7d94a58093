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
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from neurobo.acquisition import physics_exploration
from neurobo.algorithm import NTKGP, PINNBO
from neurobo.analysis.predictions import Surrogate
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput, check_count, check_number, check_seed
from neurobo.integrations.history import is_study, trials_of
from neurobo.integrations.optuna.history import sign_of
from neurobo.networks import information
from neurobo.networks.architectures import FixedGamma, gamma_pair
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.physics.laws import bind
from neurobo.search.candidates import Box, sobol_points
from neurobo.space.search_space import Space, SpaceLike
from neurobo.surrogates.hyperparameters import Hyper
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

Gram = Float[np.ndarray, "n n"]
POINTS = 512
"""Of the domain, that the maximum information gain chooses from."""


def kernel(
    points: Float[np.ndarray, "n d"],
    *,
    gamma: FixedGamma = 1.5,
    depth: int = 1,
    activation: str = "erf",
    sphere: bool = False,
) -> Gram:
    """The neural tangent kernel of an infinitely wide network between points of [-1, 1]^d.

    Args:
        points: The points, one in each row.
        gamma: γ: a number sets both σ_w and σ_b, a pair each.
        depth: Number of hidden layers.
        activation: Activation of the network.
        sphere: Whether inputs are mapped to a sphere by one more column.

    Returns:
        The matrix Θ.
    """
    wide = InfiniteWidthMLP(depth, activation, sphere=sphere)
    columns = np.asarray(points).shape[1]
    return _kernel(wide, Hyper(gamma_pair(gamma), 1.0, 0.0, (1.0,) * columns), np.asarray(points))


def _kernel(wide: InfiniteWidthMLP, hyper: Hyper, x: Float[np.ndarray, "n d"]) -> Gram:
    with jax.enable_x64(True), one_blas_thread():
        gamma, scales, at = (jnp.asarray(v) for v in (hyper.gamma, hyper.scales, x))
        found = wide.between(at, at, gamma, scales)
        # The angle between a point and itself is lost to rounding, where ReLU's kernel is steep.
        found = jnp.fill_diagonal(found, wide.variance(at, gamma, scales), inplace=False)
        return hyper.scale**2 * np.asarray(found)


def information_gain(kernel: Gram, noise: float) -> float:
    """I(f; Y) = ½ log det(I + K/λ), the information that observations have about the function.

    Args:
        kernel: K, between the observations.
        noise: λ.

    Returns:
        The information gain in nats.
    """
    check_number("noise", noise, above=0)
    with jax.enable_x64(True):
        return float(information.information_gain(jnp.asarray(_square(kernel)), noise))


def interaction_information(
    values: Gram,
    cross: Float[np.ndarray, "n m"],
    laws: Float[np.ndarray, "m m"],
    noise: float,
    law_noise: float | Float[np.ndarray, " m"],
) -> float:
    """I(f; Y; U), the information that observations and a differential equation share.

    Args:
        values: ΦΦᵀ, the kernel between observations.
        cross: ΦΩᵀ, between observations and rows of the law.
        laws: ΩΩᵀ.
        noise: λ1.
        law_noise: λ2, one for all rows or one for each.

    Returns:
        The interaction information in nats.
    """
    with jax.enable_x64(True):
        k, mixed, among = (jnp.asarray(np.asarray(v, dtype=float)) for v in (values, cross, laws))
        law_ridge = jnp.asarray(law_noise)
        return float(information.interaction_information(k, mixed, among, noise, law_ridge))


def maximum_information_gain(kernel: Gram, rounds: int, noise: float) -> Float[np.ndarray, " T"]:
    """The maximum information gain γ_t for t = 1 … T, by greedy choice.

    γ_T = max ½ log det(I + K_A/λ) over T points, repetitions included, is hard to find; the greedy
    choice, always the most uncertain point, has at least 1 - 1/e = 63 % of it.

    Args:
        kernel: Between the points of the domain, for example Sobol points.
        rounds: T.
        noise: λ.

    Returns:
        γ_1 … γ_T, at least 63 % of the true ones.
    """
    check_count("rounds", rounds)
    check_number("noise", noise, above=0)
    left = np.array(_square(kernel))
    gains = np.zeros(rounds)
    for t in range(rounds):
        best = int(np.argmax(np.diag(left)))
        gains[t] = np.log1p(left[best, best] / noise) / 2
        left -= np.outer(left[best], left[best]) / (left[best, best] + noise)
    return np.cumsum(gains)


def effective_dimension(kernel: Gram, noise: float) -> float:
    """The effective dimension d̃ = log det(I + K/λ) / log(1 + n/λ) of n observations.

    Args:
        kernel: K, between the observations.
        noise: λ.

    Returns:
        d̃.
    """
    check_number("noise", noise, above=0)
    n = len(_square(kernel))
    logdet = np.linalg.slogdet(np.eye(n) + kernel / noise)[1]
    return float(logdet / np.log1p(n / noise)) if n else 0.0


def initial_rounds(gains: Float[np.ndarray, " T"], batch: int, *, bound: float = 1.0) -> int | None:
    """T_init, after how many points of uncertainty sampling batches of B cost a constant factor
    e^C at most: the first t with (B - 1) γ_t/t ≤ C.

    Args:
        gains: γ_1, γ_2, … of `maximum_information_gain`.
        batch: B.
        bound: C.

    Returns:
        T_init; 0 for B = 1, None if it is later than the gains go.
    """
    check_count("batch", batch)
    check_number("bound", bound, above=0)
    if batch == 1:
        return 0
    enough = (batch - 1) * np.asarray(gains) / np.arange(1, len(gains) + 1) <= bound
    return int(np.argmax(enough)) + 1 if enough.any() else None


def collocation_count(kernel: Gram, noise: float, law_size: float, *, factor: float = 1.0) -> float:
    """The number of collocation points N_r = c_r (1 + ρ_min(K_uu)/λ1)/L².

    Args:
        kernel: K_uu, between the observations.
        noise: λ1.
        law_size: L, a bound of ‖ω(z)‖, the gradient of a law's row by the parameters.
        factor: c_r, of which the text only says that it is positive.

    Returns:
        N_r.
    """
    for name, value in (("noise", noise), ("law_size", law_size), ("factor", factor)):
        check_number(name, value, above=0)
    least = max(float(np.linalg.eigvalsh(_square(kernel))[0]), 0.0)
    return factor * (1 + least / noise) / law_size**2


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
    seen = _kernel(model.wide, hyper, x)
    noise = max(hyper.noise, LEAST * float(np.mean(np.diag(seen))))
    rng, space = np.random.default_rng(0), belief.space
    whole = Box.of(space, data, None)
    domain = np.concatenate([x, space.inputs(sobol_points(space, whole, rng, POINTS))])
    gains = maximum_information_gain(_kernel(model.wide, hyper, domain), 10 * data.n, noise)
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


def _square(kernel: Gram) -> Gram:
    found = np.asarray(kernel, dtype=float)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise InvalidInput(f"a kernel must be a square matrix, got shape {found.shape}")
    return found
