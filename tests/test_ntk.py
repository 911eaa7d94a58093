from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurobo.errors import InvalidInput
from neurobo.networks import MLP
from neurobo.ntk import kernels

GAMMA = np.array([1.4, 0.5])  # jnp would round it to float32 here


@pytest.mark.parametrize("activation", ["erf", "relu"])
@pytest.mark.parametrize("depth", [1, 2])
def test_wide_networks_approach_the_closed_forms(x64: None, activation: str, depth: int) -> None:
    """200 networks of width 512: an NNGP entry has a relative error of about sqrt(2/200) = 10 %,
    the NTK concentrates and is averaged as well."""
    network = MLP(width=512, depth=depth, activation=activation)
    x = jax.random.uniform(jax.random.key(0), (4, 3), minval=-1, maxval=1)

    @jax.jit
    def one(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        theta = network.init(key, 3)
        features = network.features(theta, jnp.asarray(GAMMA), x)
        return network.apply(theta, jnp.asarray(GAMMA), x), network.kernel(
            jnp.asarray(GAMMA), features, features
        )

    values, grams = jax.lax.map(one, jax.random.split(jax.random.key(1), 200))
    exact = kernels(x, x, jnp.asarray(GAMMA), depth=depth, activation=activation)
    scale = np.sqrt(np.outer(np.diag(exact.nngp), np.diag(exact.nngp)))
    np.testing.assert_allclose(values.T @ values / 200 / scale, exact.nngp / scale, atol=0.3)
    np.testing.assert_allclose(grams.mean(axis=0), exact.ntk, rtol=0.02)


def test_unknown_activations_are_refused() -> None:
    with pytest.raises(InvalidInput, match="got 'sin'"):
        kernels(jnp.ones((1, 1)), jnp.ones((1, 1)), jnp.asarray(GAMMA), activation="sin")
