"""How much values and laws tell, and the factor ν of PINN-BO's theory that follows from it."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from neurobo.acquisition.exploration import pinn_nu
from neurobo.data.observations import Data
from neurobo.networks.information import information_gain, interaction_information
from neurobo.physics.conditioning import Known
from neurobo.physics.networks import uncertainty_is_cheap
from neurobo.physics.surrogate import PhysicsSurrogate


def theory_nu(state: Known) -> float:
    """ν of Algorithm 4, which grows with what the values tell beyond the laws."""
    gain, shared = information(state)
    # Noise and λ1 in the units of the standardised objective. The posterior takes a law to be as
    # noisy as its λ2 says: R2/√λ2 = 1, or 0 if no law counts.
    law_sd = 1.0 if np.isfinite(state.law_ridge).any() else 0.0
    ridge = state.ridge * state.hyper.scale**2
    return pinn_nu(gain, shared, float(np.sqrt(state.hyper.noise)), law_sd, ridge=ridge)


def information(state: Known) -> tuple[float, float]:
    """I(f; Y) and I(f; Y; U) with the λ1 and λ2 of the posterior."""
    n, good = state.data.n, np.isfinite(state.law_ridge)
    values = jnp.asarray(np.asarray(state.rows.values_only.gram(None))[:n, :n])
    gain = float(information_gain(values, state.ridge))
    if not good.any():
        return gain, 0.0
    cross = state.found.cross(state.data.x[:n])[:, good]
    among = state.found.among[np.ix_(good, good)]
    mixed, laws, ridges = (jnp.asarray(v) for v in (cross, among, state.law_ridge[good]))
    return gain, float(interaction_information(values, mixed, laws, state.ridge, ridges))


def improves(acquisition: str, surrogate: PhysicsSurrogate, data: Data, number: int) -> bool:
    """Whether expected improvement makes suggestion `number`; else a posterior sample does."""
    if acquisition != "auto" or not data.n or number % 2:
        return acquisition == "ei" and data.n > 0
    rows = len(data.y) + surrogate.laws_at(data).rows
    return uncertainty_is_cheap(surrogate.network, data.x.shape[1], rows)
