from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

import neurobo
from neurobo.analysis.plots import belief
from neurobo.data.scaling import standardise, units
from neurobo.errors import InvalidInput
from neurobo.integrations.history import trials_of
from neurobo.space.search_space import Space

SPACE = {"x": (0.0, 4.0)}
HISTORY = [({"x": x}, 100 + 20 * math.sin(2 * x)) for x in (0.3, 1.0, 1.9, 2.6, 3.3, 3.8)]
FAST = neurobo.NeuralGreedy(width=64, gamma=2.0)


def _belief(algorithm: Any, **options: Any) -> Any:
    space = Space.of(SPACE)
    return belief(space, trials_of(space, HISTORY), algorithm, **options)


@pytest.mark.parametrize("algorithm", [FAST, neurobo.NTKGP(ard=False)], ids=["draws", "exact"])
def test_the_belief_is_in_the_user_s_units_and_knows_the_observations(algorithm: Any) -> None:
    found = _belief(algorithm, samples=8, draws=3, points=401)
    assert found.draws.shape == (3, 401)
    places = [int(np.argmin(np.abs(found.x - p["x"]))) for p, _ in HISTORY]
    values = np.array([y for _, y in HISTORY])
    np.testing.assert_allclose(found.mean[places], values, atol=2)
    np.testing.assert_allclose(found.draws[:, places], np.tile(values, (3, 1)), atol=2)
    assert np.all(found.sd[places] < 1)
    assert found.sd.max() > 2 * found.sd[places].max()


@pytest.mark.slow
def test_draws_scatter_as_the_exact_band_says() -> None:
    found = _belief(neurobo.NTKGP(ard=False), draws=200, points=21)
    away = found.sd > 0.3 * found.sd.max()
    ratio = found.draws[:, away].std(axis=0) / found.sd[away]
    assert np.all(np.abs(ratio - 1) < 0.25)  # 5 standard errors of a standard deviation


def test_units_undo_standardisation() -> None:
    y = np.array([3.0, -1.0, 7.5, 2.0])
    location, spread = units(y)
    np.testing.assert_allclose(location + spread * standardise(y), y)
    assert units(np.full(3, 5.0)) == (5.0, 0.0)


def test_bands_draws_a_picture(tmp_path: Path) -> None:
    axis = neurobo.plots.bands(SPACE, HISTORY, algorithm=FAST, samples=4, draws=2)
    axis.figure.savefig(tmp_path / "bands.png")
    assert (tmp_path / "bands.png").stat().st_size > 5000
    assert {t.get_text() for t in axis.get_legend().get_texts()} == {"±2 sd", "mean", "observed"}
    assert axis.get_xlabel() == "x"


def test_a_notebook_shows_the_picture() -> None:
    """IPython asks the last value of a cell for its `_repr_png_`."""
    axis = neurobo.plots.bands(SPACE, HISTORY, algorithm=FAST, samples=4, draws=2)
    png = axis._repr_png_()
    assert png.startswith(b"\x89PNG")
    axis.set_title("a title")  # what the user does to the axes is shown, too
    assert axis._repr_png_() != png
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_a_slice_of_a_mixed_space_from_a_study() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = {
        "lr": neurobo.Float(1e-4, 1.0, log=True),
        "n": neurobo.Int(1, 6),
        "act": neurobo.Categorical(["a", "b"]),
    }
    study.optimize(
        lambda t: t.suggest_float("lr", 1e-4, 1.0, log=True) + t.suggest_int("n", 1, 6)
        + (t.suggest_categorical("act", ["a", "b"]) == "a"), n_trials=8,
    )  # fmt: skip
    axis = neurobo.plots.bands(space, study, algorithm=FAST, samples=3, draws=1)
    assert (axis.get_xscale(), axis.get_xlabel()) == ("log", "lr")
    axis = neurobo.plots.bands(
        space, study, algorithm=FAST, samples=3, draws=1, parameter="n",
        at={"lr": 0.1, "n": 2, "act": "b"},
    )  # fmt: skip
    assert axis.lines[-2].get_xdata().tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"parameter": "z"}, r"parameter must be one of \['x'\], got 'z'"),
        ({"samples": 1}, "samples must be"),
        ({"history": []}, "the history must have a finite value, got none"),
        ({"space": {"c": neurobo.Categorical(["a", "b"])}, "history": [({"c": "a"}, 1.0)]},
         "the space must have a numeric parameter"),
    ],
)  # fmt: skip
def test_bad_input_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        neurobo.plots.bands(**{"space": SPACE, "history": HISTORY, "algorithm": FAST, **given})
