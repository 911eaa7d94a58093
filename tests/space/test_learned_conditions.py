"""When a parameter exists, learned from the trials of a define-by-run study."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import neurobo
from neurobo.space.learned_conditions import learned_conditions
from neurobo.space.search_space import Space

DISTRIBUTIONS: Any = {
    "model": neurobo.Categorical(["svm", "forest", "net"]),
    "kernel": neurobo.Categorical(["rbf", "linear"]),
    "C": neurobo.Float(0.0, 1.0),
    "gamma": neurobo.Float(0.0, 1.0),
    "layers": neurobo.Int(1, 5),
    **{f"w{i}": neurobo.Float(0.0, 1.0) for i in range(1, 6)},
    "seeds": neurobo.Int(1, 50),
    "flag": neurobo.Categorical([True, False]),
}


def _asked(distributions: Any, rng: np.random.Generator) -> dict[str, Any]:
    """A define-by-run objective with random values."""
    space = Space(distributions)
    whole = space.decode(space.from_unit(rng.random((1, space.n_parameters)))[0])
    names = ["seeds", "flag", "model"]
    if whole["model"] == "svm":
        names += ["C", "kernel"]
        names += ["gamma"] if whole["kernel"] == "rbf" else []
    if whole["model"] == "net":
        names += ["layers", *(f"w{i}" for i in range(1, whole["layers"] + 1))]
    return {name: whole[name] for name in names}


def _trials(n: int, asked: Callable[..., dict[str, Any]] = _asked) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [asked(DISTRIBUTIONS, rng) for _ in range(n)]


def test_the_conditions_of_a_tree_are_found() -> None:
    found = learned_conditions(DISTRIBUTIONS, _trials(60))
    assert not found.optional
    assert found.when["C"] == found.when["kernel"] == {"model": ["svm"]}
    assert found.when["gamma"] == {"kernel": ["rbf"]}
    # The first layer is there whenever a network is.
    assert found.when["layers"] == found.when["w1"] == {"model": ["net"]}
    for i in range(2, 6):
        assert found.when[f"w{i}"] == {"layers": list(range(i, 6))}
    assert not {"model", "seeds", "flag"} & found.when.keys()


def test_the_conditions_agree_with_every_trial() -> None:
    for n in (2, 3, 5, 10, 25):
        trials = _trials(n)
        names = {name for params in trials for name in params}
        known = {name: d for name, d in DISTRIBUTIONS.items() if name in names}
        found = learned_conditions(known, trials)
        space = Space(known, when=found.when, optional=found.optional)
        for params in trials:
            missing = set(known) - space.conditions.inactive(params) - params.keys()
            assert missing <= found.optional
            assert space.params(params) == {n: params[n] for n in known if n in params}


def test_two_parents_together_are_found() -> None:
    rng = np.random.default_rng(1)
    trials = []
    for _ in range(60):
        params = {"model": rng.choice(["svm", "net"]), "flag": bool(rng.integers(2))}
        if params["model"] == "net" and params["flag"]:
            params["C"] = rng.random()
        trials.append(params)
    found = learned_conditions({n: DISTRIBUTIONS[n] for n in ("model", "flag", "C")}, trials)
    assert found.when == {"C": {"model": ["net"], "flag": [True]}}


def test_what_no_parent_explains_may_be_missing() -> None:
    known = {n: DISTRIBUTIONS[n] for n in ("flag", "C")}
    trials: list[dict[str, Any]] = [{"flag": True}, {"flag": True, "C": 0.3}, {"flag": False}]
    found = learned_conditions(known, trials)
    assert (found.when, found.optional) == ({}, frozenset({"C"}))
    space = Space(known, optional=found.optional)
    assert all(space.contains(params) for params in trials)
    assert space.encode(trials)[0, -1] == 0  # the middle of the range
    assert "C" in space.decode(space.encode(trials)[0])  # and it is always proposed


def test_a_value_of_an_integer_that_no_trial_had_goes_with_the_nearest() -> None:
    trials: list[dict[str, Any]] = [{"layers": 1}, {"layers": 4, "w1": 0.5}]
    found = learned_conditions({n: DISTRIBUTIONS[n] for n in ("layers", "w1")}, trials)
    assert found.when == {"w1": {"layers": [3, 4, 5]}}
