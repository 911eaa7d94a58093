from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from neurobo.errors import InvalidInput
from neurobo.networks.additive import Additive
from neurobo.networks.architectures import ACTIVATIONS, Architecture
from neurobo.networks.cnn import CNN
from neurobo.networks.mlp import MLP
from neurobo.training.residuals import GeneralRows, ValueRows

GAMMA = np.array([1.3, 0.4])  # jnp would round it to float32 here


def _jacobian(network: Architecture, theta: object, x: jax.Array) -> np.ndarray:
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


def test_a_sum_of_functions_of_one_column(x64: None) -> None:
    network = Additive(width=10)
    theta = network.init(jax.random.key(0), 3)
    x, other = jax.random.normal(jax.random.key(1), (2, 5, 3))
    gamma = jnp.asarray(GAMMA)
    j, k = _jacobian(network, theta, x), _jacobian(network, theta, other)
    cross = network.tangent_kernel(theta, gamma, x, other)
    np.testing.assert_allclose(cross, j @ k.T, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(network.tangent_size(theta, gamma, x), np.sum(j**2, 1), rtol=1e-10)
    # Mixed differences vanish: f(a, b) - f(a, b') does not depend on a.
    grid = np.array([[a, b, 0.3] for a in (0.1, -0.8) for b in (0.5, 0.9)])
    f = np.asarray(network.apply(theta, gamma, jnp.asarray(grid)))
    assert f[0] - f[1] == pytest.approx(f[2] - f[3], rel=1e-10)


@pytest.mark.slow
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


def test_a_cnn_is_the_convolution_it_says(x64: None) -> None:
    network = CNN((5, 6, 2), channels=3, width=4, activation="relu")
    theta = network.init(jax.random.key(0), 60)
    x = jax.random.normal(jax.random.key(1), (7, 60))
    w, b = GAMMA
    kernel = theta[0].weight.reshape(3, 3, 3, 2).transpose(1, 2, 3, 0)
    h = jax.lax.conv_general_dilated(
        x.reshape(7, 5, 6, 2), kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    h = jax.nn.relu(w / np.sqrt(18) * h + b * theta[0].bias)
    pooled = jax.lax.reduce_window(h, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
    flat = pooled.reshape(7, -1)
    h = jax.nn.relu(w / np.sqrt(flat.shape[1]) * flat @ theta[1].weight.T + b * theta[1].bias)
    out = (w / np.sqrt(4) * h @ theta[2].weight.T + b * theta[2].bias)[:, 0]
    np.testing.assert_allclose(network.apply(theta, jnp.asarray(GAMMA), x), out, rtol=1e-10)


NETWORKS = {
    "mlp": (MLP(width=7, depth=2, activation="tanh"), 8),
    "cnn": (CNN((4, 2, 1), channels=3, width=5), 8),
    "a line of pixels": (CNN((1, 8, 1), channels=3, width=5), 8),
}


@pytest.mark.parametrize(
    ("network", "dim"),
    [
        pytest.param(*values, id=name, marks=[pytest.mark.slow] * (name != "mlp"))
        for name, values in NETWORKS.items()
    ],
)
def test_sums_over_gradients_equal_those_of_the_jacobian(
    x64: None, network: Architecture, dim: int
) -> None:
    theta, gamma = network.init(jax.random.key(0), dim), jnp.asarray(GAMMA)
    x, other = jax.random.normal(jax.random.key(1), (2, 5, dim))
    j, k = _jacobian(network, theta, x), _jacobian(network, theta, other)
    weight = network.init(jax.random.key(2), dim)
    flat, rows = ravel_pytree(weight)[0], jnp.arange(5.0)
    close = partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-12)
    close(network.tangent_kernel(theta, gamma, x, x), j @ j.T)
    close(network.tangent_kernel(theta, gamma, x, other), j @ k.T)
    close(network.tangent_size(theta, gamma, x), np.sum(j**2, axis=1))
    close(network.tangent_size(theta, gamma, x, weight), j**2 @ flat)
    found = ravel_pytree(network.tangent_squares(theta, gamma, x, rows))[0]
    close(found, rows @ j**2)


def test_a_negated_network_is_minus_the_network(x64: None) -> None:
    network = MLP(width=7, depth=2)
    theta, x = network.init(jax.random.key(0), 3), jax.random.normal(jax.random.key(1), (5, 3))
    gamma = jnp.asarray(GAMMA)
    minus = network.apply(network.negated(theta), gamma, x)
    np.testing.assert_allclose(minus, -network.apply(theta, gamma, x))


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"channels": 0}, "channels"),
        ({"width": 0}, "width"),
        ({"activation": "step"}, "activation"),
    ],
)
def test_a_bad_cnn_is_refused(options: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        CNN((8, 8, 1), **options)
