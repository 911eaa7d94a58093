"""How much values and laws tell, and the factor ν of PINN-BO's theory that follows from it."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from neurobo.acquisition.exploration import pinn_nu
from neurobo.networks.information import information_gain, interaction_information
from neurobo.physics.conditioning import Known


def theory_nu(state: Known) -> float:
    """ν of Algorithm 4, which grows with what the values tell beyond the laws."""
    n, kappa = state.data.n, state.found.typical
    gram = np.asarray(state.rows.values_only.gram(None))[:n, :n] / kappa
    good = np.isfinite(state.law_ridge)
    cross = state.found.cross(state.data.x[:n])[:, good] / kappa
    among = state.found.among[np.ix_(good, good)] / kappa
    values, mixed, laws = (jnp.asarray(v) for v in (gram, cross, among))
    told = good.any()
    shared = float(interaction_information(values, mixed, laws, 1.0, 1.0)) if told else 0.0
    law_sd = np.sqrt(np.min(state.hyper.trust)) if told else 0.0
    gain = float(information_gain(values, 1.0))
    return pinn_nu(gain, shared, float(np.sqrt(state.hyper.noise)), float(law_sd))
