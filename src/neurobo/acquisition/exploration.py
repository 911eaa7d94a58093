"""How much to explore, by theory: what the papers' regret bounds ask for.

They are options; a constant explores less and does better in practice. All assume an objective
with a bound B on its norm in the space of the kernel: in standardised units, 1 by default.

Noise enters as R/√λ, where R is its standard deviation and λ the variance that the posterior
assumes, both in the units of the kernel. The papers set λ to about 1 (Greedy: 1 + 2/T, Neural-BO:
1 + 1/T, Neural-CBO: 1), where that is R; a posterior that assumes the noise it has makes it 1.
"""

from __future__ import annotations

import numpy as np

DELTA = 0.1
"""The bounds hold with probability 1 - δ."""


def relative_noise(noise_sd: float, ridge: float) -> float:
    """R/√λ; 0 without noise, however small λ is."""
    return float(noise_sd / np.sqrt(ridge)) if noise_sd else 0.0


def greedy_nu(
    information: float,
    noise_sd: float,
    *,
    ridge: float = 1.0,
    bound: float = 1.0,
    delta: float = DELTA,
) -> float:
    """ν_t = B + R/√λ √(2 (I + 1 + log(2/δ))) ("Be Greedy", Theorem 3), for a kernel of at most 1.

    I is the information gain of the observations so far, with the same λ.
    """
    noise = relative_noise(noise_sd, ridge)
    return bound + noise * float(np.sqrt(2 * (information + 1 + np.log(2 / delta))))


def sto_beta(t: int, log_points: float, *, delta: float = DELTA) -> float:
    """β_t = 2 log(π² t² |X| / (3 δ)) (STO-BNTS, Theorem 1), for a domain of |X| points.

    t counts batches. It takes log |X|, as |X| itself may be too large for a number.
    """
    return float(2 * (np.log(np.pi**2 * t**2 / (3 * delta)) + log_points))


def neural_bo_nu(
    noise_sd: float, *, bound: float = 1.0, ridge: float = 1.0, alpha: float = DELTA
) -> float:
    """ν = √2 B + R/√λ √(2 log(1/α)) (Neural-BO, Theorem 1)."""
    noise = relative_noise(noise_sd, ridge)
    return float(np.sqrt(2) * bound + noise * np.sqrt(2 * np.log(1 / alpha)))


def pinn_nu(
    information: float,
    interaction: float,
    noise_sd: float,
    law_sd: float,
    *,
    ridge: float = 1.0,
    law_ridge: float = 1.0,
    bound: float = 1.0,
    delta: float = DELTA,
) -> float:
    """ν_t = B + R̃ √(2 γ_t - 2 I(f; Y; U) + log(1/δ)) with R̃² = R1²/λ1 + R2²/λ2 (PINN-BO, Lemma
    5.3.8).

    The text writes R/λ, which is the same at λ = 1, but no pure number elsewhere. γ_t is the
    information gain of the observations so far, I what observations and laws tell both.
    """
    left = max(2 * information - 2 * interaction, 0.0) + np.log(1 / delta)
    both = np.hypot(relative_noise(noise_sd, ridge), relative_noise(law_sd, law_ridge))
    return float(bound + both * np.sqrt(left))


def cbo_beta(
    information: float,
    noise_sd: float,
    *,
    ridge: float = 1.0,
    bound: float = 1.0,
    delta: float = DELTA,
) -> float:
    """β_t = B + R/√λ √(γ_t + 2 + 2 log(1/δ)) (Neural-CBO, Lemma 4.1.5): how many standard
    deviations a constraint may be away from its mean."""
    noise = relative_noise(noise_sd, ridge)
    return float(bound + noise * np.sqrt(information + 2 + 2 * np.log(1 / delta)))
