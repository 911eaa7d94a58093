from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any

import jax
import numpy as np
import optuna
import pytest
from documents import ROOT, python_blocks
from small import ALGORITHMS, EVERY_DAY, TWO_FAST, WITH_A_LAW, small

import neurobo
from neurobo.algorithm import registry
from neurobo.errors import InvalidInput, SpaceExhausted
from neurobo.space.search_space import Space

FLOATS = {"x": (-5.0, 10.0), "y": (0.0, 15.0)}
MIXED = {
    "x": (-5.0, 10.0),
    "lr": neurobo.Float(1e-5, 1e-1, log=True),
    "s": neurobo.Float(0.0, 1.0, step=0.25),
    "n": neurobo.Int(1, 8),
    "k": neurobo.Int(1, 256, log=True),
    "act": neurobo.Categorical(["relu", "tanh", None]),
}
CATEGORIES = {"a": neurobo.Categorical(list("pqrs")), "b": neurobo.Categorical(list("tuvw"))}
POOL = neurobo.Pool(np.random.default_rng(0).normal(size=(200, 8)))
# All have 8 columns: what is compiled for one serves the others.
CONDITIONAL: Any = {
    "kind": neurobo.Categorical(["u", "v"]),
    "rate": neurobo.Conditional(neurobo.Float(1e-3, 1.0, log=True), when={"kind": ["u"]}),
    "depth": neurobo.Int(1, 4),
    **{f"w{i}": neurobo.Conditional((0.0, 1.0), when={"depth": (i, 4)}) for i in (2, 3, 4)},
    "x": (0.0, 1.0),
}
SPACES: dict[str, Any] = {
    "floats": {f"x{i}": (-1.0, 2.0) for i in range(8)},
    "mixed": MIXED,
    "categories": CATEGORIES,
    "pool": POOL,
    "conditional": CONDITIONAL,
}
FAST = neurobo.NeuralGreedy(width=64, gamma=2.0)


def _objective(params: dict[str, Any] | int) -> float:
    """Something that depends on every parameter."""
    if isinstance(params, int):
        return float(np.sin(POOL.candidates[params]).sum())
    return float(
        sum(
            math.sin(i + (v if isinstance(v, float | int) else len(str(v))))
            for i, v in enumerate(params.values())
        )
    )


def _history(space: Any, n: int, seed: int = 0) -> list[tuple[Any, float | None]]:
    points = neurobo.suggest(space, n=n, seed=seed, n_startup_trials=n)
    return [(p, _objective(p)) for p in points]


CONTRACT = [
    pytest.param(
        name, space, id=f"{name}-{space}",
        marks=[pytest.mark.slow] * (name not in EVERY_DAY),
    )
    for name in ALGORITHMS
    for space in SPACES
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), CONTRACT)
def test_every_algorithm_in_every_space(name: str, kind: str) -> None:
    """The contract of an algorithm: valid, new, different points, the same for the same seed."""
    algorithm, space = ALGORITHMS[name], SPACES[kind]
    history = _history(space, 9)
    history[2] = (history[2][0], None)
    history[3] = (history[3][0], math.nan)
    pending = [p for p, _ in _history(space, 12)[9:]]
    points = neurobo.suggest(
        space, history, n=3, algorithm=algorithm, seed=1, pending=pending, n_startup_trials=0
    )
    known = [json.dumps(p) for p, _ in history] + [json.dumps(p) for p in pending]
    assert len({json.dumps(p) for p in points} | set(known)) == len(known) + 3
    assert all(Space.of(space).contains(Space.of(space).params(p)) for p in points)
    again = neurobo.suggest(
        space, history, n=3, algorithm=algorithm, seed=1, pending=pending, n_startup_trials=0
    )
    assert points == again


@pytest.mark.parametrize("name", TWO_FAST)
def test_every_algorithm_with_constraints_and_fixed_values(name: str) -> None:
    """In a conditional space, with constraints, failures, pending points and a batch."""
    space = Space.of(CONDITIONAL)
    history = [
        (p, None if i == 4 else v, {"sum": p["x"] - 0.6, "kind": len(p) - 5.5})
        for i, (p, v) in enumerate(_history(CONDITIONAL, 12))
    ]
    fixed = {"kind": "u", "w3": 0.5}
    found = neurobo.suggest(
        CONDITIONAL, history, n=3, algorithm=ALGORITHMS[name], seed=0, n_startup_trials=0,
        fixed=fixed, pending=[{"kind": "u", "rate": 0.1, "depth": 1, "x": 0.2}],
    )  # fmt: skip
    assert all(space.contains(p) and space.params(p) == p for p in found)
    assert all(p["kind"] == "u" and p.get("w3", 0.5) == 0.5 for p in found)
    assert len({json.dumps(p) for p in found}) == 3


def test_a_suggestion_with_fixed_values_is_the_best_rest_for_them() -> None:
    """The optimum moves with a parameter that is fixed; no observation has its value."""
    rng = np.random.default_rng(0)

    def f(x: float, heat: float) -> float:
        return (x - heat) ** 2

    history = [({"x": x, "heat": h}, f(x, h)) for x, h in rng.random((25, 2)).tolist()]
    space: Any = {"x": (0.0, 1.0), "heat": (0.0, 1.0)}
    for heat in (0.123, 0.5, 0.877):
        points = neurobo.suggest(
            space, history, n=2, algorithm="ntk-gp", seed=0, fixed={"heat": heat}
        )
        assert all(p["heat"] == heat for p in points)
        assert min(abs(p["x"] - heat) for p in points) < 0.03


def test_the_documented_example_keeps_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    """The algorithm of docs/add-an-algorithm.md, registered, like one of our own."""
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    example, *_ = python_blocks((ROOT / "docs" / "add-an-algorithm.md").read_text("utf-8"))
    exec(example, {})
    (name,) = set(neurobo.algorithms()) - set(ALGORITHMS) - {WITH_A_LAW}
    monkeypatch.setitem(ALGORITHMS, name, small(name))
    for kind in SPACES:
        test_every_algorithm_in_every_space(name, kind)
    test_with_nothing_known_there_is_still_a_suggestion(name)
    test_odd_values_give_distinct_finite_points(name, [1e300, -1e300] * 20)
    test_a_thousand_copies_of_one_point(name)


@pytest.mark.parametrize("name", TWO_FAST)
def test_with_nothing_known_there_is_still_a_suggestion(name: str) -> None:
    algorithm = ALGORITHMS[name]
    space = SPACES["floats"]
    (point,) = neurobo.suggest(space, algorithm=algorithm, seed=0, n_startup_trials=0)
    assert Space.of(space).contains(point)


@pytest.mark.slow
def test_thousands_of_combinations_of_categories() -> None:
    """4^7 points: too many to look at each, and a suggestion must be better than chance."""
    space = {f"c{i}": neurobo.Categorical(list("abcd")) for i in range(7)}
    target = dict(zip(space, "badcabd", strict=True))

    def wrong(p: dict[str, Any]) -> float:
        return float(sum(p[name] != target[name] for name in space))

    history = [(p, wrong(p)) for p in neurobo.suggest(space, n=20, n_startup_trials=20, seed=0)]
    for _ in range(20):
        (point,) = neurobo.suggest(space, history, algorithm=FAST, seed=0)
        history.append((point, wrong(point)))
    assert len({json.dumps(p) for p, _ in history}) == 40
    assert min(v for _, v in history) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["neural-greedy", "sto-bnts", "neural-linear-ts", "neural-ts"])
def test_another_seed_draws_other_functions(name: str) -> None:
    space = SPACES["mixed"]
    history = _history(space, 9)
    found = [
        neurobo.suggest(space, history, algorithm=ALGORITHMS[name], seed=s, n_startup_trials=0)
        for s in (1, 2)
    ]
    assert found[0] != found[1]


def test_the_start_design_comes_first_and_then_the_model() -> None:
    design = neurobo.suggest(FLOATS, n=5, seed=3)
    one_by_one: list[tuple[dict[str, Any], float | None]] = []
    for _ in range(5):
        (point,) = neurobo.suggest(FLOATS, one_by_one, seed=3)
        one_by_one.append((point, _objective(point)))
    assert [p for p, _ in one_by_one] == design
    with_value = neurobo.suggest(FLOATS, one_by_one, seed=3, algorithm=FAST)
    flipped = [(p, -v) for p, v in one_by_one if v is not None]
    assert with_value != neurobo.suggest(FLOATS, flipped, seed=3, algorithm=FAST)


def test_while_everything_fails_the_design_goes_on() -> None:
    failed = [(p, None) for p, _ in _history(FLOATS, 30)]
    (point,) = neurobo.suggest(FLOATS, failed, seed=0, algorithm=FAST)
    assert point not in [p for p, _ in failed]


def test_units_of_the_objective_do_not_matter() -> None:
    history = _history(FLOATS, 12)
    base = neurobo.suggest(FLOATS, history, seed=0, algorithm=FAST)
    for a, b in [(3.7, -11.0), (1e-9, 0.0), (1e9, 5.0), (1e300, 0.0), (1e-300, 0.0)]:
        scaled = [(p, a * v + b) for p, v in history if v is not None]
        found = neurobo.suggest(FLOATS, scaled, seed=0, algorithm=FAST)
        assert found[0] == pytest.approx(base[0], rel=1e-6)


@pytest.mark.parametrize("algorithm", TWO_FAST)
@pytest.mark.parametrize(
    "values",
    [[2.0] * 40, [1e300, -1e300] * 20, [1e-300, 2e-300] * 20, [0.0] * 39 + [1e10]],
    ids=["constant", "huge", "tiny", "outlier"],
)
def test_odd_values_give_distinct_finite_points(algorithm: str, values: list[float]) -> None:
    points = neurobo.suggest(FLOATS, n=40, seed=0, n_startup_trials=40)
    history = list(zip(points, values, strict=True))
    found = neurobo.suggest(FLOATS, history, n=2, algorithm=ALGORITHMS[algorithm], seed=0)
    assert all(math.isfinite(v) for p in found for v in p.values())
    assert len({json.dumps(p) for p in [*points, *found]}) == 42


@pytest.mark.parametrize("algorithm", TWO_FAST)
def test_a_thousand_copies_of_one_point(algorithm: str) -> None:
    history = [({"x": 1.0, "y": 2.0}, float(i % 3)) for i in range(1000)]
    found = neurobo.suggest(FLOATS, history, n=2, algorithm=ALGORITHMS[algorithm], seed=0)
    assert len({json.dumps(p) for p in found}) == 2
    assert {"x": 1.0, "y": 2.0} not in found


def test_a_range_of_24_decades() -> None:
    space = {"x": neurobo.Float(1e-12, 1e12, log=True)}
    history = [({"x": 10.0**k}, abs(k - 3.0)) for k in range(-12, 13, 2)]
    found = neurobo.suggest(space, history, n=5, algorithm=FAST, seed=0)
    assert all(1e-12 <= p["x"] <= 1e12 for p in found)
    assert len({p["x"] for p in found}) == 5


def test_single_values_and_exhaustion() -> None:
    space = {"n": neurobo.Int(3, 3), "c": neurobo.Categorical(["only"]), "k": neurobo.Int(1, 2)}
    history: list[tuple[Any, float | None]] = []
    for _ in range(2):
        (point,) = neurobo.suggest(space, history, seed=0)
        assert point["n"] == 3
        assert point["c"] == "only"
        history.append((point, float(point["k"])))
    with pytest.raises(SpaceExhausted, match="all 2 are evaluated or pending"):
        neurobo.suggest(space, history, seed=0)
    assert neurobo.suggest({"n": neurobo.Int(3, 3)}, seed=0) == [{"n": 3}]


def test_bounds_give_arrays() -> None:
    found = neurobo.suggest([(-5, 10), (0, 15)], [([0.0, 1.0], 3.0)], n=2, seed=0)
    assert all(isinstance(p, np.ndarray) and p.shape == (2,) for p in found)


def test_an_optuna_study_is_a_history() -> None:
    study = optuna.create_study()
    trials = _history(FLOATS, 8)
    for params, value in trials:
        distributions = Space.of(FLOATS).distributions
        study.add_trial(
            optuna.create_trial(params=params, distributions=distributions, value=value)
        )
    options: dict[str, Any] = {"seed": 4, "algorithm": FAST}
    assert neurobo.suggest(FLOATS, study, **options) == neurobo.suggest(FLOATS, trials, **options)


PROGRAM = """
import json, neurobo
history = [({"x": float(i % 4), "n": i, "c": "ab"[i % 2]}, float((i * 7) % 5)) for i in range(9)]
space = {"x": (-5.0, 10.0), "n": neurobo.Int(0, 50), "c": neurobo.Categorical("abc")}
print(json.dumps(neurobo.suggest(space, history, n=2, seed=11, algorithm="neural-greedy")))
"""


@pytest.mark.slow
def test_another_process_suggests_the_same() -> None:
    outputs = set()
    for hash_seed in ("0", "1", "12345"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1


BAD: list[tuple[dict[str, Any], str]] = [
    ({"algorithm": "gradient-descent"}, "got 'gradient-descent'"),
    ({"algorithm": 3}, "got int"),
    ({"n": 0}, "n must be a whole number of at least 1, got 0"),
    ({"n": 2.5}, "got 2.5"),
    ({"seed": -1}, "seed must be a whole number from 0 to 2**63 - 1, got -1"),
    ({"seed": "abc"}, "got 'abc'"),
    (
        {"start": "grid"},
        "'random', 'uncertainty'], got 'grid'",
    ),
    ({"n_startup_trials": -3}, "got -3"),
    ({"history": [1.0]}, "or (params, value, constraints), got 1.0 at 0"),
    ({"history": [({"x": 1.0, "y": 1.0}, 2.0, 3.0)]}, "a dict by name, got 3.0 at 0"),
    ({"history": [({"x": 1.0, "y": 1.0}, "two")]}, "got 'two' at 0"),
    ({"history": [({"x": 1.0, "y": 1.0}, [2.0])]}, "got [2.0] at 0"),
    ({"history": [({"x": 99.0, "y": 1.0}, 2.0)]}, "got 99.0"),
    ({"history": [({"x": 1.0}, 2.0)]}, "got ['x']"),
    ({"pending": [{"x": 1.0, "y": -1.0}]}, "got -1.0"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_refused_before_any_compilation(
    arguments: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def heavy(*_: Any, **__: Any) -> None:
        raise AssertionError("heavy work began")

    monkeypatch.setattr(jax.random, "key", heavy)
    with pytest.raises(InvalidInput) as error:
        neurobo.suggest(FLOATS, **arguments)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wdth": 3}, "options of NeuralGreedy must be among ['gamma', 'noise'"),
        ({"width": 0}, "width must be a whole number of at least 1, got 0"),
        (
            {"gamma": -1.0},
            "gamma must be 'evidence', 'grid', a number above 0 or a pair (σ_w, σ_b) with σ_w "
            "above 0 and σ_b of at least 0, got -1.0",
        ),
        ({"gamma": math.nan}, "got nan"),
        ({"noise": -0.1}, "noise must be a finite number of at least 0, got -0.1"),
        ({"scale": 0.0}, "got 0.0"),
        ({"activation": "step"}, "got 'step'"),
        ({"solver": "lbfgs"}, "solver must be one of ['adam', 'gauss-newton'], got 'lbfgs'"),
        ({"surrogate": "gp"}, "got 'gp'"),
        ({"trust_region": 5.0}, '"auto", "adaptive" or in (0, 2], got 5.0'),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(neurobo.NeuroboError) as error:
        neurobo.NeuralGreedy(**options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "options",
    [{"solver": "adam"}, {"depth": 2, "activation": "relu"}, {"noise": 0.1, "scale": 2.0}],
)
def test_options_work(options: dict[str, Any]) -> None:
    algorithm = neurobo.NeuralGreedy(width=32, **options)
    (point,) = neurobo.suggest(FLOATS, _history(FLOATS, 6), algorithm=algorithm, seed=0)
    assert point.keys() == FLOATS.keys()


def test_a_space_of_one_point_is_exhausted_before_a_model_is_fitted() -> None:
    """Failures at the only point there is were to be learned from no column at all."""
    history = [*4 * [({"n": 0}, None)], *2 * [({"n": 0}, 0.0)]]
    with pytest.raises(SpaceExhausted, match="all 1 are evaluated or pending"):
        neurobo.suggest({"n": neurobo.Int(0, 0)}, history, algorithm="neural-greedy", seed=0)
