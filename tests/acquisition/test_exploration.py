from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import neurobo
from neurobo.acquisition.exploration import cbo_beta, greedy_nu, neural_bo_nu, sto_beta
from neurobo.errors import InvalidInput


def test_schedules_are_the_papers_formulas() -> None:
    assert greedy_nu(3.0, 0.5, bound=2.0, delta=0.1) == pytest.approx(
        2 + 0.5 * np.sqrt(2 * (3 + 1 + np.log(20)))
    )
    assert greedy_nu(3.0, 0.0) == 1.0  # without noise the bound needs no more than B
    assert sto_beta(5, np.log(1000), delta=0.1) == pytest.approx(
        2 * np.log(np.pi**2 * 25 * 1000 / 0.3)
    )
    assert neural_bo_nu(0.3, bound=2.0, ridge=1.5, alpha=0.05) == pytest.approx(
        np.sqrt(2) * 2 + 0.3 / np.sqrt(1.5) * np.sqrt(2 * np.log(20))
    )
    assert cbo_beta(3.0, 0.5, bound=2.0, delta=0.1) == pytest.approx(
        2 + 0.5 * np.sqrt(3 + 2 + 2 * np.log(10))
    )


@pytest.mark.parametrize(
    ("theory", "constant"),
    [
        (
            neurobo.NeuralGreedy(width=32, scale="theory", noise=0.1, gamma=2.0),
            neurobo.NeuralGreedy(width=32, scale=0.1, noise=0.1, gamma=2.0),
        ),
        (
            neurobo.NTKGP(acquisition="ucb", beta="theory"),
            neurobo.NTKGP(acquisition="ucb", beta=0.0),
        ),
    ],
    ids=["nu", "beta"],
)
def test_a_schedule_changes_the_suggestion(theory: Any, constant: Any) -> None:
    history = [({"x": x}, x**2) for x in (-1.2, -1.0, -0.2, 0.1, 1.4, 1.6, 2.0)]
    points = [
        neurobo.suggest({"x": (-1.5, 2.2)}, history, algorithm=a, seed=0)[0]["x"]
        for a in (theory, theory, constant)
    ]
    assert points[0] == points[1] != points[2]


def test_schedules_have_one_name() -> None:
    with pytest.raises(InvalidInput, match="scale must be"):
        neurobo.NeuralGreedy(scale="thoery")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="beta must be"):
        neurobo.NeuralCBO(beta="thoery")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="beta must be"):
        neurobo.NTKGP(beta="thoery")  # type: ignore[arg-type]
