"""Wide limits of several quantities at the same points."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm, qmc

from neurobo.acquisition.constraints import Feasibility
from neurobo.bench.problems import problem
from neurobo.data.observations import Constraint, Data
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.mlp import MLP
from neurobo.surrogates.constraint_warping import constraint_warping_for
from neurobo.surrogates.gaussian_process import GPSurrogate
from neurobo.surrogates.refit_schedule import scheduled
from neurobo.surrogates.wide_outputs import WideOutputs, data_suffice, learn

WIDE = InfiniteWidthMLP(1, "erf", sphere=True)
X = 2 * qmc.Sobol(3, rng=0).random(32) - 1
FEW = Data.pad(X[:10], X[:10, 0])
KEY = jax.random.key(0)


def _data(values: np.ndarray) -> Data:
    return Constraint.of("c", X[: len(values)], values, values).data


def test_each_quantity_has_the_posterior_that_it_has_alone(x64: None) -> None:
    known = [_data(np.sin(2 * X[:, 0]) + X[:, 1]), _data(X[:, 2] - X[:, 0] ** 2)]
    together = learn(KEY, known, WIDE)
    x = jnp.asarray(np.random.default_rng(0).uniform(-1, 1, (16, 3)))
    mean, sd = together.mean_and_sd(x)
    for i, data in enumerate(known):
        np.testing.assert_array_equal(together.strengths[i], 0)  # nothing to warp
        alone = GPSurrogate(WIDE, scheduled(data, WIDE, ard=True)).fit(KEY, data)
        expected = alone.mean_and_sd(x)
        np.testing.assert_allclose(mean[i], expected[0], atol=1e-9)
        np.testing.assert_allclose(sd[i], expected[1], atol=1e-7)
        assert together.noise[i] == alone.noise


def test_pending_points_reduce_the_uncertainty_and_leave_the_mean(x64: None) -> None:
    data = _data(np.sin(9 * X[:, 0]) * np.cos(8 * X[:, 1]))
    pending = np.array([[0.11, -0.2, 0.3]])
    before = learn(KEY, [data], WIDE)
    after = learn(KEY, [replace(data, pending=pending)], WIDE)
    (m0, s0), (m1, s1) = (found.mean_and_sd(jnp.asarray(pending)) for found in (before, after))
    np.testing.assert_allclose(m1, m0, atol=1e-3)
    assert float(s1[0, 0]) < 0.1 * float(s0[0, 0])


def test_few_observations_images_and_failures_keep_networks() -> None:
    assert not data_suffice(FEW)
    assert data_suffice(Data.pad(X[:11], X[:11, 0]))
    wide = np.zeros((128, 51))
    assert not data_suffice(Data.pad(wide, wide[:, 0]))
    images = replace(Data.pad(X, X[:, 0]), image=(3, 1, 1))
    assert not data_suffice(images)


def test_thresholds_of_a_spring_are_seen(x64: None) -> None:
    """Feasible springs have a wire within a hundredth of its range: networks with one γ for all
    columns and constraints put more than a tenth of the thin wires on the wrong side."""
    spring = problem("tension-spring-3", 0)
    names, rng = spring.constraints, np.random.default_rng(1)

    def told(x: np.ndarray) -> np.ndarray:
        found = [spring.evaluate(spring.space.decode(row), rng).constraints for row in x]
        return np.array([[c[name] for name in names] for c in found])

    def near(n: int) -> np.ndarray:
        """Thin wires."""
        return rng.uniform([-1, -1, -1], [-0.9, 1, 1], (n, 3))

    points, test = np.concatenate([X, near(32)]), near(300)
    constraints = tuple(
        Constraint.of(name, points, c, c) for name, c in zip(names, told(points).T, strict=True)
    )
    data = replace(Data.pad(points, np.zeros(len(points))), constraints=constraints)
    wrong = {}
    for ard in (False, True):
        bounds, _ = Feasibility(ard=ard).learn(KEY, data, 0)
        assert isinstance(bounds.groups[0], WideOutputs) == ard
        above, sd = jax.jit(bounds.moments)(test)
        likely = np.sum(norm.logcdf(-np.asarray(above) / np.asarray(sd)), axis=0) > np.log(0.5)
        wrong[ard] = np.mean(likely != (told(test).max(axis=1) <= 0))
    assert wrong[False] > 0.1
    assert wrong[True] < 0.04


def test_a_logarithm_of_a_parameter_is_not_taken_for_one_of_the_constraint(x64: None) -> None:
    network = MLP(64, 1, "erf", sphere=True)
    rate = (1.01 + X[:, 0]) / 2
    values = np.log(rate / 0.05) ** 2 - 2 + 0.3 * X[:, 1]
    steep = np.sinh(6 * (X[:, 0] + X[:, 1] / 2))
    for v, warped in ((values, False), (steep, True)):
        found = constraint_warping_for(Constraint.of("c", X, v, v), network, ard=True)
        assert (found is not None) == warped
