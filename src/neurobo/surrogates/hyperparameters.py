"""Hyper-parameters of surrogates."""

from __future__ import annotations

from dataclasses import dataclass

NOISY = 1e-3
"""Smallest noise variance that counts, in units of the standardised objective."""
Logarithms = tuple[float, ...]
"""Of hyper-parameters, with or without those of columns."""


@dataclass(frozen=True)
class Hyper:
    """What the marginal likelihood chooses, in units of the standardised objective."""

    gamma: tuple[float, float]
    """σ_w and σ_b."""
    scale: float
    """ν: the function has the prior variance ν² Θ(x, x)."""
    noise: float
    """σ²: variance of the noise."""
    scales: tuple[float, ...]
    """Factors of the input columns."""


def unknown(columns: int) -> Hyper:
    """Before there are observations."""
    return Hyper((1.5, 1.0), 1.0, 0.0, (1.0,) * columns)
