"""The quantities of the regret bounds against dense formulas."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from studies.made import read
from typer.testing import CliRunner

import neurobo
from neurobo import theory
from neurobo.cli.app import app
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput
from neurobo.integrations.history import trials_of
from neurobo.networks.infinite_width import kernels
from neurobo.physics.features import phi_of
from neurobo.physics.laws import bind
from neurobo.space.search_space import Space
from neurobo.studies.runner import store

X = np.random.default_rng(0).uniform(-1, 1, (9, 2))
LAMBDA = 0.05


def _gain(gram: np.ndarray, noise: float = LAMBDA) -> float:
    return float(np.linalg.slogdet(np.eye(len(gram)) + gram / noise)[1]) / 2


def test_the_kernel_is_that_of_the_wide_network(x64: None) -> None:
    found = theory.kernel(X, gamma=(1.5, 0.3), depth=2, activation="relu")
    exact = kernels(
        jnp.asarray(X), jnp.asarray(X), jnp.asarray([1.5, 0.3]), depth=2, activation="relu"
    ).ntk
    np.testing.assert_allclose(found, exact, rtol=1e-6)
    assert found.dtype == np.float64


def test_information_gain_is_precise_without_64_bits() -> None:
    gram = theory.kernel(X)
    assert theory.information_gain(gram, 1e-6) == pytest.approx(_gain(gram, 1e-6), rel=1e-9)


def test_the_greedy_choice_has_the_gain_of_its_points_and_63_percent_of_the_maximum() -> None:
    gram = theory.kernel(X)
    gains = theory.maximum_information_gain(gram, 4, LAMBDA)
    for t in range(1, 5):
        choices = itertools.combinations_with_replacement(range(len(X)), t)
        best = max(_gain(gram[np.ix_(c, c)]) for c in map(list, choices))
        assert (1 - 1 / math.e) * best <= gains[t - 1] <= best + 1e-9
    assert gains[0] == pytest.approx(max(np.log1p(np.diag(gram) / LAMBDA)) / 2)
    assert np.all(np.diff(np.diff(gains, prepend=0.0)) <= 1e-12)  # each point tells less


def test_effective_dimension_against_the_determinant() -> None:
    gram = theory.kernel(X)
    expected = 2 * _gain(gram) / np.log(1 + len(X) / LAMBDA)
    assert theory.effective_dimension(gram, LAMBDA) == pytest.approx(expected)
    # d independent directions that all observations share have the dimension d, nearly.
    phi = np.repeat(np.eye(3), 200, axis=0) * np.sqrt(3)
    assert theory.effective_dimension(phi @ phi.T, 1.0) == pytest.approx(3, rel=0.05)


def test_initial_rounds_are_the_first_that_suffice() -> None:
    gains = theory.maximum_information_gain(theory.kernel(X), 400, LAMBDA)
    found = theory.initial_rounds(gains, 4)
    assert found is not None
    assert 3 * gains[found - 1] / found <= 1 < 3 * gains[found - 2] / (found - 1)
    assert theory.initial_rounds(gains, 1) == 0
    assert theory.initial_rounds(gains[:5], 4) is None
    later = theory.initial_rounds(gains, 8)
    assert later is not None
    assert later > found


def test_collocation_count_is_the_lemma_s() -> None:
    gram = theory.kernel(X)
    least = float(np.linalg.eigvalsh(gram)[0])
    expected = 7.0 * (1 + least / LAMBDA) / 4.0
    assert theory.collocation_count(gram, LAMBDA, 2.0, factor=7.0) == pytest.approx(expected)


def test_what_laws_tell_against_determinants_of_all_parameters() -> None:
    """Lemma 5.3.6 with p × p matrices."""
    space: Any = {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}
    history = [({"x": x, "y": y}, x**2 - y**2 + 0.01 * i) for i, (x, y) in enumerate(X.tolist())]
    law = neurobo.PDE(lambda u, x: neurobo.physics.laplacian(u)(x), n_points=12)
    algorithm = neurobo.PINNBO(width=24, activation="tanh", gamma=1.5, weight=1.0, noise=0.05)
    found = theory.law_information(space, history, law, algorithm=algorithm)
    with jax.enable_x64(True):
        checked = Space.of(space)
        data = Data.of(checked, trials_of(checked, history))
        model = algorithm.with_laws(bind(law, checked))
        state = model.surrogate_for(0).condition(jax.random.key(0), data)
        at = (state.found.network, jnp.asarray(state.found.gamma), state.found.theta0)
        phi = np.asarray(phi_of(*at, jnp.asarray(data.x[: data.n])))
        omega = np.asarray(state.found.omega)
    values = phi.T @ phi / state.ridge
    laws = (omega.T / state.law_ridge) @ omega
    eye = np.eye(len(values))
    a, b, both = (np.linalg.slogdet(m + eye)[1] / 2 for m in (values, laws, values + laws))
    assert found.values == pytest.approx(a, rel=1e-6)
    assert found.shared == pytest.approx(a + b - both, rel=1e-5)
    size = np.max(np.sum(omega**2, axis=1))
    least = np.linalg.eigvalsh(phi @ phi.T)[0]
    assert found.collocation == pytest.approx((1 + least / state.ridge) / size, rel=1e-6)
    assert theory.interaction_information(
        phi @ phi.T, phi @ omega.T, omega @ omega.T, state.ridge, state.law_ridge
    ) == pytest.approx(found.shared, rel=1e-6)


def test_bad_arguments_are_refused() -> None:
    gram = theory.kernel(X)
    with pytest.raises(InvalidInput, match="noise must be"):
        theory.maximum_information_gain(gram, 3, 0.0)
    with pytest.raises(InvalidInput, match="rounds must be"):
        theory.maximum_information_gain(gram, 0, 0.1)
    with pytest.raises(InvalidInput, match="square matrix"):
        theory.effective_dimension(gram[:2], 0.1)
    law = neurobo.PDE(lambda u, x: neurobo.physics.laplacian(u)(x))
    with pytest.raises(InvalidInput, match="at least one result"):
        theory.law_information([(-1.0, 1.0)], [], law)


def test_the_command(tmp_path: Path) -> None:
    file = read(tmp_path, space="x = { low = -1.0, high = 1.0 }", trials=30, top="")
    study = store.open_study(file)
    path = str(tmp_path / "study.toml")
    shown = CliRunner().invoke(app, ["explain", path, "--theory"])
    assert shown.exit_code == 0
    assert "need at least three" in shown.output
    rng = np.random.default_rng(0)
    for x in rng.uniform(-1, 1, 8):
        trial = study.ask(file.space.distributions)
        study.tell(trial, float(x**2 + 0.1 * rng.normal()))
    shown = CliRunner().invoke(app, ["explain", path, "--theory"])
    assert shown.exit_code == 0, shown.output
    assert "effective dimension" in shown.output
    told = json.loads(CliRunner().invoke(app, ["explain", path, "--theory", "--json"]).stdout)
    bounds = told["theory"]
    assert bounds["observations"] == 8
    # The greedy choice is not always the best one, but 63 % of it.
    assert 0 < bounds["information"] <= bounds["maximum"] / (1 - 1 / math.e)
    assert "theory" not in json.loads(CliRunner().invoke(app, ["explain", path, "--json"]).stdout)
