"""How much to explore, by theory: what the papers' regret bounds ask for.

They are options; a constant explores less and does better in practice. All assume an objective
with a bound B on its norm in the space of the kernel: in standardised units, 1 by default.
"""

from __future__ import annotations

import numpy as np

DELTA = 0.1
"""The bounds hold with probability 1 - δ."""


def greedy_nu(
    information: float, noise_sd: float, *, bound: float = 1.0, delta: float = DELTA
) -> float:
    """ν_t = B + σ √(2 (I + 1 + log(2/δ))) ("Be Greedy", Theorem 3), for a kernel of at most 1.

    I is the information gain of the observations so far.
    """
    return bound + noise_sd * float(np.sqrt(2 * (information + 1 + np.log(2 / delta))))


def sto_beta(t: int, log_points: float, *, delta: float = DELTA) -> float:
    """β_t = 2 log(π² t² |X| / (3 δ)) (STO-BNTS, Theorem 1), for a domain of |X| points.

    It takes log |X|, as |X| itself may be too large for a number.
    """
    return float(2 * (np.log(np.pi**2 * t**2 / (3 * delta)) + log_points))


def neural_bo_nu(
    noise_sd: float, *, bound: float = 1.0, ridge: float = 1.0, alpha: float = DELTA
) -> float:
    """ν = √2 B + R/√λ √(2 log(1/α)) (Neural-BO, Theorem 1)."""
    return float(np.sqrt(2) * bound + noise_sd / np.sqrt(ridge) * np.sqrt(2 * np.log(1 / alpha)))


def pinn_nu(
    information: float,
    interaction: float,
    noise_sd: float,
    law_sd: float,
    *,
    bound: float = 1.0,
    delta: float = DELTA,
) -> float:
    """ν_t = B + R̃ √(2 γ_t - 2 I(f; Y; U) + log(1/δ)) with R̃² = R1² + R2² (PINN-BO, Lemma 5.3.8),
    for λ1 = λ2 = 1 and a kernel of about 1.

    γ_t is the information gain of the observations so far, I what observations and laws tell both.
    """
    left = max(2 * information - 2 * interaction, 0.0) + np.log(1 / delta)
    return float(bound + np.hypot(noise_sd, law_sd) * np.sqrt(left))


def cbo_beta(
    information: float, noise_sd: float, *, bound: float = 1.0, delta: float = DELTA
) -> float:
    """β_t = B + R √(γ_t + 2 + 2 log(1/δ)) (Neural-CBO, Lemma 4.1.5): how many standard deviations
    a constraint may be away from its mean."""
    return float(bound + noise_sd * np.sqrt(information + 2 + 2 * np.log(1 / delta)))
