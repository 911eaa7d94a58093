"""Constraints on a logarithmic scale around their threshold."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.stats import qmc

import neurobo
from neurobo.data.observations import CRASH, Constraint
from neurobo.networks.mlp import MLP
from neurobo.surrogates.constraint_warping import (
    Bilog,
    constraint_warping_for,
    warped_constraint,
)

X = 2 * qmc.Sobol(2, rng=0).random(32) - 1
NETWORK = MLP(64, 1, "erf", sphere=True)
STEEP = np.sinh(6 * (X[:, 0] + X[:, 1] / 2))
"""Up to 4000 on either side of the threshold."""
PLAIN = X[:, 0] + X[:, 1] ** 2 - 0.3


def _constraint(values: np.ndarray, name: str = "c") -> Constraint:
    return Constraint.of(name, X[: len(values)], values, values)


def _scale(values: np.ndarray, name: str = "c") -> float | None:
    with jax.enable_x64(True):
        found = constraint_warping_for(_constraint(values, name), NETWORK)
    return None if found is None else found.scale


def test_what_spans_orders_of_magnitude_is_warped_and_a_slope_is_not() -> None:
    assert _scale(STEEP) is not None
    assert _scale(PLAIN) is None


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_do_not_matter(unit: float) -> None:
    assert _scale(unit * STEEP) == pytest.approx(unit * (_scale(STEEP) or 0.0))
    assert _scale(unit * PLAIN) is None


def test_it_can_be_switched_off_and_the_papers_algorithm_does_without() -> None:
    assert neurobo.Auto().feasibility.warp
    assert not neurobo.Auto(warp=False).feasibility.warp
    assert not neurobo.NeuralCBO(warp=False).feasibility.warp
    assert not neurobo.NeuralCBO.paper().feasibility.warp


def test_the_threshold_stays_where_it_is() -> None:
    with jax.enable_x64(True):
        found = warped_constraint(_constraint(STEEP), NETWORK)
    assert np.all((found.data.y[:32] > found.threshold) == (STEEP > 0))
    assert np.all((found.known > found.threshold) == (STEEP > 0))


def test_slopes_are_those_of_finite_differences() -> None:
    warp, at, step = Bilog(0.3), np.array([-4.0, 0.2, 50.0]), 1e-6
    slopes = (warp(at + step) - warp(at - step)) / (2 * step)
    assert np.sum(np.log(slopes)) == pytest.approx(warp.log_slope(at), abs=1e-6)


def test_few_values_and_failures_are_left_alone() -> None:
    assert _scale(STEEP[:7]) is None
    assert _scale(np.sign(STEEP), CRASH) is None


@pytest.mark.parametrize("algorithm", ["auto", "neural-cbo"])
def test_constraints_in_other_units_give_the_same_suggestion(algorithm: str) -> None:
    space = {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}
    found = []
    for unit in (1.0, 1e-6, 1e6):
        history = [
            ({"x": float(x), "y": float(y)}, float(x**2 + y), {"c": unit * float(c)})
            for (x, y), c in zip(X[:16], STEEP[:16], strict=True)
        ]
        point = neurobo.suggest(space, history, algorithm=algorithm, seed=0)[0]
        found.append([point["x"], point["y"]])
    np.testing.assert_allclose(found[1:], [found[0]] * 2, atol=1e-4)
