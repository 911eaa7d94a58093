from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, ttest_1samp

from neurobo.bench.problem import Problem, of_function, of_vector
from neurobo.bench.problems import GROUPS, problem
from neurobo.bench.wrappers import ranges, rotate, spreads
from neurobo.errors import InvalidInput
from neurobo.space.search_space import Params

MOVABLE = [p.name for p in GROUPS["synthetic"] + GROUPS["physics"] if p.everywhere]


def random_points(given: Problem, n: int, seed: int = 0) -> list[Params]:
    unit = np.random.default_rng(seed).random((n, given.space.n_parameters))
    return [given.space.decode(x) for x in given.space.from_unit(unit)]


def values(given: Problem, points: list[Params]) -> list[float]:
    rng = np.random.default_rng(0)
    return [given.evaluate(p, rng).value for p in points]


def best(given: Problem) -> np.ndarray:
    assert given.best is not None
    return np.array(list(given.best.values()))


# --- shift and rotation


@pytest.mark.parametrize("name", MOVABLE)
@pytest.mark.parametrize("word", ["shift", "rotate", "shift+rotate", "rotate+shift"])
def test_the_optimum_moves_and_stays_one(name: str, word: str) -> None:
    old = problem(name)
    for seed in (0, 1):
        new = problem(f"{name}+{word}", seed)
        assert new.name == f"{name}+{word}"
        assert new.best is not None
        assert new.optimum == old.optimum
        assert new.space.contains(new.best)
        scale = max(1.0, abs(new.optimum or 0))
        assert new.regret(values(new, [new.best])[0]) == pytest.approx(0, abs=1e-8 * scale)
        assert min(map(new.regret, values(new, random_points(new, 20, seed)))) > 0


def test_a_shifted_optimum_keeps_away_from_the_sides_and_fills_the_middle() -> None:
    places = np.array([best(problem("sphere-5+shift", seed)) for seed in range(200)])
    unit = (places + 5.12) / 10.24
    assert unit.min() >= 0.1
    assert unit.max() <= 0.9
    assert unit.min() < 0.11
    assert unit.max() > 0.89
    # The mean of each coordinate is ½: five tests with a chance of error of 1 % together.
    assert np.min(ttest_1samp(unit, 0.5).pvalue) > 0.01 / 5


def test_a_shift_is_a_shift() -> None:
    old, new = problem("rosenbrock-5"), problem("rosenbrock-5+shift", 3)
    by = best(new) - best(old)
    for params in random_points(new, 10):
        back = dict(zip(params, np.array(list(params.values())) - by, strict=True))
        assert values(new, [params])[0] == pytest.approx(values(old, [back])[0])


def test_a_rotation_keeps_the_distances_in_the_unit_cube() -> None:
    """A sphere stays as it is; Rosenbrock's valley does not."""
    sphere, turned = problem("sphere-5"), problem("sphere-5+rotate", 3)
    points = random_points(sphere, 20)
    np.testing.assert_allclose(values(turned, points), values(sphere, points), rtol=1e-12)
    bent, turned = problem("rosenbrock-5"), problem("rosenbrock-5+rotate", 3)
    assert best(turned).tolist() == best(bent).tolist()
    assert not np.allclose(values(turned, points), values(bent, points), rtol=0.01)


def test_a_rotation_in_one_dimension_is_a_mirror() -> None:
    old = of_vector(
        "step-1",
        "a step",
        lambda x: x[0] ** 2 + (x[0] > 0),
        [(-1, 1)],
        best=[0],
        optimum=0,
        budget=1,
        source="this test",
        everywhere=True,
    )
    assert values(old, [{"x0": 0.5}, {"x0": -0.5}]) == [1.25, 0.25]
    assert values(rotate(old, 0), [{"x0": 0.5}, {"x0": -0.5}]) == [0.25, 1.25]


def test_seeds_differ_and_repeat() -> None:
    for word in ("shift", "rotate"):
        points = random_points(problem("levy-15"), 3)
        first, again, other = (
            values(problem(f"levy-15+{word}", seed), points) for seed in (1, 1, 2)
        )
        assert first == again
        assert not np.isclose(first, other).any()


def test_problems_of_one_dimension_get_different_shifts() -> None:
    places = [
        (best(problem(f"{name}+shift")) - low) / (high - low)
        for name, low, high in (("ackley-20", -32.768, 32.768), ("levy-20", -10, 10))
    ]
    assert np.abs(places[0] - places[1]).min() > 1e-6


def test_a_shifted_optimum_is_no_longer_marked_as_centred() -> None:
    assert problem("ackley-20").centred
    assert not problem("ackley-20+shift").centred


def test_a_moved_problem_loses_its_laws() -> None:
    assert problem("physics-rastrigin-20").laws
    assert not problem("physics-rastrigin-20+shift").laws
    assert not problem("physics-rastrigin-20+rotate").laws


@pytest.mark.parametrize(
    "name", ["schwefel-3", "michalewicz-10", "gp-draw-1", "constrained-branin-2", "heat-1"]
)
@pytest.mark.parametrize(("word", "verb"), [("shift", "shifted"), ("rotate", "rotated")])
def test_what_cannot_be_moved_says_so(name: str, word: str, verb: str) -> None:
    with pytest.raises(InvalidInput, match=f"can be {verb} if its optimum.*{name!r}"):
        problem(f"{name}+{word}")


# --- noise


def test_noise_has_the_stated_size() -> None:
    given = problem("branin-2+noise=0.05")
    point, rng = {"x0": 1.0, "x1": 2.0}, np.random.default_rng(0)
    found = [given.evaluate(point, rng) for _ in range(2000)]
    truth = values(problem("branin-2"), [point])[0]
    assert {o.truth for o in found} == {truth}
    assert given.noisy
    error = np.array([o.value for o in found]) - truth
    # Mean 0 and the stated variance, each at a chance of error of 1 %.
    assert ttest_1samp(error, 0).pvalue > 0.01
    sd = 0.05 * ranges(problem("branin-2")).value
    spread = np.sum((error - error.mean()) ** 2) / sd**2
    assert chi2.ppf(0.005, 1999) < spread < chi2.ppf(0.995, 1999)


def test_the_range_of_values() -> None:
    """Measured at points, hence a little low: Branin is highest, 308.129, in a corner."""
    true = 308.129 - 0.398
    assert 0.9 * true < ranges(problem("branin-2")).value <= true


def test_the_range_is_the_same_for_a_box_of_named_parameters() -> None:
    box = problem("branin-2")
    named = of_function(
        "named-2",
        "Branin with names",
        lambda p: box.evaluate({"x0": p["a"], "x1": p["b"]}, np.random.default_rng(0)).value,
        {"a": (-5, 10), "b": (0, 15)},
        optimum=box.optimum,
        budget=1,
        source="this test",
    )
    assert ranges(named).value == pytest.approx(ranges(box).value, rel=1e-9)


def test_variance_is_noise_with_a_variance() -> None:
    given = problem("branin-2+variance=0.01")
    rng = np.random.default_rng(0)
    found = [given.evaluate({"x0": 1.0, "x1": 2.0}, rng) for _ in range(2000)]
    error = np.array([o.value - o.noiseless for o in found])
    spread = np.sum((error - error.mean()) ** 2) / (0.01 * ranges(problem("branin-2")).value)
    assert chi2.ppf(0.005, 1999) < spread < chi2.ppf(0.995, 1999)  # a chance of error of 1 %


def test_spread_is_the_standard_deviation_over_the_box() -> None:
    """Of u over [0, 1]: 1/√12; the optimum, which few points are near, does not count."""
    slope = of_vector("s", "", lambda x: float(x[0]), [(0, 1)], optimum=-9.0, budget=1, source="")
    assert spreads(slope).value == pytest.approx(1 / np.sqrt(12), rel=1e-3)
    # The authors' noise is far from the literal reading of their texts, above it or below.
    for name, low, high in (("ackley-20", 10, 50), ("levy-10", 0.1, 0.9)):
        literal = np.sqrt(0.01 * ranges(problem(name)).value)
        assert low < literal / (0.1 * spreads(problem(name)).value) < high, name


def test_noise_comes_from_the_generator_only() -> None:
    given = problem("branin-2+noise=0.1")
    points = random_points(given, 5)
    assert values(given, points) == values(problem("branin-2+noise=0.1"), points)


def test_noise_on_noise_keeps_the_truth() -> None:
    given = problem("branin-2+noise=0.1+noise=0.2")
    point = {"x0": 1.0, "x1": 2.0}
    found = given.evaluate(point, np.random.default_rng(0))
    assert found.truth == values(problem("branin-2"), [point])[0]
    assert found.value != found.truth


@pytest.mark.parametrize("word", ["noise=0.05", "variance=0.01", "spread=0.05"])
def test_each_constraint_has_noise_by_its_own_range(word: str) -> None:
    clean, given = problem("constrained-ackley-5"), problem(f"constrained-ackley-5+{word}")
    (point,), rng = random_points(clean, 1), np.random.default_rng(0)
    truth = clean.evaluate(point, rng)
    found = [given.evaluate(point, rng) for _ in range(2000)]
    errors = {
        name: np.array([o.constraints[name] for o in found]) - limit
        for name, limit in truth.constraints.items()
    } | {"value": np.array([o.value for o in found]) - truth.value}
    sizes = spreads(clean) if word.startswith("spread") else ranges(clean)
    for name, error in errors.items():
        size = sizes.value if name == "value" else sizes.constraints[name]
        sd = np.sqrt(0.01 * size) if word.startswith("variance") else 0.05 * size
        assert ttest_1samp(error, 0).pvalue > 0.001
        sum_of_squares = np.sum((error - error.mean()) ** 2) / sd**2
        assert chi2.ppf(0.0005, 1999) < sum_of_squares < chi2.ppf(0.9995, 1999)
    correlation = np.corrcoef(list(errors.values())) - np.eye(3)
    assert np.abs(correlation).max() < 0.1  # noise of their own: 4.5 standard errors
    assert all(o.true_constraints == truth.constraints for o in found)
    assert {o.true_violation for o in found} == {truth.violation}


def test_noise_without_constraints_is_as_it_ever_was() -> None:
    """Records of noisy problems stay comparable."""
    point = {"x0": 1.0, "x1": 2.0}
    found = problem("branin-2+noise=0.1").evaluate(point, np.random.default_rng(5))
    sd = 0.1 * ranges(problem("branin-2")).value
    assert found.value - found.noiseless == pytest.approx(sd * np.random.default_rng(5).normal())
    assert found.true_constraints is None


def test_the_ranges_of_constraints() -> None:
    # The disc's function goes from -50 in its centre to 62.5 in the corners of the box.
    found = ranges(problem("constrained-branin-2")).constraints
    assert list(found) == ["disc"]
    assert 0.95 * 112.5 < found["disc"] <= 112.5


# --- failures and delay


def test_failures_have_the_stated_rate() -> None:
    given = problem("branin-2+failures=0.2")
    rng = np.random.default_rng(0)
    found = [given.evaluate({"x0": 1.0, "x1": 2.0}, rng) for _ in range(2000)]
    failed = [o for o in found if o.failure]
    assert all(np.isnan(o.value) for o in failed)
    truth = values(problem("branin-2"), [{"x0": 1.0, "x1": 2.0}])
    assert {o.value for o in found if not o.failure} == set(truth)
    assert binomtest(len(failed), 2000, 0.2).pvalue > 0.01


def test_a_failure_stays_one_under_noise() -> None:
    given = problem("branin-2+failures=0.9+noise=0.1")
    rng = np.random.default_rng(0)
    found = [given.evaluate({"x0": 1.0, "x1": 2.0}, rng) for _ in range(50)]
    assert {bool(o.failure) for o in found} == {True, False}
    for o in found:
        assert np.isnan(o.value) == bool(o.failure)


def test_noise_does_not_wait_for_a_delay_4096_times() -> None:
    given = problem("branin-2+delay=0.01+noise=0.1")
    begun = time.perf_counter()
    values(given, random_points(given, 1))
    assert time.perf_counter() - begun < 20


def test_delay_waits() -> None:
    given = problem("branin-2+delay=0.05")
    begun = time.perf_counter()
    values(given, random_points(given, 3))
    assert 0.15 <= time.perf_counter() - begun < 2


# --- names


def test_wrappers_combine_from_left_to_right() -> None:
    given = problem("levy-15+shift+rotate+failures=0.1+noise=0.05+delay=0.001", 7)
    assert given.name == "levy-15+shift+rotate+failures=0.1+noise=0.05+delay=0.001"
    assert given.noisy
    assert given.best == problem("levy-15+shift", 7).best
    assert problem("levy-15").name == "levy-15"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("branin-2+shfit", "wrapper must be one of.*got 'shfit'"),
        ("branin-2+shift=1", "wrapper must be one of.*got 'shift=1'"),
        ("branin-2+noise", "wrapper must be one of.*got 'noise'"),
        ("branin-2+", "wrapper must be one of.*got ''"),
        ("branin-2+noise=much", "amount must be a number, got 'noise=much'"),
        ("branin-2+noise=0", "noise must be a finite number above 0, got 0.0"),
        ("branin-2+noise=nan", "noise must be a finite number above 0, got nan"),
        ("branin-2+failures=-0.1", "failures must be a finite number above 0, got -0.1"),
        ("branin-2+failures=1", "failures must be a rate below 1, got 1.0"),
        ("branin-2+batch=1", "batch must be a whole number of at least 2, got 1"),
        ("branin-2+batch=2.5", "batch must be a whole number of at least 2, got 2.5"),
        ("branin-2+delay=inf", "delay must be a finite number above 0, got inf"),
    ],
)
def test_a_wrong_wrapper_is_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        problem(name)
