"""Every method keeps the same contract, and the libraries do what they are known for."""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from scipy import stats
from scipy.stats import qmc

import neurobo
from neurobo.algorithm import registry
from neurobo.bench.peers import Optimiser, Task, method, methods
from neurobo.bench.peers.hebo_gp import PYTHON
from neurobo.bench.peers.optuna_samplers import OptunaOptimiser
from neurobo.bench.peers.plain import BEFORE_ANY_SUCCESS, PlainSpace, WorstSoFar
from neurobo.bench.problem import Evaluation
from neurobo.bench.problems import problem
from neurobo.errors import InvalidInput, MissingPackage, NeuroboError, SpaceExhausted
from neurobo.search.initial_design import start_point
from neurobo.space.search_space import Params, Space

CORE = {"random", "sobol", "optuna-tpe"}
BOX = Space.of([(-5.0, 10.0), (0.0, 15.0)])
MIXED = Space.of(
    {
        "rate": neurobo.Float(1e-5, 1e-1, log=True),
        "share": neurobo.Float(0.0, 1.0, step=0.1),
        "layers": neurobo.Int(1, 4),
        "width": neurobo.Int(16, 256, log=True),
        "even": neurobo.Int(2, 10, step=2),
        "kind": neurobo.Categorical(["a", None, True, 3]),
        "fixed": neurobo.Categorical(["only"]),
    }
)
POOL = Space.of({"candidate": neurobo.Int(0, 19)})
N_START, N_ASKED = 4, 3


def branin(p: Params) -> Evaluation:
    x, y = p["x0"], p["x1"]
    hill = (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2
    return Evaluation(hill + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


def mixed_value(p: Params) -> Evaluation:
    bonus = 1.0 if p["kind"] is None else 0.0
    return Evaluation(math.log(p["rate"]) ** 2 + p["share"] + p["layers"] + p["even"] - bonus)


def start(space: Space, n: int, seed: int) -> list[Params]:
    unit = np.random.default_rng([seed, 7]).random((n, space.n_parameters))
    return [space.decode(x) for x in space.from_unit(unit)]


def begin(name: str, task: Task) -> Optimiser:
    try:
        return method(name).start(task)
    except MissingPackage as error:
        if name in CORE:
            raise
        pytest.skip(str(error))


def run(
    name: str,
    function: Callable[[Params], Evaluation],
    space: Space,
    *,
    seed: int,
    n_start: int = N_START,
    n_asked: int = N_ASKED,
    **more: Any,
) -> tuple[list[Params], list[Evaluation]]:
    """Tell a start design, ask and tell; the asked points and all outcomes."""
    optimiser = begin(name, Task(space, n_start + n_asked, n_start, seed, **more))
    outcomes, asked = [], []
    for params in start(space, n_start, seed):
        outcomes.append(function(params))
        optimiser.tell(params, outcomes[-1])
    for _ in range(n_asked):
        params = optimiser.ask()
        assert space.contains(params), params
        assert list(params) == list(space.distributions)
        outcomes.append(function(params))
        optimiser.tell(params, outcomes[-1])
        asked.append(params)
    return asked, outcomes


def every(handles: str = "") -> list[Any]:
    found = {n: method(n) for n in methods()}  # who needs laws has tests of its own
    names = [n for n, m in found.items() if not m.needs and (not handles or handles in m.handles)]
    return [n if n in CORE else pytest.param(n, marks=pytest.mark.peers) for n in names]


# The contract of all methods


@pytest.mark.parametrize("name", every())
def test_a_seed_names_a_run(name: str) -> None:
    first, _ = run(name, branin, BOX, seed=1)
    again, _ = run(name, branin, BOX, seed=1)
    other, _ = run(name, branin, BOX, seed=2)
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", every("mixed"))
def test_mixed_spaces(name: str) -> None:
    asked, _ = run(name, mixed_value, MIXED, seed=0)
    assert len(asked) == N_ASKED


@pytest.mark.parametrize("name", every("conditional"))
def test_conditional_spaces(name: str) -> None:
    """Every asked point has its active parameters and no others, in the order of the space."""
    tree = problem("conditional-tree-9")
    optimiser = begin(name, Task(tree.space, 20, 12, 0))
    for params in start(tree.space, 12, 0):
        optimiser.tell(params, tree.evaluate(params, np.random.default_rng(0)))
    asked = []
    for _ in range(6):
        params = optimiser.ask()
        tree.check(params)
        assert list(params) == [n for n in tree.space.distributions if n in params]
        optimiser.tell(params, tree.evaluate(params, np.random.default_rng(0)))
        asked.append(tuple(params.items()))
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("name", every())
def test_failed_evaluations_do_not_stop_a_run(name: str) -> None:
    calls = iter(range(100))

    def sometimes(params: Params) -> Evaluation:
        failed = next(calls) % 3 == 0
        return Evaluation(math.nan, failure="no") if failed else branin(params)

    asked, _ = run(name, sometimes, BOX, seed=0, n_asked=5)
    assert len({tuple(p.values()) for p in asked}) > 1


@pytest.mark.parametrize("name", every())
def test_a_start_that_failed_altogether(name: str) -> None:
    calls = iter(range(100))

    def late(params: Params) -> Evaluation:
        return Evaluation(math.nan, failure="no") if next(calls) < N_START else branin(params)

    run(name, late, BOX, seed=0, n_asked=2)


@pytest.mark.parametrize("name", every("constraints"))
def test_constraints(name: str) -> None:
    def constrained(params: Params) -> Evaluation:
        return Evaluation(branin(params).value, {"a": params["x0"], "b": params["x1"] - 14})

    run(name, constrained, BOX, seed=0, constraints=("a", "b"))


@pytest.mark.parametrize("name", every("pool"))
def test_pool(name: str) -> None:
    features = np.random.default_rng(0).normal(size=(20, 3))
    asked, _ = run(
        name,
        lambda p: Evaluation(float(features[p["candidate"]] @ [1.0, 2.0, 3.0])),
        POOL,
        seed=0,
        pool={"candidate": features},
    )
    told = [p["candidate"] for p in start(POOL, N_START, 0)]
    chosen = [p["candidate"] for p in asked]
    assert len(set(chosen)) == len(chosen)
    assert not set(chosen) & set(told)


# The registry


def test_every_method_is_described() -> None:
    assert len(set(methods())) == len(methods())
    for name in methods():
        found = method(name)
        assert found.name == name
        assert found.summary
        assert found.packages
        assert found.handles <= {"mixed", "constraints", "conditional", "pool", "batch"}
        assert found.ours == (name in neurobo.algorithms())


def test_a_registered_algorithm_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        registry._REGISTRY, "new", registry.Entry(lambda: neurobo.NeuralGreedy(), "A new one.")
    )
    assert "new" in methods()
    assert method("new").ours
    assert method("new").summary == "A new one."


def test_options_follow_the_name() -> None:
    found = method("optuna-tpe:multivariate=false,n_ei_candidates=8")
    assert found.options == {"multivariate": False, "n_ei_candidates": 8}
    history = [(p, branin(p).value) for p in start(BOX, N_START, 0)]
    asked, _ = run("neural-greedy:width=32,surrogate=posterior", branin, BOX, seed=0, n_asked=1)
    algorithm = neurobo.NeuralGreedy(width=32, surrogate="posterior")
    assert asked == _suggested(history, algorithm)


def test_auto_is_told_that_values_are_noisy() -> None:
    """As BoTorch's models are; an option of the name says otherwise."""
    history = [(p, branin(p).value) for p in start(BOX, 8, 0)]

    def asked(name: str) -> list[Params]:
        return run(name, branin, BOX, seed=0, n_start=8, n_asked=1, noisy=True)[0]

    told, untold = (
        _suggested(history, neurobo.Auto(middle=False, noisy=noisy)) for noisy in (True, False)
    )
    assert told != untold
    assert asked("auto:middle=false") == told
    assert asked("auto:middle=false,noisy=false") == untold


def _suggested(history: Sequence[tuple[Params, float]], algorithm: Any) -> list[Params]:
    points = neurobo.suggest(
        BOX.distributions, history, algorithm=algorithm, seed=0, n_startup_trials=N_START
    )
    return list(points)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("nothing", "a method must be one of"),
        ("optuna-tpe:speed=1", "options of optuna-tpe must be among"),
        ("random:speed=1", r"options of random must be among \[\]"),
        ("neural-greedy:speed=1", "options of NeuralGreedy must be among"),
        ("neural-greedy:width=0", "width must be"),
        ("sobol:fast", "options must be written"),
    ],
)
def test_unknown_names_and_options_are_refused(text: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        method(text)


def test_a_missing_package_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cmaes", None)
    with pytest.raises(MissingPackage, match=r"'cmaes'.*neurobo\[bench\]"):
        method("optuna-cmaes").start(Task(BOX, 10, 4, 0))


def test_listing_the_methods_imports_no_other_library() -> None:
    program = (
        "import sys; from neurobo.bench.peers import method, methods; "
        "[method(name) for name in methods()]; "
        "heavy = {'torch', 'botorch', 'smac', 'nevergrad', 'cma', 'cmaes', 'hebo', 'sklearn'}; "
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# Random and Sobol


def test_random_points_are_uniform_on_the_parameters_own_scale() -> None:
    asked, _ = run("random", mixed_value, MIXED, seed=0, n_asked=400)
    rates = np.log10([p["rate"] for p in asked])
    assert stats.kstest(rates, stats.uniform(-5, 4).cdf).pvalue > 0.01
    counts = [sum(p["layers"] == n for p in asked) for n in range(1, 5)]
    assert stats.chisquare(counts).pvalue > 0.01


def test_sobol_points_fill_the_box_more_evenly_than_random_ones() -> None:
    def unevenness(name: str) -> float:
        asked, _ = run(name, branin, BOX, seed=0, n_asked=64)
        return float(qmc.discrepancy((BOX.encode(asked) + 1) / 2))

    assert unevenness("sobol") < unevenness("random") / 3


@pytest.mark.parametrize("name", ["random", "sobol"])
def test_the_start_design_of_the_same_seed_does_not_come_twice(name: str) -> None:
    designs = [
        BOX.decode(start_point(BOX, np.zeros((0, 2)), design=d, size=16, seed=3, number=i))
        for d in ("sobol", "random", "lhs")
        for i in range(16)
    ]
    asked, _ = run(name, branin, BOX, seed=3, n_asked=16)
    distance = np.abs(BOX.encode(asked)[:, None] - BOX.encode(designs)[None]).max(axis=2)
    assert distance.min() > 1e-6


def test_random_takes_every_candidate_of_a_pool_once() -> None:
    pool = {"candidate": np.zeros((20, 1))}
    optimiser = begin("random", Task(POOL, 20, 2, 0, pool=pool))
    chosen = [4, 17]
    for candidate in chosen:
        optimiser.tell({"candidate": candidate}, Evaluation(0.0))
    for _ in range(18):
        params = optimiser.ask()
        optimiser.tell(params, Evaluation(0.0))
        chosen.append(params["candidate"])
    assert sorted(chosen) == list(range(20))
    with pytest.raises(SpaceExhausted):
        optimiser.ask()


# Optuna samplers, ours among them


class Witness(BaseSampler):
    """Keeps what a sampler gets to see."""

    def __init__(self) -> None:
        self.seen: list[list[FrozenTrial]] = []

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        self.seen.append(study.get_trials()[:-1])
        return {}

    def sample_independent(self, *given: Any) -> Any:
        return RandomSampler(seed=0).sample_independent(*given)


def test_a_sampler_sees_the_start_design_as_trials() -> None:
    witness = Witness()
    optimiser = OptunaOptimiser(Task(BOX, 10, 2, 0, constraints=("c",)), witness)
    good, bad = start(BOX, 2, 0)
    optimiser.tell(good, Evaluation(3.0, {"c": -1.0}))
    optimiser.tell(bad, Evaluation(math.nan, {"c": math.nan}, failure="no"))
    optimiser.tell(optimiser.ask(), Evaluation(5.0, {"c": 2.0}))
    optimiser.tell(optimiser.ask(), Evaluation(math.nan, failure="no"))
    optimiser.ask()
    trials = witness.seen[-1]
    assert len(witness.seen) == 3
    assert [t.params for t in trials[:2]] == [good, bad]
    assert [t.value for t in trials] == [3.0, None, 5.0, None]
    complete, fail = TrialState.COMPLETE, TrialState.FAIL
    assert [t.state for t in trials] == [complete, fail, complete, fail]
    assert [t.constraints for t in trials] == [{"c": -1.0}, {}, {"c": 2.0}, {}]


@pytest.mark.parametrize("name", ["auto", "neural-greedy", "ntk-gp"])
def test_our_algorithms_suggest_what_the_library_suggests(name: str) -> None:
    history = [(p, branin(p).value) for p in start(BOX, N_START, 0)]
    asked, _ = run(name, branin, BOX, seed=0, n_asked=1)
    assert asked == _suggested(history, name)


def test_optuna_stays_as_talkative_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    before = optuna.logging.get_verbosity()
    try:
        optuna.logging.set_verbosity(optuna.logging.INFO)
        run("optuna-tpe", branin, BOX, seed=0)
        assert optuna.logging.get_verbosity() == optuna.logging.INFO
        assert capfd.readouterr().err == ""
    finally:
        optuna.logging.set_verbosity(before)


@pytest.mark.parametrize("name", ["optuna-tpe:multivariate=true,group=true", "auto"])
def test_samplers_see_conditional_trials_as_they_are(name: str) -> None:
    tree = problem("conditional-tree-9")
    optimiser = begin(name, Task(tree.space, 20, 3, 0))
    assert isinstance(optimiser, OptunaOptimiser)
    told = list(start(tree.space, 3, 0))
    for params in told:
        optimiser.tell(params, Evaluation(1.0))
    told.append(optimiser.ask())
    optimiser.tell(told[-1], Evaluation(1.0))
    trials = optimiser._study.get_trials()
    assert [t.params for t in trials] == told
    assert all(t.distributions.keys() == t.params.keys() for t in trials)


def test_tpe_learns_the_constraints() -> None:
    def corner(params: Params) -> Evaluation:
        return Evaluation(0.0, {"x": params["x0"] + 1, "y": params["x1"] - 4})

    def feasible(name: str) -> int:
        _, outcomes = run(name, corner, BOX, seed=0, n_start=10, n_asked=40, constraints=("x", "y"))
        return sum(o.violation == 0 for o in outcomes[-20:])

    assert feasible("optuna-tpe") > 2 * feasible("random")


# What other libraries are told


def test_plain_numbers_mean_the_same_point() -> None:
    plain = PlainSpace(MIXED)
    for params in start(MIXED, 200, 0):
        numbers = plain.numbers(params)
        back = plain.params(numbers)
        assert MIXED.contains(back)
        np.testing.assert_allclose(MIXED.encode([back]), MIXED.encode([params]), atol=1e-12)
        assert "fixed" not in numbers
    assert [(p.low, p.high) for p in plain.parameters[1:3]] == [(0, 10), (0, 3)]


def test_plain_numbers_outside_are_pulled_in() -> None:
    plain = PlainSpace(MIXED)
    for end, kind in ((-1.0, "a"), (1e3, 3)):
        params = plain.params({p.name: end for p in plain.parameters})
        assert MIXED.contains(params)
        assert params["kind"] == kind


def test_a_failure_counts_as_the_worst_so_far() -> None:
    value = WorstSoFar()
    assert value(math.nan) == BEFORE_ANY_SUCCESS
    assert [value(v) for v in (3.0, -1.0, math.nan, 7.0, math.inf)] == [3.0, -1.0, 3.0, 7.0, 7.0]


@pytest.mark.parametrize(("python", "why"), [("", "got none"), ("/no/such/python", "interpreter")])
def test_hebo_asks_for_its_environment(
    monkeypatch: pytest.MonkeyPatch, python: str, why: str
) -> None:
    monkeypatch.setenv(PYTHON, python)
    with pytest.raises(MissingPackage, match=why):
        method("hebo").start(Task(BOX, 10, 4, 0))


def test_a_dead_hebo_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PYTHON, sys.executable)  # an environment without HEBO
    with pytest.raises(NeuroboError, match=r"HEBO must answer[\s\S]*HEBO"):
        method("hebo").start(Task(BOX, 10, 4, 0))


# Known results


def regret(name: str, seed: int, n_asked: int) -> float:
    _, outcomes = run(name, branin, BOX, seed=seed, n_start=6, n_asked=n_asked)
    return min(o.value for o in outcomes) - 0.397887


@pytest.mark.parametrize(
    "name",
    [
        "optuna-tpe",
        *(
            pytest.param(n, marks=pytest.mark.peers)
            for n in ("optuna-gp", "optuna-cmaes", "smac-forest", "nevergrad-ngopt", "cma-es")
        ),
    ],
)
def test_learning_beats_chance_on_branin(name: str) -> None:
    n = 54
    learned = [regret(name, seed, n) for seed in range(5)]
    chance = [regret("random", seed, n) for seed in range(5)]
    assert statistics.median(learned) < statistics.median(chance) / 3, (learned, chance)


def sphere(x: np.ndarray) -> float:
    return float(np.sum(x**2))


def rosenbrock(x: np.ndarray) -> float:
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (x[:-1] - 1) ** 2))


def evaluations_of_cma_es(
    function: Callable[[np.ndarray], float],
    target: float,
    points: Sequence[Params],
    task: Task,
    **options: Any,
) -> float:
    """How many evaluations it takes to get below the target; infinite if the budget ends."""
    optimiser = method("cma-es").make(task, **options)
    for count in range(1, task.budget + 1):
        params = points[count - 1] if count <= len(points) else optimiser.ask()
        value = function(task.space.point(params))
        optimiser.tell(params, Evaluation(value))
        if value < target:
            return count
    return math.inf


@pytest.mark.peers
@pytest.mark.parametrize(("function", "most"), [(sphere, 1000), (rosenbrock, 2500)])
def test_cma_es_is_as_fast_as_in_its_own_loop(
    function: Callable[[np.ndarray], float], most: int
) -> None:
    cma: Any = pytest.importorskip("cma")
    low, width = -5.0, 9.0  # the sphere's optimum is not at the centre
    space = Space.of([(low, low + width)] * 5)
    here, there = [], []
    for seed in range(9):
        points = start(space, 5, seed)
        here.append(evaluations_of_cma_es(function, 1e-8, points, Task(space, most * 2, 5, seed)))
        best = min((space.point(p) for p in points), key=function)
        settings = {"bounds": [0, 1], "ftarget": 1e-8, "seed": seed + 1, "maxfevals": most * 2}
        _, strategy = cma.fmin2(
            lambda u: function(low + width * np.asarray(u)),
            (best - low) / width,
            0.25,
            {**settings, "verbose": -9, "verb_log": 0},
        )
        there.append(strategy.result.evaluations if strategy.result.fbest < 1e-8 else math.inf)
    assert statistics.median(here) < most, here
    ratio = statistics.median(here) / statistics.median(there)
    assert 0.7 < ratio < 1.4, (here, there)


@pytest.mark.peers
def test_cma_es_reproduces_the_example_of_its_documentation() -> None:
    """`cma.fmin2`: Rosenbrock in 10-D from 0.1 with step 0.3 ends below 1e-12 within 8000."""
    pytest.importorskip("cma")
    space = Space.of([(-5.0, 5.0)] * 10)
    first = space.params([0.1] * 10)
    needed = [
        evaluations_of_cma_es(rosenbrock, 1e-12, [first], Task(space, 9000, 1, seed), sigma0=0.03)
        for seed in range(3)
    ]
    assert statistics.median(needed) < 8000, needed
