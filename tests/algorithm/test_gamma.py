"""γ is a number or a pair (σ_w, σ_b) wherever it may be a number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from small import SMALL
from studies.made import study

import neurobo
from neurobo.algorithm.registry import build
from neurobo.bench.peers import method
from neurobo.bench.peers.base import split_options
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput
from neurobo.studies.file.reader import read_study

WITH_GAMMA = [
    name for name in neurobo.algorithms() if hasattr(build(name), "gamma") and name != "pinn-bo"
]


@pytest.mark.parametrize("name", WITH_GAMMA)
def test_a_pair_of_equal_numbers_is_that_number_and_another_pair_is_not(
    x64: None, name: str
) -> None:
    rng = np.random.default_rng(0)
    data = Data.pad(rng.uniform(-1, 1, (6, 2)), rng.normal(size=6))
    at = jax.numpy.asarray(rng.uniform(-1, 1, (4, 2)))
    options: Any = {"width": SMALL["width"]} | ({"members": 3} if "ensemble" in name else {})
    values = [
        np.asarray(build(name, gamma=gamma, **options).decide(jax.random.key(0), data, 8).score(at))
        for gamma in (1.5, (1.5, 1.5), [1.5, 0.05], (1.5, 0))
    ]
    np.testing.assert_array_equal(values[0], values[1])
    assert not np.allclose(values[0], values[2])
    assert np.isfinite(values).all()


def test_a_list_becomes_a_pair_of_numbers() -> None:
    assert neurobo.STOBNTS(gamma=[1.5, 0]).gamma == (1.5, 0.0)  # type: ignore[arg-type]
    assert neurobo.PINNBO(gamma=[2, 1]).gamma == (2.0, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("gamma", [0, -1.0, (0, 1), (1, -0.1), (1, 2, 3), (1, float("nan")), "x"])
def test_what_is_no_gamma_is_refused(gamma: Any) -> None:
    for name in (*WITH_GAMMA, "pinn-bo"):
        with pytest.raises(InvalidInput, match="gamma must be"):
            build(name, gamma=gamma)


def test_command_lines_and_study_files_can_give_a_pair(tmp_path: Path) -> None:
    name, options = split_options("sto-bnts:gamma=[1.5,0.05],width=32,beta=theory")
    assert (name, options) == (
        "sto-bnts", {"gamma": [1.5, 0.05], "width": 32, "beta": "theory"},
    )  # fmt: skip
    assert method("sto-bnts:gamma=[1.5,0.05],width=32").options["gamma"] == [1.5, 0.05]
    top = 'algorithm = "sto-bnts"\noptions = { gamma = [1.5, 0.05] }\n'
    algorithm: Any = read_study(study(tmp_path, top=top)).algorithm
    assert algorithm.gamma == (1.5, 0.05)
