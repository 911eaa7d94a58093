from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from neurobo.data.observations import Data
from neurobo.errors import InvalidInput
from neurobo.networks.architectures import ACTIVATIONS
from neurobo.networks.infinite_width import InfiniteWidthMLP, diagonals, kernels
from neurobo.networks.information import information_gain, interaction_information
from neurobo.networks.input_maps import on_sphere
from neurobo.networks.mlp import MLP
from neurobo.networks.moments import _arcsin, moments_by_quadrature
from neurobo.surrogates import gaussian_process as gp
from neurobo.surrogates import marginal_likelihood
from neurobo.training.residuals import GeneralRows

GAMMA = np.array([1.4, 0.5])  # jnp would round it to float32 here
CLOSED = ["erf", "relu", *(pytest.param(a, marks=pytest.mark.slow) for a in ("sin", "tanh"))]


def _points(n: int, d: int, seed: int = 0) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).uniform(-1, 1, (n, d)))


@pytest.mark.parametrize("activation", CLOSED)
@pytest.mark.parametrize("depth", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_wide_networks_approach_the_closed_forms(x64: None, activation: str, depth: int) -> None:
    """200 networks of width 512: an NNGP entry has a relative error of about sqrt(2/200) = 10 %,
    the NTK concentrates and is averaged as well."""
    network = MLP(width=512, depth=depth, activation=activation)
    x = _points(4, 3)

    @jax.jit
    def one(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        theta = network.init(key, 3)
        gamma = jnp.asarray(GAMMA)
        return network.apply(theta, gamma, x), network.tangent_kernel(theta, gamma, x, x)

    values, grams = jax.lax.map(one, jax.random.split(jax.random.key(1), 200))
    exact = kernels(x, x, jnp.asarray(GAMMA), depth=depth, activation=activation)
    found = values.T @ values / 200, grams.mean(axis=0)
    for gram, limit, bound in zip(found, exact, (0.3, 0.02), strict=True):
        scale = np.sqrt(np.outer(np.diag(limit), np.diag(limit)))
        np.testing.assert_allclose(gram / scale, limit / scale, atol=bound)


def test_points_on_a_sphere_have_one_length_and_one_variance(x64: None) -> None:
    corners = jnp.asarray([[1.0, -1.0, 1.0], [0.0, 0.0, 0.0]])
    x, scales = jnp.concatenate([_points(5, 3), corners]), jnp.asarray([2.0, 0.5, 1.0])
    lifted = on_sphere(x, scales)
    np.testing.assert_allclose(jnp.sum(lifted**2, axis=1), 5.25, rtol=1e-8)
    np.testing.assert_allclose(lifted[:, :3], x * scales)
    wide = InfiniteWidthMLP(1, "erf", sphere=True)
    gamma = jnp.asarray(GAMMA)
    variance = wide.variance(x, gamma, scales)
    np.testing.assert_allclose(variance, variance[0], rtol=1e-8)
    between = wide.between(x, x, gamma, scales)
    np.testing.assert_allclose(jnp.diag(between), variance, rtol=1e-6)
    slope = jax.grad(lambda at: jnp.sum(wide.between(at, x, gamma, scales)))(x)
    assert np.all(np.isfinite(slope))  # in the corner, too


def test_networks_on_the_sphere_have_its_kernel(x64: None) -> None:
    """40 networks of width 512: relative errors of the mean NTK are below 2 %."""
    network, x, gamma = MLP(512, 1, "erf", sphere=True), _points(4, 3), jnp.asarray(GAMMA)
    keys = jax.random.split(jax.random.key(1), 40)
    grams = [network.tangent_kernel(network.init(k, 3), gamma, x, x) for k in keys]
    limit = InfiniteWidthMLP.of(network).between(x, x, gamma, jnp.ones(3))
    np.testing.assert_allclose(np.mean(grams, axis=0), limit, rtol=0.02)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_on_the_sphere_a_bowl_is_seen_from_afar(x64: None, seed: int) -> None:
    """60 points of a rugged bowl in 30 dimensions, far from its lowest place, which is not the
    middle of the box: how much of its depth is foreseen there."""
    rng = np.random.default_rng(seed)
    x, lowest = rng.uniform(-1, 1, (60, 30)), rng.uniform(-0.5, 0.5, (1, 30))
    values = np.sum((x - lowest) ** 2, axis=1)
    values += 0.3 * values.std() * rng.normal(size=60)
    data = Data.pad(x, (values - values.mean()) / values.std())

    def foreseen(sphere: bool) -> float:
        wide = InfiniteWidthMLP(1, "erf", sphere=sphere)
        found = gp.condition(data, wide, marginal_likelihood.fit(data, wide))
        return float(found.mean(jnp.asarray(lowest))[0]) / (-values.mean() / values.std())

    assert 1 > foreseen(sphere=True) > 1.3 * foreseen(sphere=False) > 0


@pytest.mark.slow
@pytest.mark.parametrize("activation", CLOSED)
def test_the_error_falls_with_the_root_of_the_width(x64: None, activation: str) -> None:
    """The slope of log error against log width is near -1/2. With 24 networks at each of six
    widths the slope has a standard error of about 0.03."""
    x, gamma = _points(5, 3), jnp.asarray(GAMMA)
    exact = kernels(x, x, gamma, activation=activation).ntk
    widths = 2 ** np.arange(5, 11)
    errors = []
    for width in widths:
        network = MLP(width=int(width), depth=1, activation=activation)

        @jax.jit
        def error(key: jax.Array, network: MLP = network) -> jax.Array:
            found = network.tangent_kernel(network.init(key, 3), gamma, x, x)
            return jnp.mean(((found - exact) / exact) ** 2)

        squares = jax.lax.map(error, jax.random.split(jax.random.key(int(width)), 24))
        errors.append(float(jnp.sqrt(squares.mean())))
    slope = np.polyfit(np.log(widths), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.12)


@pytest.mark.parametrize("activation", CLOSED)
@pytest.mark.parametrize("size", [0.5, 1.5, 3.0])
def test_expectations_agree_with_monte_carlo(x64: None, activation: str, size: float) -> None:
    """400,000 normal pairs; the bound is five standard errors."""
    rng = np.random.default_rng(0)
    covariance = size**2 * np.array([[1.2, 0.7], [0.7, 0.9]])
    u, v = np.linalg.cholesky(covariance) @ rng.normal(size=(2, 400_000))
    act = ACTIVATIONS[activation]
    slope = jax.jit(jax.vmap(jax.grad(act)))
    a, cross, b = (jnp.array([c]) for c in (covariance[0, 0], covariance[0, 1], covariance[1, 1]))
    found = _moments(activation, a, cross, b)
    samples = np.asarray(act(u) * act(v)), np.asarray(slope(u) * slope(v))
    for value, sample in zip(found, samples, strict=True):
        error = sample.std() / np.sqrt(len(sample))
        assert float(value[0]) == pytest.approx(sample.mean(), abs=5 * error)


def _moments(
    activation: str, a: jax.Array, cross: jax.Array, b: jax.Array
) -> tuple[jax.Array, ...]:
    from neurobo.networks.moments import moments_of as moments

    return moments(activation)(a, cross, b)


@pytest.mark.parametrize("activation", ["erf", "sin", "tanh"])
def test_quadrature_agrees_with_the_closed_forms(x64: None, activation: str) -> None:
    """tanh is a mixture of error functions up to 1e-5, its slope up to 7e-5."""
    rng = np.random.default_rng(1)
    a, b = jnp.asarray(rng.uniform(0.2, 2, 50)), jnp.asarray(rng.uniform(0.2, 2, 50))
    cross = jnp.sqrt(a * b) * jnp.asarray(rng.uniform(-1, 1, 50))
    tolerance = 2e-4 if activation == "tanh" else 1e-6
    exact = _moments(activation, a, cross, b)
    for p, q in zip(exact, moments_by_quadrature(activation, a, cross, b, 120), strict=True):
        np.testing.assert_allclose(p, q, atol=tolerance)


@pytest.mark.slow
def test_any_activation_has_kernels(x64: None) -> None:
    x = _points(6, 2)
    for activation in ACTIVATIONS:
        for depth in (1, 3):
            found = kernels(x, x, jnp.asarray(GAMMA), depth=depth, activation=activation)
            variance = diagonals(x, jnp.asarray(GAMMA), depth=depth, activation=activation)
            for gram, diagonal in zip(found, variance, strict=True):
                np.testing.assert_allclose(gram, gram.T, rtol=1e-6)
                np.testing.assert_allclose(jnp.diag(gram), diagonal, rtol=1e-6)


@pytest.mark.parametrize("activation", CLOSED)
@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("gamma", [(0.5, 0.1), (1.5, 1.5), (5.0, 5.0)])
def test_kernels_are_positive_definite(
    x64: None, activation: str, depth: int, gamma: tuple[float, float]
) -> None:
    x = _points(40, 3)
    for gram in kernels(x, x, jnp.asarray(gamma), depth=depth, activation=activation):
        values = np.linalg.eigvalsh(np.asarray(gram))
        assert values.min() > -1e-12 * values.max()


@pytest.mark.slow
@pytest.mark.parametrize("activation", CLOSED)
@pytest.mark.parametrize("depth", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_gradients_in_all_hyper_parameters(x64: None, activation: str, depth: int) -> None:
    x = _points(5, 3)
    x = jnp.concatenate([x, x[:1]])  # coincident points

    def both(p: jax.Array) -> jax.Array:
        p = jnp.asarray(p)  # finite differences come as NumPy arrays
        found = kernels(x, x, p[:2], scales=p[2:], depth=depth, activation=activation)
        return jnp.stack(found)

    check_grads(both, (jnp.array([1.3, 0.6, 1.0, 0.7, 1.2]),), 1, atol=1e-5, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("activation", CLOSED)
def test_gradients_in_the_points_stay_finite_where_points_coincide(
    x64: None, activation: str
) -> None:
    x = _points(4, 3)

    def row(at: jax.Array) -> jax.Array:
        at = jnp.asarray(at)[None]
        return kernels(at, x, jnp.asarray(GAMMA), depth=2, activation=activation).ntk[0]

    assert np.isfinite(jax.jacrev(row)(x[0])).all()
    away = x[0] + 0.1
    check_grads(row, (away,), 1, atol=1e-5, rtol=1e-5)


def test_scales_act_on_columns(x64: None) -> None:
    x, scales = _points(5, 3), jnp.array([1.0, 0.0, 2.0])
    ignoring = kernels(x, x, jnp.asarray(GAMMA), scales=scales, activation="erf")
    moved = x.at[:, 1].add(0.3)
    same = kernels(moved, moved, jnp.asarray(GAMMA), scales=scales, activation="erf")
    np.testing.assert_allclose(ignoring.ntk, same.ntk)
    by_hand = kernels(x * scales, x * scales, jnp.asarray(GAMMA), activation="erf")
    np.testing.assert_allclose(ignoring.ntk, by_hand.ntk)


@pytest.mark.slow
def test_the_empirical_kernel_equals_the_one_from_single_gradients(x64: None) -> None:
    network, gamma, x = MLP(32, 2, "tanh"), jnp.asarray(GAMMA), _points(7, 3)
    theta = network.init(jax.random.key(0), 3)
    rows = GeneralRows(lambda t, p: network.apply(t, gamma, p[None])[0], x, chunk=3)
    np.testing.assert_allclose(
        network.tangent_kernel(theta, gamma, x, x), rows.gram(theta), rtol=1e-9
    )
    np.testing.assert_allclose(
        network.tangent_kernel(theta, gamma, x[:2], x[3:]), rows.gram(theta)[:2, 3:], rtol=1e-9
    )


def test_information_gain_and_interaction_in_row_space(x64: None) -> None:
    """Against the determinants of the p × p matrices."""
    rng = np.random.default_rng(0)
    phi, omega, p = rng.normal(size=(5, 12)), rng.normal(size=(7, 12)), np.eye(12)
    noise, law_noise = 0.3, 0.7

    def half_log_det(m: np.ndarray) -> float:
        return float(np.linalg.slogdet(m)[1] / 2)

    gain = information_gain(jnp.asarray(phi @ phi.T), noise)
    assert float(gain) == pytest.approx(half_log_det(phi.T @ phi / noise + p))
    both = phi.T @ phi / noise + omega.T @ omega / law_noise + p
    expected = (
        half_log_det(phi.T @ phi / noise + p)
        + half_log_det(omega.T @ omega / law_noise + p)
        - half_log_det(both)
    )
    values, cross, laws = (jnp.asarray(m) for m in (phi @ phi.T, phi @ omega.T, omega @ omega.T))
    found = interaction_information(values, cross, laws, noise, law_noise)
    assert float(found) == pytest.approx(expected)
    assert float(found) > 0


def test_mistakes_are_refused(x64: None) -> None:
    with pytest.raises(InvalidInput, match="got 'swish'"):
        kernels(jnp.ones((1, 1)), jnp.ones((1, 1)), jnp.asarray(GAMMA), activation="swish")
    with pytest.raises(InvalidInput, match="got 'rbf'"):
        InfiniteWidthMLP(kind="rbf")
    with pytest.raises(InvalidInput, match="depth"):
        InfiniteWidthMLP(depth=0)


def test_arcsin_is_exact_to_rounding(x64: None) -> None:
    x = np.concatenate([np.linspace(-1, 1, 20_001), [0.5, -0.5, 1e-100, 0.0]])
    np.testing.assert_allclose(_arcsin(jnp.asarray(x)), np.arcsin(x), rtol=2e-15, atol=0)
