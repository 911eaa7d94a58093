"""The presets are the settings of the papers and of their authors' programs, one by one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

import neurobo
from neurobo.algorithm import Algorithm
from neurobo.algorithm.registry import build
from neurobo.bench.peers import method
from neurobo.errors import InvalidInput

GREEDY = {
    # "Be Greedy", F.2: "1-hidden layer networks of fixed width 5000", "Adam ... learning rate of
    # 0.001", "ν = 1, σ² = 0", γ in [0.5, 5]; thesis, appendix A: 5000 epochs, Adam.
    "width": 5000, "depth": 1, "activation": "tanh", "gamma": "grid", "noise": 0.0, "scale": 1.0,
    "solver": "adam", "adam_steps": 5000, "surrogate": "simple",
    # Ours, which the paper has not.
    "restless": False, "sphere": False, "trust_region": None, "ard": False, "candidates": None,
}  # fmt: skip
STO = {
    # 5.5: "L = 2, m = 256"; footnote 2: β_t = 1. The authors' program: the rest.
    "width": 256, "depth": 2, "activation": "relu", "beta": 1.0, "gamma": (1.5, 0.05),
    "noise": 0.01, "perturb": False, "standardise": False, "solver": "adam", "adam_steps": 10_000,
    "candidates": 10_000, "linear": False, "sphere": False, "trust_region": None, "ard": False,
}  # fmt: skip
NEURAL_BO = {
    # 7: "network width m = 500", "SGD optimizer with batch size 50, epochs 50, learning rate 0.001
    # and regularizer λ = 0.01", ν in {0.1, 1, 10}. The authors' program: 50,000 Sobol points.
    "width": 500, "depth": 1, "activation": "relu", "gamma": (1.0, 0.0), "noise": 0.01, "nu": 1.0,
    "solver": "minibatch-sgd", "sampling": "pointwise", "candidates": 50_000, "update_every": 1,
    "sphere": False, "trust_region": None, "ard": False,
}  # fmt: skip
NEURAL_CBO = {
    # (4.1), Algorithm 3, Lemma 4.1.5; 4.3.1: "learning rate α = 0.001", m = T, L = 2.
    "width": 100, "depth": 2, "activation": "relu", "gamma": (1.0, 0.0), "noise": 1.0,
    "beta": "theory", "caution": None, "solver": "sgd", "sphere": False, "trust_region": False,
    "warp": False, "ard": False,
}  # fmt: skip
PINN = {
    # Algorithm 4, (5.1); 5.4.1: weights N(0, 1), width in {100, 200, 500}, depth in {2, 3, 4}.
    "surrogate": "simple", "acquisition": "ts", "nu": 1.0, "weight": 1.0, "gamma": 1.0,
    "width": 200, "depth": 2, "activation": "tanh", "additive": False, "noise": None,
}  # fmt: skip
PAPERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "neural-greedy": (neurobo.NeuralGreedy.paper(), GREEDY),
    "neural-greedy-posterior": (
        neurobo.NeuralGreedy.paper(surrogate="posterior"), {**GREEDY, "surrogate": "posterior"},
    ),
    "sto-bnts": (neurobo.STOBNTS.paper(), STO),
    "sto-bnts-linear": (neurobo.STOBNTS.paper(linear=True), {**STO, "linear": True}),
    "neural-bo": (neurobo.NeuralBO.paper(), NEURAL_BO),
    "neural-cbo": (neurobo.NeuralCBO.paper(), NEURAL_CBO),
    "pinn-bo": (neurobo.PINNBO.paper(), PINN),
}  # fmt: skip


@pytest.mark.parametrize("name", PAPERS)
def test_settings_are_the_paper_s(name: str) -> None:
    algorithm, settings = PAPERS[name]
    given = asdict(algorithm)
    unpinned = {"start", "laws", "batch"}  # no settings; B belongs to the experiment
    assert {key: given[key] for key in given if key not in unpinned} == settings
    assert build(name, preset="paper") == algorithm
    assert method(f"{name}:paper").options == {"preset": "paper"}


def test_settings_can_be_changed_by_name_and_in_study_files() -> None:
    assert neurobo.STOBNTS.paper(width=64).width == 64
    assert method("sto-bnts:paper,solver=gauss-newton").options["solver"] == "gauss-newton"
    changed: Any = build("neural-cbo", preset="paper", width=200)
    assert (changed.width, changed.depth) == (200, 2)


def test_what_is_no_preset_is_refused() -> None:
    with pytest.raises(InvalidInput, match="preset must be"):
        build("sto-bnts", preset="papre")
    with pytest.raises(InvalidInput, match="options must be written"):
        method("sto-bnts:papre")
    with pytest.raises(InvalidInput, match="paper settings must be one of"):
        method("auto:paper")
    with pytest.raises(InvalidInput, match="options of optuna-tpe"):
        method("optuna-tpe:paper")


def _history(constrained: bool) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(0)
    points = rng.uniform(-2, 2, (6, 2)).tolist()
    rows: list[tuple[Any, ...]] = [({"x": x, "y": y}, 100 * (x**2 + y**2)) for x, y in points]
    return [(*row, {"c": row[0]["x"] - 1}) for row in rows] if constrained else rows


SMALL: dict[str, Any] = {
    "neural-greedy": {"width": 32, "adam_steps": 20},
    "neural-greedy-posterior": {"width": 32, "adam_steps": 20},
    "sto-bnts": {"width": 32, "adam_steps": 20, "candidates": 100},
    "sto-bnts-linear": {"width": 32, "candidates": 100},
    "neural-bo": {"width": 32, "candidates": 100},
    "neural-cbo": {"width": 32},
    "pinn-bo": {"width": 32},
}


@pytest.mark.filterwarnings("ignore:law 1 of 1")
@pytest.mark.parametrize("name", PAPERS)
def test_the_paper_s_algorithms_suggest(name: str) -> None:
    algorithm: Algorithm = build(name, preset="paper", **SMALL[name])
    law = neurobo.PDE(lambda u, x: neurobo.physics.laplacian(u)(x) - 400.0, n_points=24)
    points = neurobo.suggest(
        {"x": (-2.0, 2.0), "y": (-2.0, 2.0)},
        _history(name == "neural-cbo"),
        2,
        algorithm=algorithm,
        seed=0,
        n_startup_trials=0,
        physics=law if name == "pinn-bo" else None,
    )
    assert points[0] != points[1]
    assert all(-2 <= value <= 2 for point in points for value in point.values())


def test_candidates_are_scored_and_nothing_else() -> None:
    """The point is one of the Sobol points: with one of them it has no choice."""
    space: Any = {"x": (-2.0, 2.0), "y": (-2.0, 2.0)}
    options: Any = {"seed": 3, "n_startup_trials": 0}
    low, high = (
        neurobo.suggest(
            space,
            [({"x": x, "y": 0.0}, 1.0 + sign * x) for x in (-1.0, 0.0, 1.0)],
            algorithm=neurobo.STOBNTS(width=32, gamma=1.0, candidates=1, trust_region=None),
            **options,
        )[0]
        for sign in (-1, 1)
    )
    assert low == high


def test_raw_values_are_what_the_network_is_trained_on() -> None:
    """Standardised values know no unit; raw ones in the thousands are fitted as such."""
    space: Any = {"x": (-2.0, 2.0)}
    small, large = (
        [({"x": x}, size * np.sin(3 * x) + 5 * size) for x in np.linspace(-2, 2, 7).tolist()]
        for size in (1.0, 1000.0)
    )
    for standardise in (True, False):
        algorithm = neurobo.STOBNTS(
            width=64, gamma=(1.5, 0.05), noise=0.01, standardise=standardise, perturb=False
        )
        a, b = (
            neurobo.suggest(space, h, algorithm=algorithm, seed=0, n_startup_trials=0)[0]["x"]
            for h in (small, large)
        )
        assert (a == pytest.approx(b, abs=1e-6)) == standardise
