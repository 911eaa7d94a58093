"""Several quantities with one kernel: each as if it were alone."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from neurobo.data.observations import Data
from neurobo.networks.mlp import MLP
from neurobo.surrogates import refit_schedule
from neurobo.surrogates.multi_output import STEPS, MultiOutput, learn, shared_hyper
from neurobo.training.gauss_newton import gauss_newton
from neurobo.training.problem import TrainingProblem
from neurobo.training.residuals import ValueRows

NETWORK = MLP(12, 1, "erf")
KEY = jax.random.key(5)


def _known(n: int = 11, k: int = 3) -> list[Data]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (n, 2))
    noise = 0.3 * rng.normal(size=(k, n))
    y = [np.sin(3 * x[:, 0]), x[:, 1] ** 2, x.sum(axis=1)][:k]
    return [Data.pad(x, v + e) for v, e in zip(y, noise, strict=True)]


def _gradients(found: MultiOutput, x: np.ndarray) -> np.ndarray:
    at = jax.jit(
        jax.vmap(
            jax.grad(lambda theta, p: NETWORK.apply(theta, found.gamma, p[None])[0]), (None, 0)
        )
    )(found.start, jnp.asarray(x))
    return np.array([ravel_pytree(jax.tree.map(lambda v, i=i: v[i], at))[0] for i in range(len(x))])


def test_each_sd_is_that_of_the_dense_formula(x64: None) -> None:
    known = _known()
    found = learn(KEY, known, NETWORK)
    hyper = shared_hyper(known, NETWORK)
    at = np.random.default_rng(1).uniform(-1, 1, (6, 2))
    g, seen = _gradients(found, at), _gradients(found, known[0].x[: known[0].n])
    _, sd = found.mean_and_sd(jnp.asarray(at))
    assert hyper.noises.min() > 1e-6
    for nu, noise, row in zip(hyper.scales, hyper.noises, sd, strict=True):
        ridge = noise / nu**2
        u = ridge * np.eye(seen.shape[1]) + seen.T @ seen
        variance = ridge * np.sum(g @ np.linalg.inv(u) * g, axis=1)
        np.testing.assert_allclose(row, nu * np.sqrt(variance), rtol=1e-6)
    gains = [np.linalg.slogdet(np.eye(len(seen)) + seen @ seen.T * nu**2 / noise)[1] / 2
             for nu, noise in zip(hyper.scales, hyper.noises, strict=True)]  # fmt: skip
    np.testing.assert_allclose(found.information, gains, rtol=1e-6)


def test_a_quantity_is_trained_as_if_alone(x64: None) -> None:
    """With the γ of all; the others change nothing else."""
    known = _known()
    found = learn(KEY, known, NETWORK)
    hyper = shared_hyper(known, NETWORK)
    rows = ValueRows(NETWORK, found.gamma, jnp.asarray(known[0].x))
    begun = jax.jit(rows.values)(found.start)
    means = found.mean(rows.x)
    for i, (data, nu) in enumerate(zip(known, hyper.scales, strict=True)):
        ridge = jnp.asarray(hyper.noises[i] / nu**2)
        targets = jnp.asarray(data.y / nu) + begun
        problem = TrainingProblem(rows, targets, jnp.asarray(data.mask), ridge, found.start)
        alone = gauss_newton(problem, max_steps=STEPS)
        expected = nu * (jax.jit(rows.values)(alone.theta) - begun)
        np.testing.assert_allclose(means[i], expected, atol=1e-6)


def test_pending_points_reduce_the_doubt_and_leave_the_mean(x64: None) -> None:
    known = _known()
    at = np.array([[0.3, -0.4]])
    plain, waiting = (learn(KEY, [replace(d, pending=p) for d in known], NETWORK)
                      for p in (at[:0], at))  # fmt: skip
    (mean, sd), (same, less) = (f.mean_and_sd(jnp.asarray(at)) for f in (plain, waiting))
    np.testing.assert_allclose(mean, same, rtol=1e-12)
    assert np.all(np.asarray(less) < 0.8 * np.asarray(sd))


@pytest.mark.slow
def test_landmarks_agree_with_the_dense_formula(x64: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows as landmarks: nothing is left out."""
    known = _known(64, 2)
    at = jnp.asarray(np.random.default_rng(1).uniform(-1, 1, (20, 2)))
    dense = learn(KEY, known, NETWORK).mean_and_sd(at)[1]
    everything = np.arange(64)
    monkeypatch.setattr("neurobo.surrogates.multi_output.landmarks.choose", lambda *_: everything)
    found = learn(KEY, known, NETWORK)
    np.testing.assert_allclose(found.mean_and_sd(at)[1], dense, rtol=1e-3)


def test_evidence_tells_noise_from_none(x64: None) -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (60, 2))
    y = np.sin(2 * x[:, 0]) + x[:, 1]
    noisy = y + 0.4 * rng.normal(size=60)
    hyper = shared_hyper([Data.pad(x, y), Data.pad(x, noisy)], NETWORK)
    assert hyper.noises[0] < 1e-3
    assert 0.08 < hyper.noises[1] < 0.3  # 0.16, with 60 observations


def test_scheduled_rows_change_only_at_times() -> None:
    sizes = [len(refit_schedule.scheduled_rows(n)) for n in range(100, 110)]
    assert len(set(sizes)) <= 2
    assert max(len(refit_schedule.scheduled_rows(n)) for n in (300, 1000)) == refit_schedule.MOST
