"""Categories with an order: one column, by their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution
from studies.made import read

import neurobo
from neurobo.errors import InvalidInput
from neurobo.space.search_space import Space
from neurobo.studies.file.mistakes import InvalidStudyFile

GRADES = ["poor", "fair", "good", "best"]
SPACE_OF_OPTUNA: Any = {"grade": CategoricalDistribution(GRADES)}
SPACE: Any = {"grade": neurobo.Ordinal(GRADES), "x": (0.0, 1.0)}


def test_it_is_one_column_in_the_given_order() -> None:
    space = Space.of(SPACE)
    x = space.encode([{"grade": g, "x": 0.5} for g in GRADES])
    np.testing.assert_allclose(x[:, 0], [-1, -1 / 3, 1 / 3, 1])
    assert [space.decode(row)["grade"] for row in x] == GRADES
    assert [space.decode(row)["grade"] for row in space.snap(x + 0.2)] == GRADES
    assert not space.continuous[0]
    assert space.numeric[0]
    assert Space.of({"grade": neurobo.Ordinal(GRADES)}).n_points == 4


def test_every_choice_is_designed_and_reached_by_a_move() -> None:
    space = Space.of({"size": neurobo.Ordinal([8, 16, 32])})
    designed = space.from_unit(np.linspace(0, 0.99, 30)[:, None])
    assert {space.decode(row)["size"] for row in designed} == {8, 16, 32}
    (parameter,) = space.parameters.values()
    moves = parameter.all_moves(space.encode([{"size": 16}]))
    assert moves is not None
    assert {space.decode(row)["size"] for row in moves[0]} == {8, 32}


def test_a_study_holds_a_category() -> None:
    study = neurobo.minimize(
        lambda p: GRADES.index(p["grade"]) + p["x"], SPACE, 8, progress=False, seed=0,
        algorithm="neural-greedy", n_startup_trials=4,
    )  # fmt: skip
    assert study.trials[0].distributions["grade"] == CategoricalDistribution(GRADES)
    assert study.best_params["grade"] == "poor"
    again = neurobo.suggest(SPACE, [({"grade": "fair", "x": 0.5}, 1.0)], fixed={"grade": "good"})
    assert again[0]["grade"] == "good"


def test_it_may_be_a_parent_and_a_conditional_parameter() -> None:
    space = Space.of(
        {
            "size": neurobo.Ordinal([8, 16, 32]),
            "grade": neurobo.Conditional(neurobo.Ordinal(GRADES), when={"size": [16, 32]}),
        }
    )
    assert space.n_points == 1 + 2 * 4
    assert space.contains({"size": 8})
    assert not space.contains({"size": 16})


def test_a_callable_constraint_gets_the_choice() -> None:
    where = [lambda p: 0.5 - p["x"] if p["grade"] == "best" else -1.0]
    found = neurobo.suggest(SPACE, [], n=20, seed=0, where=where, n_startup_trials=20)
    assert all(p["x"] >= 0.5 for p in found if p["grade"] == "best")
    assert {p["grade"] for p in found} == set(GRADES)


def test_a_sampler_keeps_the_order() -> None:
    sampler = neurobo.NeuroSampler(search_space=SPACE)
    study = optuna.create_study(sampler=sampler)
    found = sampler.infer_relative_search_space(
        study, study.ask(SPACE_OF_OPTUNA)._get_latest_trial()
    )
    assert sampler._space_of(study, found, {}).ordered == {"grade"}


@pytest.mark.parametrize("choices", [[], [1, True], [[1]]])
def test_what_is_refused(choices: Any) -> None:
    with pytest.raises(InvalidInput, match="choice"):
        neurobo.Ordinal(choices)


def test_a_study_file_says_ordered(tmp_path: Path) -> None:
    file = read(tmp_path, space="g = { choices = ['s', 'm', 'l'], ordered = true }")
    assert file.space.ordered == {"g"}
    with pytest.raises(InvalidStudyFile, match="`ordered` must stand with `choices`"):
        read(tmp_path, space="g = { low = 0, high = 1, ordered = true }")


@pytest.mark.slow
def test_knowing_the_order_finds_the_best_of_many_sooner() -> None:
    """Of 40 sizes, after 14 evaluations: with the order all seeds find the best one. Without it
    that is luck, 14 of 40: more than 7 of 10 seeds find it with a probability of 0.5 %."""
    sizes = list(range(40))

    def f(p: dict[str, Any]) -> float:
        return (p["size"] - 27) ** 2 / 100 + (p["x"] - 0.3) ** 2

    def reached(kind: Any, seed: int) -> float:
        space = {"size": kind(sizes), "x": (0.0, 1.0)}
        return neurobo.minimize(f, space, 14, progress=False, seed=seed).best_value

    known = [reached(neurobo.Ordinal, seed) for seed in range(10)]
    unknown = [reached(neurobo.Categorical, seed) for seed in range(10)]
    print(known, unknown)  # noqa: T201  # with pytest -s
    assert max(known) < 1e-4
    assert sum(value > 1e-3 for value in unknown) >= 3
