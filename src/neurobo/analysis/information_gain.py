"""The terms of the papers' regret bounds as functions of kernel matrices; `theory.py` has the table
of their symbols and applies them to studies."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from neurobo.errors import InvalidInput, check_count, check_number
from neurobo.networks import information
from neurobo.networks.architectures import FixedGamma, gamma_pair
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.surrogates.hyperparameters import Hyper
from neurobo.training.blas_threads import one_blas_thread

Gram = Float[np.ndarray, "n n"]


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
    return wide_kernel(
        wide, Hyper(gamma_pair(gamma), 1.0, 0.0, (1.0,) * columns), np.asarray(points)
    )


def wide_kernel(wide: InfiniteWidthMLP, hyper: Hyper, x: Float[np.ndarray, "n d"]) -> Gram:
    """Θ of a wide network with its hyper-parameters."""
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


def _square(kernel: Gram) -> Gram:
    found = np.asarray(kernel, dtype=float)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise InvalidInput(f"a kernel must be a square matrix, got shape {found.shape}")
    return found
