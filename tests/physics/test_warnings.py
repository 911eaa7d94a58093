"""The warning of a law that does not fit: once in each study."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from neurobo import PDE
from neurobo.data.observations import Data
from neurobo.data.trials import Trials
from neurobo.errors import NeuroboWarning
from neurobo.networks.mlp import MLP
from neurobo.physics import laplacian
from neurobo.physics.conditioning import PhysicsHyper
from neurobo.physics.laws import Laws, bind
from neurobo.physics.warnings import ENOUGH, warn_of_misfits
from neurobo.space.search_space import Space

SPACE = Space.of([(0.0, 1.0), (0.0, 1.0)])
WRONG = PhysicsHyper(MLP(8), (1.0, 1.0), 1.0, 1e-6, trust=(1.0,), misfit=(9.0,))
RIGHT = PhysicsHyper(MLP(8), (1.0, 1.0), 1.0, 1e-6, trust=(1e-6,), misfit=(0.0,))


@pytest.fixture
def laws() -> Laws:
    return bind(PDE(lambda u, x: laplacian(u)(x), n_points=8), SPACE)


def _history(n: int, seed: int = 0) -> Trials:
    points = np.random.default_rng(seed).uniform(size=(30, 2))[:n]
    return Trials([SPACE.params(p) for p in points], [float(np.sum(p)) for p in points])


def _warns(laws: Laws, hyper: PhysicsHyper, trials: Trials | Data) -> bool:
    data = trials if isinstance(trials, Data) else Data.of(SPACE, trials)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NeuroboWarning)
        warn_of_misfits(laws, hyper, data)
    return bool(caught)


def test_a_study_warns_once(laws: Laws) -> None:
    said = [_warns(laws, WRONG, _history(n)) for n in range(3, 20)]
    assert said == [n == ENOUGH for n in range(3, 20)]
    assert not _warns(laws, WRONG, _history(19))


def test_it_warns_when_the_law_is_first_contradicted(laws: Laws) -> None:
    assert [_warns(laws, WRONG if n > 8 else RIGHT, _history(n)) for n in range(6, 12)] == [
        False, False, False, True, False, False,
    ]  # fmt: skip


def test_another_study_warns_again(laws: Laws) -> None:
    assert _warns(laws, WRONG, _history(10))
    assert _warns(laws, WRONG, _history(10, seed=1))
    # Each goes on, in turns.
    assert not _warns(laws, WRONG, _history(12))
    assert not _warns(laws, WRONG, _history(12, seed=1))


def test_the_same_run_once_more_warns_again(laws: Laws) -> None:
    for _ in range(2):
        said = [_warns(laws, RIGHT if n == 13 else WRONG, _history(n)) for n in range(10, 14)]
        assert said == [True, False, False, False]


def test_pending_points_and_the_order_of_results_do_not_matter(laws: Laws) -> None:
    trials = _history(10)
    assert _warns(laws, WRONG, trials)
    waiting: Any = Trials(trials.params, trials.values, pending=[SPACE.params([0.4, 0.6])])
    data = Data.of(SPACE, waiting)
    assert not _warns(laws, WRONG, data.with_fantasies(np.zeros(1)))
    late = _history(11)  # an early trial that finished last
    assert not _warns(laws, WRONG, Trials(late.params[::-1], late.values[::-1]))
