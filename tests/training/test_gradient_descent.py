"""Adam and stochastic gradient descent do what the papers' texts say."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurobo.data.observations import Data
from neurobo.networks.infinite_width import kernels
from neurobo.networks.mlp import MLP
from neurobo.training.gradient_descent import adam, sgd
from neurobo.training.problem import TrainingProblem
from neurobo.training.residuals import ValueRows

NETWORK, GAMMA = MLP(24, 2, "relu"), (1.0, 0.0)
RIDGE = 0.3


def _problem(n: int = 7) -> TrainingProblem:
    rng = np.random.default_rng(0)
    data = Data.pad(rng.uniform(-1, 1, (n, 3)), rng.normal(size=n))
    return TrainingProblem(
        ValueRows(NETWORK, jnp.asarray(GAMMA), jnp.asarray(data.x)),
        jnp.asarray(data.y),
        jnp.asarray(data.mask),
        jnp.asarray(RIDGE),
        NETWORK.init(jax.random.key(0), 3),
    )


def _value(theta: object, x: jax.Array) -> jax.Array:
    return NETWORK.apply(theta, jnp.asarray(GAMMA), x[None])[0]


def test_sgd_is_one_pass_of_equation_4_2(x64: None) -> None:
    """θ ← θ + α (y_t - a(x_t; θ)) ∂a(x_t; θ)/∂θ, one observation after the other, α = 0.001."""
    problem = _problem()
    theta = problem.theta0
    for x, y in zip(problem.rows.x[:7], problem.targets, strict=False):  # type: ignore[attr-defined]
        value, slope = jax.value_and_grad(_value)(theta, x)
        theta = jax.tree.map(lambda leaf, g, e=y - value: leaf + 1e-3 * e * g, theta, slope)
    fit = sgd(problem)
    assert fit.steps == 7
    for a, b in zip(jax.tree.leaves(fit.theta), jax.tree.leaves(theta), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("batch", [3, 50])
def test_batches_go_down_the_gradient_of_their_share_of_the_objective(
    x64: None, batch: int
) -> None:
    """A batch that holds every row is gradient descent on half of (*)."""
    problem = _problem()
    fit = sgd(problem, epochs=2, batch=batch, penalised=True)
    assert fit.objective < float(_objective(problem, problem.theta0))
    theta, batches = problem.theta0, -(-7 // batch)
    assert fit.steps == 2 * batches
    for step in range(2 * batches):
        mine = jnp.arange(7)[step % batches :: batches]
        some = problem._replace(
            rows=problem.rows.only(mine),  # type: ignore[attr-defined]
            targets=problem.targets[mine],
            weights=problem.weights[mine],
            ridge=problem.ridge * len(mine) / 7,
        )
        slope = jax.grad(lambda t, some=some: _objective(some, t) / 2)(theta)
        theta = jax.tree.map(lambda leaf, g: leaf - 1e-3 * g, theta, slope)
    for a, b in zip(jax.tree.leaves(fit.theta), jax.tree.leaves(theta), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


# Gradient flow ----------------------------------------------------------------------------------


def _flow(seed: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f_t and f_0 at some points, and f_0 at the observations, after so many steps of gradient
    descent on all of them."""
    start = WIDE.init(jax.random.key(seed), 2)
    rows = ValueRows(WIDE, jnp.asarray(FLOW_GAMMA), jnp.asarray(SEEN))
    problem = TrainingProblem(
        rows, jnp.asarray(Y), jnp.ones(len(Y)), jnp.asarray(0.0), start
    )  # fmt: skip
    fit = sgd(problem, learning_rate=ETA, epochs=steps, batch=len(Y))
    return _at(fit.theta, AT), _at(start, AT), _at(start, SEEN)


def _at(theta: object, x: np.ndarray) -> np.ndarray:
    return np.asarray(WIDE.apply(theta, jnp.asarray(FLOW_GAMMA), jnp.asarray(x)))


WIDE, FLOW_GAMMA, ETA = MLP(2048, 1, "erf"), (1.4, 0.7), 2e-3
RNG = np.random.default_rng(3)
SEEN, Y, AT = RNG.uniform(-1, 1, (5, 2)), RNG.normal(size=5), RNG.uniform(-1, 1, (3, 2))


def _exponential(gram: np.ndarray, time: float) -> np.ndarray:
    """I - e^{-Θ t}."""
    values, vectors = np.linalg.eigh(gram)
    return (vectors * -np.expm1(-time * values)) @ vectors.T


@pytest.mark.parametrize("steps", [20, 200, 2000])
def test_gradient_descent_follows_the_gradient_flow_of_a_wide_network(
    x64: None, steps: int
) -> None:
    """f_t(x) = f_0(x) + Θ_x Θ⁻¹ (I - e^{-ηΘt}) (y - f_0): the thesis, chapter 6, for each start."""
    nngp_ntk = kernels(jnp.asarray(AT), jnp.asarray(SEEN), jnp.asarray(FLOW_GAMMA))
    gram = np.asarray(kernels(jnp.asarray(SEEN), jnp.asarray(SEEN), jnp.asarray(FLOW_GAMMA)).ntk)
    to_errors = np.asarray(nngp_ntk.ntk) @ np.linalg.solve(gram, _exponential(gram, ETA * steps))
    for seed in range(3):
        found, before, seen = _flow(seed, steps)
        expected = before + to_errors @ (Y - seen)
        moved = np.abs(expected - before).max()
        np.testing.assert_allclose(found, expected, atol=0.1 * moved)  # of the width: 1/√2048


@pytest.mark.slow
def test_the_time_t_process_has_the_thesis_mean_and_covariance(x64: None) -> None:
    """Mean Θ_x Θ⁻¹ (I - e^{-ηΘt}) y over 300 starts, within four standard errors.

    With A = Θ_x Θ⁻¹ (I - e^{-ηΘt}) the covariance is K_xx + A K Aᵀ - (A K_x + its transpose): the
    text's second term lacks K and a factor (I - e^{-ηΘt}).
    """
    n, steps = 300, 100
    both = [kernels(jnp.asarray(a), jnp.asarray(b), jnp.asarray(FLOW_GAMMA)) for a, b in
            ((SEEN, SEEN), (AT, SEEN), (AT, AT))]  # fmt: skip
    seen, cross, here = ([np.asarray(k.nngp), np.asarray(k.ntk)] for k in both)
    a = cross[1] @ np.linalg.solve(seen[1], _exponential(seen[1], ETA * steps))
    covariance = here[0] + a @ seen[0] @ a.T - (a @ cross[0].T + cross[0] @ a.T)
    sample = np.array([_flow(seed, steps)[0] for seed in range(n)])
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((sample.mean(axis=0) - a @ Y) / sd, 0, atol=4 / np.sqrt(n))
    np.testing.assert_allclose(sample.std(axis=0, ddof=1) / sd, 1, atol=4 / np.sqrt(2 * n))
    correlation = covariance / np.outer(sd, sd)
    np.testing.assert_allclose(np.corrcoef(sample.T), correlation, atol=4 / np.sqrt(n))


def test_adam_comes_to_the_end_of_the_flow(x64: None) -> None:
    """With a penalty (*) has one optimum near a wide start: the linear model's, t → ∞."""
    ridge, start = 0.05, WIDE.init(jax.random.key(0), 2)
    rows = ValueRows(WIDE, jnp.asarray(FLOW_GAMMA), jnp.asarray(SEEN))
    problem = TrainingProblem(
        rows, jnp.asarray(Y), jnp.ones(len(Y)), jnp.asarray(ridge), start
    )  # fmt: skip
    fit = adam(problem, steps=3000)
    gamma, at = jnp.asarray(FLOW_GAMMA), jnp.asarray(AT)
    gram = np.asarray(rows.gram(start)) + ridge * np.eye(len(Y))
    cross = np.asarray(WIDE.tangent_kernel(start, gamma, at, jnp.asarray(SEEN)))
    before = np.asarray(WIDE.apply(start, gamma, at))
    expected = before + cross @ np.linalg.solve(gram, Y - np.asarray(rows.values(start)))
    moved = np.abs(expected - before).max()
    found = np.asarray(WIDE.apply(fit.theta, gamma, at))
    np.testing.assert_allclose(found, expected, atol=0.05 * moved)


def test_adam_in_single_precision_does_what_it_does_in_double(x64: None) -> None:
    """Kingma and Ba, algorithm 1, written out in double precision."""
    problem = _problem()
    slope = jax.grad(lambda theta: _objective(problem, theta))

    @jax.jit
    def step(theta: Any, mean: Any, square: Any, t: int) -> tuple[Any, Any, Any]:
        g = slope(theta)
        mean = jax.tree.map(lambda m, d: 0.9 * m + 0.1 * d, mean, g)
        square = jax.tree.map(lambda v, d: 0.999 * v + 0.001 * d**2, square, g)

        def moved(leaf: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
            return leaf - 1e-3 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)

        return jax.tree.map(moved, theta, mean, square), mean, square

    theta = problem.theta0
    mean = square = jax.tree.map(jnp.zeros_like, theta)
    for t in range(1, 301):
        theta, mean, square = step(theta, mean, square, t)
    fit = adam(problem, steps=300)
    pairs = zip(*_leaves(theta, problem.theta0), strict=True)
    moved = max(float(jnp.abs(a - b).max()) for a, b in pairs)
    for a, b in zip(*_leaves(fit.theta, theta), strict=True):
        assert a.dtype == np.float64
        np.testing.assert_allclose(a, b, atol=1e-3 * moved)
    assert fit.objective == pytest.approx(float(_objective(problem, theta)), rel=1e-5)


def _leaves(a: object, b: object) -> tuple[list[jax.Array], list[jax.Array]]:
    return jax.tree.leaves(a), jax.tree.leaves(b)


def _objective(problem: TrainingProblem, theta: object) -> jax.Array:
    away = jax.tree.map(jnp.subtract, theta, problem.theta0)
    distance = sum(jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(away))
    errors = problem.weights * (problem.targets - problem.rows.values(theta)) ** 2
    return jnp.sum(errors) + problem.ridge * distance
