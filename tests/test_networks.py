from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from neurobo.errors import InvalidInput
from neurobo.networks import ACTIVATIONS, MLP
from neurobo.rows import GeneralRows, ValueRows

GAMMA = np.array([1.3, 0.4])  # jnp would round it to float32 here


def _jacobian(network: MLP, theta: object, x: jax.Array) -> np.ndarray:
    flat, restore = ravel_pytree(theta)
    return np.asarray(
        jax.jacobian(lambda t: network.apply(restore(t), jnp.asarray(GAMMA), x))(flat)
    )


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("depth", [1, 3])
def test_layer_wise_gram_equals_the_jacobian_s(x64: None, activation: str, depth: int) -> None:
    network = MLP(width=7, depth=depth, activation=activation)
    theta = network.init(jax.random.key(0), 3)
    x, other = jax.random.normal(jax.random.key(1), (2, 5, 3))
    j, k = _jacobian(network, theta, x), _jacobian(network, theta, other)
    np.testing.assert_allclose(
        ValueRows(network, jnp.asarray(GAMMA), x).gram(theta), j @ j.T, rtol=1e-10
    )
    cross = network.tangent_kernel(theta, jnp.asarray(GAMMA), x, other)
    np.testing.assert_allclose(cross, j @ k.T, rtol=1e-8, atol=1e-10)


def test_gram_by_rows_equals_the_layer_wise_one(x64: None) -> None:
    network = MLP(width=9, depth=2, activation="tanh")
    theta = network.init(jax.random.key(0), 2)
    x = jax.random.normal(jax.random.key(1), (11, 2))
    special = ValueRows(network, jnp.asarray(GAMMA), x)
    general = GeneralRows(lambda t, p: network.apply(t, jnp.asarray(GAMMA), p[None])[0], x, chunk=4)
    np.testing.assert_allclose(general.values(theta), special.values(theta), rtol=1e-12)
    np.testing.assert_allclose(general.gram(theta), special.gram(theta), rtol=1e-10)


def test_ntk_parameterisation(x64: None) -> None:
    """Parameters are N(0, 1); γ and the fan-in act in the forward pass."""
    network = MLP(width=3, depth=1, activation="relu")
    theta = network.init(jax.random.key(0), 4)
    x = jax.random.normal(jax.random.key(1), (6, 4))
    w, b = np.asarray(GAMMA)
    (w1, b1), (w2, b2) = jax.tree.map(np.asarray, theta)
    hidden = np.maximum(w / np.sqrt(4) * np.asarray(x) @ w1.T + b * b1, 0)
    expected = (w / np.sqrt(3) * hidden @ w2.T + b * b2)[:, 0]
    np.testing.assert_allclose(network.apply(theta, jnp.asarray(GAMMA), x), expected, rtol=1e-12)
    numbers = ravel_pytree(MLP(width=500, depth=2).init(jax.random.key(2), 10))[0]
    assert abs(float(numbers.mean())) < 0.01
    assert abs(float(numbers.std()) - 1) < 0.01


def test_the_last_layer_can_be_zeroed(x64: None) -> None:
    network = MLP(width=3)
    theta = network.init(jax.random.key(0), 2)
    zeroed = network.without_last_layer(theta)
    assert not any(leaf.any() for leaf in jax.tree.leaves(zeroed[-1]))
    np.testing.assert_array_equal(zeroed[0].weight, theta[0].weight)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "width must be a whole number of at least 1, got 0"),
        ({"depth": 0}, "depth must be a whole number of at least 1, got 0"),
        ({"activation": "cosh"}, "got 'cosh'"),
    ],
)
def test_bad_networks_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        MLP(**options)  # type: ignore[arg-type]
    assert message in str(error.value)
