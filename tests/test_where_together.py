"""Known constraints between parameters in spaces with fixed and with conditional parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest

import neurobo
from neurobo.errors import InvalidInput
from neurobo.search.feasible_points import mutated_points, spread_points
from neurobo.search.neighbours import neighbours
from neurobo.space.search_space import Space

ALLOY: Any = {"copper": (0.0, 1.0), "tin": (0.0, 1.0), "zinc": (0.0, 1.0)}
RULES = ["copper + tin + zinc == 1", "2 * tin <= copper + 0.3"]
TREE: Any = {
    "model": neurobo.Categorical(["svm", "net"]),
    "a": (0.0, 1.0),
    "b": (0.0, 1.0),
    "layers": neurobo.Int(1, 4),
    "gamma": neurobo.Conditional((0.1, 2.0), when={"model": ["svm"]}),
    "width": neurobo.Conditional(neurobo.Categorical([8, 16]), when={"layers": (2, 4)}),
}
TREE_RULES = ["a + b == 1", "layers + 4 * a <= 4"]


def _inside(p: dict[str, Any]) -> bool:
    return abs(sum(p.values()) - 1) < 1e-9 and 2 * p["tin"] <= p["copper"] + 0.3 + 1e-9


def _valid(p: dict[str, Any]) -> bool:
    met = abs(p["a"] + p["b"] - 1) < 1e-9 and p["layers"] + 4 * p["a"] <= 4 + 1e-9
    active = ("gamma" in p) == (p["model"] == "svm") and ("width" in p) == (p["layers"] > 1)
    return met and active


def _value(p: dict[str, Any]) -> float:
    return float((p["a"] - 0.3) ** 2 + p.get("gamma", 1.5) + 0.1 * p["layers"])


def test_fixed_values_enter_the_constraints() -> None:
    for p in neurobo.suggest(ALLOY, n=5, where=RULES, seed=0, fixed={"copper": 0.4}):
        assert p["copper"] == 0.4
        assert _inside(p)
    history = [(p, (p["tin"] - 0.2) ** 2) for p in neurobo.suggest(ALLOY, n=8, where=RULES, seed=0)]
    (found,) = neurobo.suggest(ALLOY, history, where=RULES, seed=0, fixed={"copper": 0.55})
    assert found["copper"] == 0.55
    assert _inside(found)


def test_fixed_values_may_determine_the_rest() -> None:
    fixed = {"copper": 0.5, "tin": 0.3}
    assert Space.of(ALLOY, RULES).holding(fixed).n_points == 1
    (only,) = neurobo.suggest(ALLOY, where=RULES, seed=0, fixed=fixed)
    assert only == pytest.approx({**fixed, "zinc": 0.2}, abs=1e-12)
    with pytest.raises(neurobo.SpaceExhausted):
        neurobo.suggest(ALLOY, [(only, 1.0)], where=RULES, seed=0, fixed=fixed)


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ({"tin": 0.9}, "cannot be met together within the parameters' ranges with tin = 0.9"),
        ({"copper": 0.4, "tin": 0.9}, "which breaks '2 \\* tin <= copper \\+ 0.3'"),
        ({"copper": 0.3, "tin": 0.1, "zinc": 0.7}, "which breaks 'copper \\+ tin \\+ zinc == 1'"),
    ],
)
def test_fixed_values_that_the_constraints_refuse(fixed: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        neurobo.suggest(ALLOY, where=RULES, fixed=fixed)


def test_a_fixed_component_counts_in_its_group() -> None:
    metals = [*ALLOY, "lead"]
    space: Any = dict.fromkeys(metals, (0.0, 1.0))
    where: Any = [f"{' + '.join(metals)} == 1", neurobo.AtMost(3, metals)]
    for p in neurobo.suggest(space, n=5, where=where, fixed={"tin": 0.2}, seed=0):
        assert p["tin"] == 0.2
        assert sum(share != 0 for share in p.values()) <= 3
        assert sum(p.values()) == pytest.approx(1, abs=1e-9)
    with pytest.raises(InvalidInput, match="fixed values other than 0 of copper, tin"):
        Space.of(space, [neurobo.AtMost(1, metals)]).holding({"copper": 0.1, "tin": 0.2})


def test_a_callable_gets_fixed_values() -> None:
    space = Space.of(
        {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}, [lambda p: p["x"] ** 2 + p["y"] ** 2 - 1]
    )
    held = space.holding({"x": 0.9})
    assert held.feasible is not None
    assert held.feasible.oracle is not None
    assert held.feasible.oracle.fast
    points = [held.decode(x) for x in spread_points(held, 50, np.random.default_rng(0))]
    assert all(p["x"] == 0.9 and p["y"] ** 2 <= 1 - 0.81 for p in points)


def test_conditions_and_constraints_in_one_space() -> None:
    study = neurobo.minimize(_value, TREE, n_trials=20, where=TREE_RULES, seed=0, progress=False)
    assert all(_valid(t.params) for t in study.trials)
    assert {t.params["layers"] for t in study.trials[:5]} != {1}
    assert study.best_value < 0.35


def test_every_way_to_make_a_point_keeps_conditions_and_constraints() -> None:
    space, rng = Space.of(TREE, TREE_RULES), np.random.default_rng(0)
    ends = -np.ones(space.dim), np.ones(space.dim)
    base = spread_points(space, 200, rng)
    near = mutated_points(space, base, rng, np.full(200, 0.5), np.ones(200), *ends)
    moved, _ = neighbours(space, base[:20], rng)
    for x in (base, near, moved):
        np.testing.assert_allclose(space.snap(x), x, atol=1e-12)
        assert all(_valid(space.decode(row)) for row in x)
    # What a constrained parent activates is drawn, not left in the middle.
    widths = [space.decode(row).get("width") for row in base]
    assert min(widths.count(8), widths.count(16)) > 20


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("gamma <= 1", "parameters that every point has, got 'gamma'"),
        (neurobo.AtMost(1, ["gamma", "a"]), "parameters that every point has, got 'gamma'"),
        (lambda p: p["gamma"], "KeyError: 'gamma'"),
    ],
)
def test_a_constraint_cannot_name_a_conditional_parameter(rule: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Space.of(TREE, [rule])


def test_queued_trials_meet_the_constraints_unless_they_are_complete() -> None:
    sampler = neurobo.NeuroSampler(search_space=ALLOY, where=RULES, seed=0)
    study = optuna.create_study(sampler=sampler)
    whole = {"copper": 0.1, "tin": 0.9, "zinc": 0.9}
    for queued in ({"copper": 0.4}, {"copper": 0.5, "tin": 0.3}, whole, {"zinc": 0.3}):
        study.enqueue_trial(queued)
    study.optimize(
        lambda t: sum((t.suggest_float(name, 0, 1) - 0.3) ** 2 for name in ALLOY), n_trials=8
    )
    found = [t.params for t in study.trials]
    assert found[2] == whole
    assert all(_inside(p) for i, p in enumerate(found) if i != 2)
    assert (found[0]["copper"], found[3]["zinc"]) == (0.4, 0.3)
    best = neurobo.recommend(study, ALLOY, fixed={"copper": 0.5}, where=RULES)
    assert best.params["copper"] == 0.5
    assert _inside(best.params)


def test_points_that_the_constraints_refuse_do_not_exhaust_a_space() -> None:
    space: Any = {"m": neurobo.Int(0, 2), "n": neurobo.Int(0, 2)}
    outside = [({"m": 2, "n": n}, 1.0) for n in range(3)]
    study = optuna.create_study(
        sampler=neurobo.NeuroSampler(search_space=space, where=["m + n <= 1"], seed=0)
    )
    for params, _ in outside:
        study.enqueue_trial(params)
    study.optimize(lambda t: t.suggest_int("m", 0, 2) + t.suggest_int("n", 0, 2), n_trials=6)
    assert sorted(tuple(t.params.values()) for t in study.trials[3:]) == [(0, 0), (0, 1), (1, 0)]
