from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import optuna
import pytest

import neurobo
from neurobo.data.observations import Data
from neurobo.data.trials import Trials
from neurobo.errors import InvalidInput, NeuroboWarning
from neurobo.space.search_space import Space

RNG = np.random.default_rng(0)
VECTORS = RNG.uniform(-3, 5, (60, 4))
FAST = neurobo.NeuralGreedy(width=32, gamma=1.5)


def _near(index: int) -> float:
    """Distance of a candidate to a hidden one."""
    return float(np.sum((VECTORS[index] - VECTORS[17]) ** 2))


BAD = {
    "empty": ([], "at least one candidate"),
    "no features": (np.zeros((3, 0)), "at least one candidate"),
    "scalar": (3.0, "must be an array of numbers"),
    "text": (["a", "b"], "must be an array of numbers"),
    "complex": (np.ones(3, dtype=complex), "must be an array of numbers"),
    "ragged": ([[1.0], [1.0, 2.0]], "the same shape"),
    "nan": ([[1.0], [np.nan]], "must be finite, got nan among those of candidate 1"),
    "inf": ([[np.inf], [1.0]], "must be finite, got inf among those of candidate 0"),
    "five axes": (np.zeros((2, 2, 2, 2, 2)), "numbers, vectors or images"),
}


@pytest.mark.parametrize("case", BAD, ids=BAD.keys())
def test_a_bad_pool_is_refused(case: str) -> None:
    candidates, rule = BAD[case]
    with pytest.raises(InvalidInput, match=rule):
        neurobo.Pool(candidates)


@pytest.mark.parametrize(
    ("ids", "rule"),
    [
        (["a", "b"], "one id for each of 3 candidates, got 2"),
        (["a", "b", "a"], "different from each other, got 'a' again"),
        (["a", "b", 1.5], "must be a str or an int, got 1.5"),
        (["a", "b", True], "must be a str or an int, got True"),
    ],
)
def test_bad_ids_are_refused(ids: list[Any], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        neurobo.Pool(np.zeros((3, 2)), ids=ids)


@pytest.mark.parametrize("point", [-1, 60, 1.0, True, "x", None, [1]])
def test_a_history_names_candidates_of_the_pool(point: Any) -> None:
    with pytest.raises(InvalidInput, match="a candidate must be a whole number from 0 to 59"):
        neurobo.suggest(neurobo.Pool(VECTORS), [(point, 1.0)])
    with pytest.raises(InvalidInput, match="one of the pool's ids"):
        neurobo.suggest(neurobo.Pool([1.0, 2.0], ids=["a", "b"]), [(point, 1.0)])


@pytest.mark.parametrize("kind", [np.uint8, np.float32, bool, np.int64, float])
@pytest.mark.parametrize("shape", [(), (3,), (4, 4), (4, 4, 3)])
def test_features_lie_in_the_unit_box_whatever_the_array(kind: Any, shape: tuple[int, ...]) -> None:
    array = RNG.integers(0, 2 if kind is bool else 200, (20, *shape)).astype(kind)
    pool = neurobo.Pool(array)
    found = pool.features(np.arange(20))
    assert found.shape == (20, int(np.prod(shape, dtype=int)))
    assert found.dtype == float
    assert found.min() == -1
    assert found.max() == 1
    assert pool.candidates is array  # not copied


def test_pixels_share_a_scale_and_columns_do_not() -> None:
    columns = np.array([[0.0, 100.0, 7.0], [1.0, 300.0, 7.0], [0.5, 200.0, 7.0]])
    np.testing.assert_allclose(
        neurobo.Pool(columns).features(np.arange(3)), [[-1, -1, 0], [1, 1, 0], [0, 0, 0]]
    )
    images = columns[:, None, :]
    found = neurobo.Pool(images).features(np.arange(3))
    np.testing.assert_allclose(found, (columns - 150) / 150)
    huge = neurobo.Pool(np.array([[-1.7e308], [1.7e308]])).features(np.arange(2))
    np.testing.assert_allclose(huge, [[-1], [1]])


def test_the_best_candidate_is_found_and_none_is_tried_twice() -> None:
    tried: list[int] = []

    def score(index: int) -> float:
        tried.append(index)
        return _near(index)

    study = neurobo.minimize(
        score, neurobo.Pool(VECTORS), 25, algorithm=FAST, seed=0, progress=False
    )
    assert study.best_params == {"candidate": 17}
    assert len(set(tried)) == 25
    assert all(isinstance(i, int) for i in tried)


def test_the_objective_gets_ids_and_the_study_keeps_them() -> None:
    names = [f"material {i}" for i in range(60)]
    pool = neurobo.Pool(VECTORS, ids=names)
    tried: list[str] = []

    def score(name: str) -> float:
        tried.append(name)
        return _near(names.index(name))

    study = neurobo.minimize(score, pool, 8, algorithm=FAST, seed=0, progress=False)
    assert [t.user_attrs["id"] for t in study.trials] == tried
    assert [names[t.params["candidate"]] for t in study.trials] == tried
    history = [(name, _near(names.index(name))) for name in tried]
    (next_one,) = neurobo.suggest(pool, history, algorithm=FAST, seed=0)
    assert next_one in set(names) - set(tried)
    # A study is a history too, with the same suggestion.
    assert neurobo.suggest(pool, study, algorithm=FAST, seed=0) == [next_one]


def test_a_pool_that_is_used_up_ends_the_run() -> None:
    with pytest.warns(NeuroboWarning, match="space exhausted: all 5 points"):
        study = neurobo.minimize(_near, neurobo.Pool(VECTORS[:5]), 9, seed=0, progress=False)
    assert len(study.trials) == 5


def test_repeats_are_possible_where_noise_makes_them_useful() -> None:
    rng = np.random.default_rng(1)
    pool = neurobo.Pool(VECTORS[:4], replace=True)
    study = neurobo.minimize(
        lambda i: _near(i) + rng.normal(), pool, 12, algorithm=FAST, seed=0, progress=False
    )
    assert len(study.trials) == 12


def test_equal_features_are_still_different_candidates() -> None:
    pool = neurobo.Pool(np.zeros((6, 2)))
    found = neurobo.suggest(pool, [(0, 1.0), (1, 2.0)], n=4, algorithm=FAST, n_startup_trials=0)
    assert sorted(found) == [2, 3, 4, 5]


def test_a_sampler_takes_features_by_the_parameter_s_name() -> None:
    sampler = neurobo.NeuroSampler(FAST, seed=0, pool={"which": VECTORS})
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: _near(t.suggest_int("which", 0, 59)), n_trials=25)
    assert study.best_params == {"which": 17}
    assert len({t.params["which"] for t in study.trials}) == 25


@pytest.mark.slow
def test_a_pool_beside_other_parameters() -> None:
    def objective(trial: optuna.Trial) -> float:
        where = trial.suggest_float("t", -1, 1)
        return _near(trial.suggest_int("which", 0, 59)) / 20 + (where - 0.3) ** 2

    sampler = neurobo.NeuroSampler(FAST, seed=0, pool={"which": VECTORS})
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=30)
    assert study.best_value < 0.3


def test_a_pool_must_fit_its_parameter() -> None:
    sampler = neurobo.NeuroSampler(FAST, seed=0, pool={"which": VECTORS})
    study = optuna.create_study(sampler=sampler)
    study.add_trial(
        optuna.create_trial(
            params={"which": 3},
            distributions={"which": optuna.distributions.IntDistribution(0, 99)},
            value=1.0,
        )
    )
    with pytest.raises(InvalidInput, match="'which' counts the candidates of a pool and must be"):
        study.ask().suggest_int("which", 0, 99)
    with pytest.raises(InvalidInput, match="must belong to a parameter of"):
        neurobo.NeuroSampler(search_space={"x": (0.0, 1.0)}, pool={"which": VECTORS})
    with pytest.raises(InvalidInput, match="must be finite"):
        neurobo.NeuroSampler(pool={"which": [np.nan]})


def test_only_images_alone_are_treated_as_images() -> None:
    images = RNG.uniform(size=(5, 4, 6))
    assert Space.of(neurobo.Pool(images)).image == (4, 6, 1)
    assert Space.of(neurobo.Pool(VECTORS)).image is None
    place = optuna.distributions.IntDistribution(0, 4)
    t = optuna.distributions.FloatDistribution(0, 1)
    both = Space({"i": place, "t": t}, pools={"i": neurobo.Pool(images)})
    assert both.image is None
    data = Data.of(both, Trials([{"i": 2, "t": 0.5}], [1.0]))
    assert data.x.shape[1] == 25
    assert data.points.shape == (1, 2)


HUGE = """
import numpy as np
import neurobo
pool = neurobo.Pool(np.random.default_rng(0).normal(size=(100_000, 64)))
history = [(i, float(np.sum(pool.candidates[i] ** 2))) for i in range(0, 3000, 100)]
found = neurobo.suggest(pool, history, 2, algorithm="sto-bnts", seed=0)
assert len(set(found)) == 2 and not set(found) & {i for i, _ in history}
status = open("/proc/self/status").read()  # ru_maxrss would include the parent's memory
print(int(status.split("VmHWM:")[1].split()[0]) / 2**20)
"""


@pytest.mark.slow
def test_a_hundred_thousand_candidates_take_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", HUGE], capture_output=True, text=True, check=True)
    gigabytes = float(done.stdout)
    print("peak", gigabytes, "GB")  # noqa: T201  # shown with pytest -s
    assert gigabytes < 2
