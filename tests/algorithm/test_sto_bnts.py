"""Draws in batches, and that those of the linear variant are exact at any width."""

from __future__ import annotations

import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import neurobo
from neurobo.algorithm import STOBNTS
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput
from neurobo.networks.mlp import MLP
from neurobo.surrogates.draws import Recipe, Tangent, draw, draws
from neurobo.surrogates.posterior import Function
from neurobo.training.residuals import TangentRows

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1, 1, (6, 2)), RNG.normal(size=6)
AT = RNG.uniform(-1, 1, (5, 2))
NETWORK = MLP(width=8, depth=2, activation="relu")
GAMMA, NOISE, SCALE = (1.4, 0.6), 0.03, 0.8
LINEAR = Recipe(NETWORK, GAMMA, noise=NOISE, scale=SCALE, surrogate="linear")
N = 400
at = jax.jit(lambda function, x: function(x))


def _samples(algorithm: STOBNTS, data: Data, count: int) -> list[Function]:
    decisions = algorithm.decide_batch(jax.random.key(0), data, range(count))
    return [decision.score for decision in decisions]


def _dense(theta: Any, x: np.ndarray) -> np.ndarray:
    """∇f(x; θ) as an n × p matrix."""
    return np.asarray(_jacobian(theta, jnp.asarray(x)))


@jax.jit
def _jacobian(theta: Any, x: Any) -> Any:
    one = jax.grad(lambda t, row: NETWORK.apply(t, jnp.asarray(GAMMA), row[None])[0])
    return jax.vmap(lambda row: ravel_pytree(one(theta, row))[0])(x)


@pytest.mark.slow
def test_linear_draws_have_the_exact_posterior_of_the_finite_network(x64: None) -> None:
    """Against Bayesian linear regression with a p × p matrix, of each draw's own θ'0: the mean to
    1e-6; 400 draws, in units of their standard deviations, have mean 0, variance 1 and their
    correlations within four standard errors."""
    data = Data.pad(X, Y)
    sample, correlations = [], []
    for i, (drawn, _) in enumerate(
        draws(list(jax.random.split(jax.random.key(1), N)), data, LINEAR)
    ):
        part = drawn.parts[0]
        assert isinstance(part, Tangent)
        g, h = _dense(part.theta0, X), _dense(part.theta0, AT)
        a = g.T @ g + NOISE * np.eye(g.shape[1])
        mean = h @ np.linalg.solve(a, g.T @ Y)
        covariance = SCALE**2 * NOISE * h @ np.linalg.solve(a, h.T)
        if not i:  # the mean of all draws without their randomness: no noise, and a start at zero
            np.testing.assert_allclose(_without_randomness(data, part.theta0), mean, rtol=1e-6)
        sd = np.sqrt(np.diag(covariance))
        sample.append((np.asarray(at(drawn, jnp.asarray(AT))) - mean) / sd)
        correlations.append(covariance / np.outer(sd, sd))
    np.testing.assert_allclose(np.mean(sample, axis=0), 0, atol=4 / np.sqrt(N))
    products = [np.outer(z, z) for z in sample]
    excess = np.mean(products, axis=0) - np.mean(correlations, axis=0)
    np.testing.assert_allclose(excess, 0, atol=4 * np.sqrt(2 / N))


def _without_randomness(data: Data, theta0: Any) -> np.ndarray:
    from neurobo.training.gauss_newton import linear
    from neurobo.training.problem import TrainingProblem

    gamma = jnp.asarray(GAMMA)
    rows = TangentRows(NETWORK, gamma, jnp.asarray(data.x), theta0)
    zero = jax.tree.map(jnp.zeros_like, theta0)
    problem = TrainingProblem(
        rows, jnp.asarray(data.y), jnp.asarray(data.mask), jnp.asarray(NOISE), zero
    )
    (fit,) = linear([problem])
    return np.asarray(TangentRows(NETWORK, gamma, jnp.asarray(AT), theta0).values(fit.theta))


@pytest.mark.parametrize("surrogate", ["simple", "posterior", "linear"])
def test_draws_together_are_those_drawn_one_by_one(x64: None, surrogate: str) -> None:
    data = Data.pad(X, Y)
    recipe = Recipe(MLP(64, 1, "erf"), GAMMA, noise=NOISE, scale=SCALE, surrogate=surrogate)
    keys = list(jax.random.split(jax.random.key(1), 4))
    together = draws(keys, data, recipe)
    for key, (drawn, fit) in zip(keys, together, strict=True):
        ((alone, other),) = draws([key], data, recipe)
        assert fit.steps == other.steps
        np.testing.assert_allclose(fit.objective, other.objective, rtol=1e-6)
        np.testing.assert_allclose(drawn(jnp.asarray(AT)), alone(jnp.asarray(AT)), rtol=1e-6)


@pytest.mark.slow
def test_a_batch_is_the_same_as_asking_again_and_again() -> None:
    """Pending points only exclude themselves, so that draws in a row equal a batch."""
    space = {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}
    history = [({"x": x, "y": y}, v) for (x, y), v in zip(X.tolist(), Y.tolist(), strict=True)]
    for linear in (False, True):
        algorithm = STOBNTS(width=32, gamma=1.5, linear=linear)
        options: Any = {"algorithm": algorithm, "seed": 0, "n_startup_trials": 0}
        batch = neurobo.suggest(space, history, 4, **options)
        pending: list[Any] = []
        for _ in range(4):
            pending += neurobo.suggest(space, history, pending=pending, **options)
        for a, b in zip(batch, pending, strict=True):
            assert a == pytest.approx(b, abs=1e-4)
        assert len({json.dumps(p) for p in batch}) == 4


def test_each_element_of_a_batch_has_tangent_features_of_its_own(x64: None) -> None:
    """Algorithm 2 draws θ'0 and θ0 inside the loop over the batch."""
    algorithm = STOBNTS(width=32, gamma=1.5, linear=True)
    key = jax.random.key(0)
    first, second = (d.score for d in algorithm.decide_batch(key, Data.pad(X, Y), [6, 7]))
    later = algorithm.decide(key, Data.pad(X[:5], Y[:5]), 6).score
    tangents = [np.asarray(s.parts[0].theta0[0].weight) for s in (first, second)]  # type: ignore[attr-defined]
    own = [np.asarray(s.parts[0].direction[0].weight) for s in (first, second, later)]  # type: ignore[attr-defined]
    assert not np.array_equal(tangents[0], tangents[1])
    assert not np.array_equal(own[0], own[1])
    assert not np.array_equal(own[0], own[2])


def test_beta_widens_the_draws_and_leaves_their_mean(x64: None) -> None:
    """Each draw is its network's mean plus β times a deviation: linear in β."""
    data = Data.pad(X, Y)
    values = []
    for beta in (1.0, 3.0, 5.0):
        algorithm = STOBNTS(width=64, gamma=1.5, noise=0.01, linear=True, beta=beta)
        functions = _samples(algorithm, data, 8)
        values.append(np.array([at(f, jnp.asarray(AT)) for f in functions]))
    step = values[1] - values[0]
    np.testing.assert_allclose(values[2] - values[1], step, rtol=1e-6)
    assert np.abs(step).min() > 1e-3


@pytest.mark.parametrize(("batch", "t"), [(1, 7), (2, 4), (4, 2)])
def test_beta_by_theory_counts_batches(batch: int, t: int) -> None:
    theory = STOBNTS(beta="theory", batch=batch)._beta(Data.pad(X, Y))
    assert theory == pytest.approx(2 * (np.log(np.pi**2 * t**2 / 0.3) + 2 * np.log(100)))


@pytest.mark.slow
def test_without_perturbation_draws_agree_more(x64: None) -> None:
    data = Data.pad(X, Y)
    sd = []
    for perturb in (True, False):
        algorithm = STOBNTS(width=64, gamma=1.5, noise=0.3, linear=True, perturb=perturb)
        functions = _samples(algorithm, data, 100)
        sd.append(np.array([at(f, jnp.asarray(X)) for f in functions]).std(axis=0).mean())
    assert sd[1] < 0.8 * sd[0]


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"beta": 0}, "beta"),
        ({"beta": "large"}, "beta"),
        ({"noise": -1.0}, "noise"),
        ({"gamma": 0}, "gamma"),
        ({"gamma": (1.0, -0.1)}, "pair"),
        ({"gamma": [1.0]}, "pair"),
        ({"gamma": True}, "gamma"),
        ({"batch": 0}, "batch"),
        ({"width": 0}, "width"),
        ({"solver": "sgd"}, "solver"),
        ({"trust_region": 3.0}, "trust_region"),
        ({"B": 4}, "options of STOBNTS"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        STOBNTS(**options)


def test_one_draw_is_a_batch_of_one(x64: None) -> None:
    drawn, _ = draw(jax.random.key(0), Data.pad(X, Y), LINEAR)
    ((again, _),) = draws([jax.random.key(0)], Data.pad(X, Y), LINEAR)
    np.testing.assert_array_equal(drawn(jnp.asarray(AT)), again(jnp.asarray(AT)))
