"""The BoTorch peers reproduce known results and survive what the harness may throw at them.

The known results were checked with the packages installed; tests without the mark need none.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import qmc

import neurobo
from neurobo.bench.peers.base import Method, Optimiser, Task
from neurobo.bench.peers.botorch_common import Cube, Peer, Pool, Told, is_noisy
from neurobo.bench.peers.botorch_constrained import METHODS as CONSTRAINED_METHODS
from neurobo.bench.peers.botorch_gp import METHODS as GP_METHODS
from neurobo.bench.peers.botorch_gp import _hopeless
from neurobo.bench.peers.botorch_trust import METHODS as TRUST_METHODS
from neurobo.bench.peers.botorch_trust import SHORTEST, Region, TrustRegion
from neurobo.bench.problem import Evaluation, Problem, of_function, of_vector
from neurobo.bench.problems import problem
from neurobo.errors import InvalidInput
from neurobo.space.search_space import Params, Space

PEERS: dict[str, Method] = {m.name: m for m in (*GP_METHODS, *TRUST_METHODS, *CONSTRAINED_METHODS)}
peers = pytest.mark.peers

Step = tuple[Params, Evaluation]


def start_points(space: Space, n: int, seed: int) -> list[Params]:
    unit = qmc.Sobol(space.n_parameters, rng=np.random.default_rng(seed)).random(64)[:n]
    return [space.decode(x) for x in space.from_unit(np.asarray(unit))]


def task_of(given: Problem, budget: int, n_start: int, seed: int = 0) -> Task:
    pool = None if given.pool is None else given.pool()
    return Task(given.space, budget, n_start, seed, given.constraints, pool=pool, noisy=given.noisy)


def run(name: str, given: Problem, budget: int, n_start: int = 5, seed: int = 0) -> list[Step]:
    optimiser = PEERS[name].start(task_of(given, budget, n_start, seed))
    rng = np.random.default_rng(seed)
    steps: list[Step] = []
    start = start_points(given.space, n_start, seed)
    for i in range(budget):
        params = start[i] if i < n_start else optimiser.ask()
        assert given.space.contains(params)
        outcome = given.evaluate(params, rng)
        optimiser.tell(params, outcome)
        steps.append((params, outcome))
    return steps


def best(steps: list[Step]) -> float:
    values = [o.value for _, o in steps if o.violation == 0 and math.isfinite(o.value)]
    return min(values, default=math.inf)


def best_of_random(given: Problem, n: int, seed: int = 0) -> float:
    rng = np.random.default_rng(seed)
    points = given.space.from_unit(rng.random((n, given.space.n_parameters)))
    outcomes = [given.evaluate(given.space.decode(x), rng) for x in points]
    return min(o.value for o in outcomes if o.violation == 0)


def bowl() -> Problem:
    bounds = [(0.0, 1.0)] * 2
    return of_vector(
        "bowl", "", lambda x: float(np.sum((x - 0.7) ** 2)), bounds, source="", budget=20
    )


def failing(outcome_of: Callable[[Params], float], space: Space) -> Problem:
    def evaluate(params: Params, rng: np.random.Generator) -> Evaluation:
        return Evaluation(outcome_of(params))

    return Problem("failing", "", "", space, evaluate, budget=20)


# Known results


@peers
def test_log_ei_solves_branin() -> None:
    given = problem("branin-2")
    regrets = [given.regret(best(run("botorch-logei", given, 30, seed=seed))) for seed in (0, 1)]
    assert max(regrets) < 1e-2


@peers
def test_log_ei_finds_a_deep_basin_of_hartmann() -> None:
    # The second-deepest basin has regret 0.12.
    given = problem("hartmann-6")
    regrets = [
        given.regret(best(run("botorch-logei", given, 50, n_start=8, seed=seed)))
        for seed in (0, 1, 2)
    ]
    assert np.median(regrets) < 0.13


@peers
@pytest.mark.parametrize("name", ["botorch-ucb", "botorch-ts", "botorch-lognei"])
def test_the_other_acquisitions_come_close_on_branin(name: str) -> None:
    given = problem("branin-2")
    assert given.regret(best(run(name, given, 22))) < 0.3  # the median of 22 random points: 1.5


@peers
def test_turbo_beats_ten_times_as_many_random_points() -> None:
    given = problem("ackley-5+shift", seed=0)
    assert best(run("turbo-1", given, 60, n_start=10)) < 0.5 * best_of_random(given, 600)


@peers
def test_scbo_beats_ten_times_as_many_random_points() -> None:
    given = problem("constrained-ackley-5")
    steps = run("scbo", given, 40, n_start=10)
    assert best(steps) < 0.7 * best_of_random(given, 400)


# Constraints


def corner() -> Problem:
    """Only a small corner is feasible, and it is where the objective is worst."""
    return of_vector(
        "corner",
        "",
        lambda x: (float(-x.sum()), {"c": float(x.sum() - 0.4), "d": float(x[0] - 0.25)}),
        [(0.0, 1.0)] * 2,
        source="",
        budget=20,
        constraints=("c", "d"),
    )


@peers
@pytest.mark.parametrize("name", ["botorch-logei", "botorch-lognei", "scbo", "admmbo"])
def test_constraints_are_learned_from_infeasible_points_only(name: str) -> None:
    given = corner()
    optimiser = PEERS[name].start(task_of(given, 20, 4))
    rng = np.random.default_rng(0)
    steps: list[Step] = []
    for x in ([0.9, 0.9], [0.6, 0.8], [0.9, 0.4], [0.5, 0.5]):
        params = given.space.params(np.array(x))
        outcome = given.evaluate(params, rng)
        assert outcome.violation > 0
        optimiser.tell(params, outcome)
    for _ in range(12):
        params = optimiser.ask()
        outcome = given.evaluate(params, rng)
        optimiser.tell(params, outcome)
        steps.append((params, outcome))
    assert best(steps) < -0.38  # the optimum is -0.4


# Mixed and finite spaces, pools


def mixed_problem(combinations: str) -> Problem:
    space: dict[str, object] = {"x": (0.0, 1.0), "c": neurobo.Categorical(["a", "b", "c"])}
    if combinations == "many":
        space |= {"k": neurobo.Int(1, 8), "m": neurobo.Int(1, 1000, log=True)}
    if combinations == "finite":
        space |= {"x": neurobo.Float(0.0, 1.0, step=0.05), "k": neurobo.Int(1, 8)}

    def function(p: Params) -> float:
        size = abs(math.log(p.get("m", 30) / 30)) / 4
        return abs(p["x"] - 0.3) + abs(p.get("k", 5) - 5) / 4 + size + (p["c"] != "b")

    return of_function("mixed", "", function, space, source="", budget=20)


@peers
@pytest.mark.parametrize(
    ("combinations", "close"), [("few", 0.005), ("many", 0.2), ("finite", 0.1)]
)
def test_log_ei_searches_mixed_spaces(combinations: str, close: float) -> None:
    given = mixed_problem(combinations)
    steps = run("botorch-logei", given, 22, n_start=6)
    assert best(steps) < close
    assert np.median([best_of_random(given, 22, seed) for seed in range(20)]) > close
    if combinations == "finite":
        asked = [tuple(p.values()) for p, _ in steps[6:]]
        assert len(set(asked)) == len(asked)


@peers
@pytest.mark.parametrize("name", ["botorch-logei", "botorch-lognei", "botorch-ucb", "botorch-ts"])
def test_pools_are_searched_by_their_features(name: str) -> None:
    # The numbers of the candidates say nothing, their features everything.
    features = np.random.default_rng(0).random((300, 2, 2))
    scores = ((features - 0.5) ** 2).sum(axis=(1, 2))
    given = of_function(
        "pool",
        "",
        lambda p: float(scores[p["i"] - 1]),
        {"i": neurobo.Int(1, 300)},
        source="",
        budget=20,
        pool=lambda: {"i": features},
    )
    steps = run(name, given, 25)
    assert (scores < best(steps)).mean() <= 0.01
    asked = [p["i"] for p, _ in steps]
    assert len(set(asked)) == len(asked)


@peers
def test_a_finite_space_may_be_asked_for_more_points_than_it_has() -> None:
    given = of_function(
        "tiny", "", lambda p: float(p["k"]), {"k": neurobo.Int(0, 6)}, source="", budget=9
    )
    steps = run("botorch-logei", given, 9, n_start=3)
    assert {p["k"] for p, _ in steps} == set(range(7))


# Failures, seeds, side effects


@peers
@pytest.mark.parametrize("name", list(PEERS))
def test_all_evaluations_may_fail(name: str) -> None:
    given = failing(lambda p: math.nan, bowl().space)
    asked = [tuple(p.values()) for p, _ in run(name, given, 8, n_start=3)]
    assert len(set(asked)) == 8


@peers
@pytest.mark.parametrize("name", list(PEERS))
def test_a_failing_region_is_not_asked_for_ever(name: str) -> None:
    # The best values lie where every evaluation fails.
    space = Space.of([(0.0, 1.0)])
    given = failing(lambda p: math.nan if p["x0"] > 0.7 else -p["x0"], space)
    # A trust region comes back from it by shrinking, which takes some failures.
    model = PEERS[name] not in TRUST_METHODS
    steps = run(name, given, 16 if model else 30, n_start=4)
    assert sum(math.isfinite(o.value) for _, o in steps[4:]) >= (4 if model else 2)
    assert len({p["x0"] for p, _ in steps}) == len(steps)
    assert best(steps) < -0.5


@peers
@pytest.mark.parametrize("name", ["botorch-logei", "botorch-ts", "turbo-1"])
def test_a_seed_gives_the_same_points_and_leaves_no_trace(name: str) -> None:
    import torch

    filters = list(warnings.filters)
    torch.manual_seed(1)
    first = [p for p, _ in run(name, bowl(), 8, n_start=4)]
    after = torch.rand(3)
    torch.manual_seed(1)
    before = torch.rand(3)
    random.seed(3)
    state = random.getstate()
    again = [p for p, _ in run(name, bowl(), 8, n_start=4)]
    assert first == again
    assert torch.equal(before, after)
    assert random.getstate() == state
    assert warnings.filters == filters
    other = PEERS[name].start(task_of(bowl(), 8, 4, seed=5))
    same = PEERS[name].start(task_of(bowl(), 8, 4, seed=0))
    assert next_after(first[:4], other) != next_after(first[:4], same)


def next_after(points: list[Params], optimiser: Optimiser) -> Params:
    for params in points:
        optimiser.tell(params, bowl().evaluate(params, np.random.default_rng(0)))
    return optimiser.ask()


def test_importing_the_adapters_does_not_import_torch() -> None:
    code = (
        "import sys, neurobo.bench.peers.botorch_constrained, neurobo.bench.peers.botorch_trust;"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@peers
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("botorch-logei", {"noisy": "yes"}),
        ("botorch-logei", {"restarts": 0}),
        ("botorch-logei", {"raw_samples": 3}),
        ("botorch-ucb", {"beta": -1.0}),
        ("scbo", {"noisy": 1}),
        ("config-opt", {"beta": -1.0}),
        ("ucb-c", {"restarts": 0}),
        ("admmbo", {"penalty": 0.0}),
        ("admmbo", {"weight": -1.0}),
        ("admmbo", {"inner": 0}),
    ],
)
def test_bad_options_are_refused(name: str, options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))):
        PEERS[name].make(task_of(bowl(), 8, 4), **options)


# The parts


def test_cube_and_back() -> None:
    space = mixed_problem("many").space
    cube = Cube(space)
    x = space.from_unit(np.random.default_rng(0).random((50, space.n_parameters)))
    rows = cube.rows(x)
    assert rows.shape == (50, 4)
    assert cube.bounds.tolist() == [[0, 0, 0, 0], [1, 2, 1, 1]]
    assert (rows >= cube.bounds[0]).all()
    assert (rows <= cube.bounds[1]).all()
    assert list(cube.choices) == [1]
    assert list(cube.levels) == [2]  # of 1,000 values BoTorch relaxes the search anyway
    np.testing.assert_allclose(cube.levels[2], np.linspace(0, 1, 8), atol=1e-12)
    np.testing.assert_allclose([cube.point(row) for row in rows], x, atol=1e-12)


def test_pool_features_are_scaled_over_the_whole_pool() -> None:
    features = np.array([[[0.0, 5.0, 10.0]], [[1.0, 5.0, 30.0]], [[4.0, 5.0, 20.0]]])
    space = Space.of({"i": neurobo.Int(0, 2)})
    pool = Pool(Task(space, 5, 2, 0, pool={"i": features}))
    rows = pool.rows(space.encode([{"i": 2}, {"i": 0}]))
    assert rows.tolist() == [[1.0, 0.5], [0.0, 0.0]]
    with pytest.raises(InvalidInput, match="every parameter"):
        Pool(Task(mixed_problem("few").space, 5, 2, 0, pool={"i": features}))


def test_the_task_says_whether_to_expect_noise() -> None:
    quiet, noisy = (Task(bowl().space, 5, 2, 0, noisy=noisy) for noisy in (False, True))
    assert is_noisy(noisy, None)
    assert not is_noisy(quiet, None)
    assert is_noisy(quiet, True)


def test_failed_evaluations_are_not_good() -> None:
    told = Told(Task(bowl().space, 5, 2, 0, constraints=("c",)))
    x = np.zeros((1, 2))
    told.add(x, Evaluation(1.0, {"c": 2.0}))
    told.add(x, Evaluation(math.nan))
    told.add(x, Evaluation(math.inf, {"c": 0.0}))
    told.add(x, Evaluation(2.0, {"c": math.nan}))
    assert told.good.tolist() == [True, False, False, False]
    assert told.y[0] == -1
    assert told.violation[0] == 2


def test_a_place_is_hopeless_while_failures_outnumber_values() -> None:
    told = Told(Task(bowl().space, 5, 2, 0))
    here, there = np.zeros(2), np.array([0.5, 0.0])
    told.add(here[None], Evaluation(math.nan))
    assert _hopeless(here, told)
    assert not _hopeless(there, told)
    told.add(here[None] + 0.01, Evaluation(1.0))
    assert not _hopeless(here, told)


def region(**known: float) -> Region:
    return Region(2, violation=0.0, value=-1.0, constrained=False, **known)  # type: ignore[arg-type]


def test_ten_successes_double_the_region_and_failures_halve_it() -> None:
    r = region()
    for i in range(10):
        r.judge(0.0, float(i))
    assert (r.length, r.successes, r.value) == (1.6, 0, 9.0)
    for _ in range(10):
        r.judge(0.0, r.value + 1)
    assert r.length == 1.6  # no more
    for bad in (r.value, r.value + 1e-4, math.nan, -5.0):
        r.judge(math.inf if math.isnan(bad) else 0.0, bad)
    assert (r.length, r.failures) == (0.8, 0)
    assert Region(30, 0.0, 0.0, constrained=False, failures=3).length == 0.8
    for _ in range(7):
        for _ in range(4):
            r.judge(0.0, -9.0)
    assert r.spent


def test_feasible_beats_infeasible_in_a_region() -> None:
    r = Region(2, violation=3.0, value=5.0, constrained=True)
    r.judge(2.0, -9.0)
    assert (r.successes, r.violation) == (1, 2.0)
    r.judge(2.5, 99.0)
    assert (r.successes, r.failures) == (0, 1)
    r.judge(0.0, -20.0)
    assert (r.successes, r.value, r.violation) == (1, -20.0, 0.0)
    r.judge(1.0, 99.0)
    assert (r.failures, r.value) == (1, -20.0)


@peers
def test_a_spent_region_begins_anew_with_fresh_points() -> None:
    given, rng = bowl(), np.random.default_rng(0)
    task = task_of(given, 40, 5)
    way = TrustRegion(task, constrained=False, noise=1e-3)
    peer = Peer(task, way.propose)
    for params in start_points(given.space, 5, 0):
        peer.tell(params, given.evaluate(params, rng))
    params = peer.ask()
    way.region = Region(2, 0.0, 0.0, constrained=False, length=SHORTEST, failures=3)
    peer.tell(params, Evaluation(50.0))  # the fourth failure
    fresh = []
    for _ in range(4):
        fresh.append(peer.ask())
        peer.tell(fresh[-1], Evaluation(100.0 + len(fresh)))
        assert way.region is None
    assert len({p["x0"] for p in fresh}) == 4
    peer.ask()
    # The better values of before are forgotten.
    assert way.region == Region(2, violation=0.0, value=-101.0, constrained=False)
