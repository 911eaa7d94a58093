"""Known constraints between parameters, from the outside: `where=`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import optuna
import pytest
from search.regions import REGIONS

import neurobo
from neurobo.algorithm import Algorithm
from neurobo.errors import InvalidInput, NeuroboWarning
from neurobo.space.search_space import Space

METALS = ["copper", "tin", "zinc", "lead"]
ALLOY: Any = dict.fromkeys(METALS, (0.0, 1.0)) | {"heat": (200.0, 900.0)}
WHERE: Any = [" + ".join(METALS) + " == 1", "2 * copper >= tin", neurobo.AtMost(3, METALS)]


def _hardness(p: Any) -> float:
    return (p["copper"] - 0.6) ** 2 + (p["tin"] - 0.4) ** 2 + ((p["heat"] - 400) / 700) ** 2


def _broken(space: Any, where: Any, points: Any) -> list[str]:
    known = Space.of(space, where)
    assert known.where is not None
    return [found for p in points if (found := known.where.broken(known.params(p)))]


def test_minimize_stays_inside_and_comes_to_the_optimum() -> None:
    seen: list[Any] = []

    def objective(p: Any) -> float:
        seen.append(p)
        return _hardness(p)

    study = neurobo.minimize(objective, ALLOY, 30, where=WHERE, seed=0, progress=False)
    assert _broken(ALLOY, WHERE, seen) == []
    assert study.best_value < 1e-3
    assert all(p[name] == 0.0 or abs(p[name]) > 1e-9 for p in seen for name in METALS)


QUICK = ("mixture of 3", "3 of 8")
"""Each other region compiles the search anew; tests/search has them all with a simple score."""


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in REGIONS]
)
def test_suggest_stays_inside(name: str) -> None:
    space, where = REGIONS[name]
    rng = np.random.default_rng(0)
    history: list[Any] = []
    for seed in range(3):
        batch = neurobo.suggest(space, history, 4, where=where, seed=seed)
        assert _broken(space, where, batch) == []
        history += [(p, float(rng.normal())) for p in batch]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(REGIONS)[:5])
def test_many_suggestions_are_inside(name: str) -> None:
    """100 histories: a design of 12 points, and 5 suggestions each."""
    space, where = REGIONS[name]
    known, found = Space.of(space, where), []
    rng = np.random.default_rng(0)
    for seed in range(100):
        start = neurobo.suggest(space, [], 12, where=where, seed=seed, n_startup_trials=12)
        values = [float(np.sum(known.encode([p]) ** 2) + rng.normal()) for p in start]
        history = list(zip(start, values, strict=True))
        found += start + neurobo.suggest(space, history, 5, where=where, seed=seed)
    assert _broken(space, where, found) == []


@pytest.mark.parametrize(
    "algorithm",
    [
        neurobo.NeuralGreedy(width=32, gamma=1.0),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("ntk-gp", "sto-bnts")),
        pytest.param("neural-bo", marks=pytest.mark.slow),
    ],
    ids=["neural-greedy", "ntk-gp", "sto-bnts", "neural-bo"],
)
def test_other_algorithms_stay_inside(algorithm: str | Algorithm) -> None:
    history = [
        ({"copper": c, "tin": 1 - c, "zinc": 0.0, "lead": 0.0, "heat": 300.0 + 10 * i}, c)
        for i, c in enumerate(np.linspace(0.4, 1, 9).tolist())
    ]
    found = neurobo.suggest(ALLOY, history, 2, where=WHERE, seed=0, algorithm=algorithm)
    assert _broken(ALLOY, WHERE, found) == []


def test_an_array_space_gives_callables_arrays() -> None:
    where: Any = [lambda x: x[0] + x[1] - x[2], "x0 >= 0.1"]
    found = neurobo.suggest([(0, 1)] * 3, [], 8, where=where, seed=0)
    assert all(x[0] + x[1] <= x[2] and x[0] >= 0.1 for x in found)


def test_the_same_seed_gives_the_same_points_after_the_caches_are_cleared() -> None:
    history = [(p, _hardness(p)) for p in neurobo.suggest(ALLOY, [], 9, where=WHERE, seed=1)]
    first = neurobo.suggest(ALLOY, history, 2, where=WHERE, seed=1)
    neurobo.clear_caches()
    assert neurobo.suggest(ALLOY, history, 2, where=WHERE, seed=1) == first


def test_learned_constraints_and_known_ones_go_together() -> None:
    def objective(p: Any) -> tuple[float, dict[str, float]]:
        return _hardness(p), {"brittle": p["tin"] - 0.3}

    study = neurobo.minimize(objective, ALLOY, 25, where=WHERE, seed=0, progress=False)
    points = [t.params for t in study.trials]
    assert _broken(ALLOY, WHERE, points) == []
    assert study.best_params["tin"] <= 0.3
    assert study.best_value < 0.05


def test_an_optuna_study_stays_inside() -> None:
    sampler = neurobo.NeuroSampler(search_space=ALLOY, where=WHERE, seed=0)
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_float("speed", 0, 1)  # not in the search space: drawn alone
        metals = {name: trial.suggest_float(name, 0, 1) for name in METALS}
        return _hardness(metals | {"heat": trial.suggest_float("heat", 200, 900)})

    with pytest.warns(NeuroboWarning, match="'speed'"):
        study.optimize(objective, n_trials=14)
    assert _broken(ALLOY, WHERE, [t.params for t in study.trials]) == []


def test_a_constrained_parameter_is_never_drawn_alone() -> None:
    sampler = neurobo.NeuroSampler(search_space=ALLOY, where=WHERE, seed=0)
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(InvalidInput, match="'zinc'"):
        study.optimize(lambda trial: trial.suggest_float("zinc", -9, -8), n_trials=1)


def test_where_needs_to_know_the_space() -> None:
    with pytest.raises(InvalidInput, match="where must come with search_space"):
        neurobo.NeuroSampler(where=["a + b == 1"])


def test_nothing_runs_if_the_region_is_empty() -> None:
    def objective(p: Any) -> float:
        raise AssertionError("it ran")

    for where in (["copper >= 0.9", "tin >= 0.9", WHERE[0]], [lambda p: 1.0]):
        with pytest.raises(InvalidInput, match="where must allow"):
            neurobo.minimize(objective, ALLOY, 5, where=where, progress=False)


def test_initial_points_must_be_allowed() -> None:
    point = {"copper": 0.5, "tin": 0.4, "zinc": 0.0, "lead": 0.0, "heat": 300.0}
    with pytest.raises(InvalidInput, match=r"initial\[0\].*missed by 0.1"):
        neurobo.minimize(_hardness, ALLOY, 5, where=WHERE, initial=[point], progress=False)


def test_a_finite_region_is_exhausted_and_says_how_many_points_it_has() -> None:
    space: Any = dict.fromkeys("ab", neurobo.Int(0, 4))
    with pytest.warns(NeuroboWarning, match="all 5 points"):
        study = neurobo.minimize(
            lambda p: p["a"], space, 9, where=["a + b == 4"], seed=0, progress=False
        )
    assert len(study.trials) == 5


@pytest.mark.slow
@pytest.mark.parametrize("name", list(REGIONS)[:5])
def test_a_suggestion_takes_at_most_twice_that_of_the_box(name: str) -> None:
    """CPU time of 9 suggestions of `auto`, each in a design of its own."""
    space, where = REGIONS[name]
    known = Space.of(space)

    def cost(**given: Any) -> float:
        neurobo.clear_caches()
        points = neurobo.suggest(space, [], 48, seed=0, n_startup_trials=48, **given)
        region = Space.of(space, **given).feasible
        middle = np.zeros(known.dim) if region is None else region.starts[0]
        points.append(known.decode(middle))  # or `auto` would propose it, which takes no time
        x = known.encode(points)
        values = np.sum((x + 0.5) ** 2, axis=1) + np.sin(4 * x.sum(axis=1))
        history = list(zip(points, values.tolist(), strict=True))
        times = []
        for i in range(12):
            begin = time.process_time()
            neurobo.suggest(space, history[i:], seed=0, **given)
            times.append(time.process_time() - begin)
        return sum(times[3:])  # the others compile

    cost(where=where)
    cost()
    inside, box = cost(where=where), cost()
    print(f"{name}: {inside / 9:.3f} s, the box {box / 9:.3f} s")  # noqa: T201  (pytest -s)
    assert inside <= 2 * box, (inside, box)
