from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from neurobo.bench.problem import Problem, Vector
from neurobo.bench.problems import problem
from neurobo.bench.problems.conditional import LEVELS, PROBLEMS, tree
from neurobo.errors import InvalidInput
from neurobo.space.search_space import Params

CHANCE = np.random.default_rng(0)
GOOD: dict[str, tuple[Params, float]] = {
    "model-choice-cancer-14": ({"model": "logistic", "logistic.C": 0.5}, 0.085),
    "layers-digits-8": (
        {
            "layers": 2,
            "width_1": 64,
            "width_2": 32,
            "learning_rate": 0.01,
            "alpha": 1e-4,
            "activation": "relu",
        },
        0.15,
    ),
}


def points(given: Problem, n: int, seed: int = 0) -> list[Params]:
    unit = np.random.default_rng(seed).random((n, given.space.n_parameters))
    return [given.space.decode(x) for x in given.space.from_unit(unit)]


@pytest.mark.parametrize("given", PROBLEMS, ids=lambda p: p.name)
def test_every_record_is_complete(given: Problem) -> None:
    assert given.source
    assert given.summary
    assert given.kinds == {"mixed", "conditional"}
    assert given.dim == int(given.name.rpartition("-")[2])
    for params in points(given, 100):
        given.check(params)


def lowest_of(fixed: Params, names: list[str]) -> float:
    def at(x: Vector) -> float:
        return tree(fixed | dict(zip(names, x, strict=True)))

    return float(minimize(at, np.full(len(names), 0.6), bounds=[(0, 1)] * len(names)).fun)


def test_the_trees_optimum() -> None:
    """In every branch, no point at random and none that a solver finds is lower."""
    given = problem("conditional-tree-9")
    assert given.best is not None
    assert given.optimum is not None
    given.check(given.best)
    assert tree(given.best) == pytest.approx(given.optimum, abs=1e-12)
    lowest = min(tree(p) for p in points(given, 5000))
    assert lowest > given.optimum
    reached = {}
    for depth in range(1, LEVELS + 1):
        for leaf in ("flat", "wavy") if depth > 2 else (None,):
            names = [f"number_{i}" for i in range(1, depth + 1)]
            fixed: Params = {"depth": depth} | ({} if leaf is None else {"leaf": leaf})
            names += ["phase"] if leaf == "wavy" else []
            reached[depth, leaf] = lowest_of(fixed, names)
    assert min(reached, key=lambda branch: reached[branch]) == (4, "wavy")
    assert reached[4, "wavy"] == pytest.approx(given.optimum, abs=1e-9)
    assert np.sort(list(reached.values()))[1] > given.optimum + 0.05


@pytest.mark.parametrize("name", GOOD)
def test_a_good_setting(name: str) -> None:
    given, (params, most) = problem(name), GOOD[name]
    found = given.evaluate(params, CHANCE).value
    assert found < most
    assert given.evaluate(params, CHANCE).value == found


@pytest.mark.parametrize("model", ["logistic", "neighbours", "discriminant", "forest", "boosting"])
def test_every_model_can_be_chosen(model: str) -> None:
    given = problem("model-choice-cancer-14")
    chosen = next(p for p in points(given, 200) if p["model"] == model)
    assert all(name == "model" or name.startswith(f"{model}.") for name in chosen)
    assert 0 < given.evaluate(chosen, CHANCE).value < math.log(5)


def test_a_width_too_many_or_too_few_is_refused() -> None:
    given, (params, _) = problem("layers-digits-8"), GOOD["layers-digits-8"]
    with pytest.raises(InvalidInput, match=r"no others, got .*width_3"):
        given.evaluate(params | {"width_3": 8}, CHANCE)
    with pytest.raises(InvalidInput, match=r"every parameter that it has, .*width_3"):
        given.evaluate(params | {"layers": 3}, CHANCE)
