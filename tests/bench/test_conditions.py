from __future__ import annotations

from typing import Any

import pytest

import neurobo
from neurobo.bench.conditions import active, is_active
from neurobo.bench.problem import Problem, of_function
from neurobo.errors import InvalidInput

SPACE = {
    "model": neurobo.Categorical(["svm", "forest"]),
    "kernel": neurobo.Categorical(["rbf", "linear"]),
    "gamma": neurobo.Float(0.1, 1.0),
    "trees": neurobo.Int(1, 9),
}
WHEN: dict[str, dict[str, list[Any]]] = {
    "kernel": {"model": ["svm"]},
    "gamma": {"kernel": ["rbf"]},
    "trees": {"model": ["forest"]},
}


def given(when: Any = WHEN) -> Problem:
    return of_function("p", "s", lambda p: 0.0, SPACE, when=when, budget=10, source="here")


def test_a_child_of_an_inactive_parent_is_inactive() -> None:
    every = {"model": "forest", "kernel": "rbf", "gamma": 0.5, "trees": 3}
    assert active(every, WHEN) == {"model": "forest", "trees": 3}
    assert active(every | {"model": "svm"}, WHEN) == {"model": "svm", "kernel": "rbf", "gamma": 0.5}
    assert active(every, {}) == every


def test_all_parents_must_agree() -> None:
    when = {"gamma": {"model": ["svm"], "kernel": ["rbf"]}}
    assert is_active("gamma", {"model": "svm", "kernel": "rbf"}, when)
    assert not is_active("gamma", {"model": "svm", "kernel": "linear"}, when)
    assert not is_active("gamma", {"model": "forest", "kernel": "rbf"}, when)


def test_a_point_has_its_active_parameters_only() -> None:
    given().check({"model": "forest", "trees": 3})
    with pytest.raises(InvalidInput, match="and no others, got"):
        given().check({"model": "forest", "trees": 3, "gamma": 0.5})
    with pytest.raises(InvalidInput, match="every parameter that it has"):
        given().check({"model": "svm", "gamma": 0.5})
    with pytest.raises(InvalidInput, match="'trees' must lie in"):
        given().check({"model": "forest", "trees": 10})


@pytest.mark.parametrize(
    "when", [{"model": {"trees": [1]}}, {"gamma": {"nothing": [1]}}, {"nothing": {"model": [1]}}]
)
def test_parents_come_first(when: Any) -> None:
    with pytest.raises(InvalidInput, match="must come after its parents"):
        given(when)
