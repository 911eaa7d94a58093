from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import cumulative_simpson
from scipy.optimize import NonlinearConstraint, minimize

from neurobo.bench.problem import Problem, Vector
from neurobo.bench.problems import GROUPS, problem, problems
from neurobo.bench.problems.constrained import PROBLEMS as CONSTRAINED
from neurobo.bench.problems.designs import PROBLEMS as DESIGNS
from neurobo.bench.problems.fields import Sides, steady_field
from neurobo.bench.problems.physics import CELLS, softness, temperature
from neurobo.bench.problems.physics import PROBLEMS as PHYSICS
from neurobo.bench.problems.rugged import BOWL, DEPTH, WIDTH, draw_wells, needles
from neurobo.bench.problems.rugged import PROBLEMS as RUGGED
from neurobo.bench.problems.synthetic import PROBLEMS as SYNTHETIC
from neurobo.bench.problems.synthetic import gp_powers, michalewicz_best
from neurobo.errors import InvalidInput
from neurobo.space.search_space import Params

NEEDLES = tuple(needles(dim, instance) for dim, instance in ((1, 0), (4, 1), (4, 2), (10, 3)))
LISTED = SYNTHETIC + RUGGED + CONSTRAINED + DESIGNS + PHYSICS
OURS = LISTED + NEEDLES
CHANCE = np.random.default_rng(0)


def names(group: tuple[Problem, ...]) -> list[str]:
    return [p.name for p in group]


def value(given: Problem, params: Params) -> float:
    return given.evaluate(params, CHANCE).noiseless


def box(given: Problem) -> tuple[Vector, Vector]:
    ranges = given.space.distributions.values()
    return np.array([(d.low, d.high) for d in ranges]).T  # type: ignore[attr-defined,return-value]


def as_params(given: Problem, x: Vector) -> Params:
    return dict(zip(given.space.distributions, x.tolist(), strict=True))


def random_points(given: Problem, n: int, seed: int = 0) -> list[Params]:
    low, high = box(given)
    rng = np.random.default_rng(seed)
    return [as_params(given, x) for x in rng.uniform(low, high, (n, given.dim))]


def points_near_best(given: Problem, n: int, seed: int = 0) -> list[Params]:
    """At distances from a millionth to a tenth of the box."""
    assert given.best is not None
    low, high = box(given)
    rng = np.random.default_rng(seed)
    step = 10 ** rng.uniform(-6, -1, (n, 1)) * rng.normal(size=(n, given.dim))
    best = np.array(list(given.best.values()))
    return [as_params(given, x) for x in np.clip(best + step * (high - low), low, high)]


def test_names_are_unique_and_found() -> None:
    listed = [p for group in GROUPS.values() for p in group]
    assert len(problems()) == len(listed)
    for given in listed:
        assert problem(given.name) is given


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"must be one of \['branin-2'.*got 'bran'"):
        problem("bran")


@pytest.mark.parametrize("given", LISTED, ids=names(LISTED))
def test_every_record_is_complete(given: Problem) -> None:
    assert given.source
    assert given.summary
    assert given.budget > 0
    assert given.best is not None
    assert given.space.contains(given.best)
    assert (given.dim == int(given.name.rpartition("-")[2])) or given.name.startswith("heat-")
    assert set(given.evaluate(given.best, CHANCE).constraints) == set(given.constraints)


@pytest.mark.parametrize("given", OURS, ids=names(OURS))
def test_the_known_optimum_is_one(given: Problem) -> None:
    """No feasible point at random or near it is lower."""
    assert given.best is not None
    assert given.optimum is not None
    scale = max(1.0, abs(given.optimum))
    at_best = given.evaluate(given.best, CHANCE)
    assert at_best.violation <= 1e-8
    assert given.regret(at_best.noiseless) == pytest.approx(0, abs=1e-9 * scale)
    for params in random_points(given, 300) + points_near_best(given, 300):
        found = given.evaluate(params, CHANCE)
        if not found.violation:
            assert given.regret(found.noiseless) > -1e-9 * scale


@pytest.mark.parametrize("given", [p for p in OURS if p.everywhere], ids=lambda p: p.name)
def test_no_lower_value_lies_outside_the_box(given: Problem) -> None:
    """What shift and rotation rely on."""
    assert given.best is not None
    best = given.space.point(given.best)
    low, high = box(given)
    rng = np.random.default_rng(1)
    for reach in (0.1, 1, 3):
        for x in best + reach * (high - low) * rng.uniform(-1, 1, (200, given.dim)):
            assert given.regret(value(given, as_params(given, x))) > 0


@pytest.mark.parametrize("name", ["schwefel-3", "michalewicz-10"])
def test_why_some_cannot_be_shifted(name: str) -> None:
    given = problem(name)
    assert given.best is not None
    assert given.optimum is not None
    assert not given.everywhere
    high = box(given)[1][0]
    outside = np.linspace(high, 4 * high, 2000)
    assert min(value(given, given.best | {"x0": float(x)}) for x in outside) < given.optimum


def test_michalewicz_has_its_published_optimum() -> None:
    assert problem("michalewicz-10").optimum == pytest.approx(-9.66015, abs=5e-6)


def test_each_summand_of_michalewicz_is_solved() -> None:
    """Against a fine grid, as the function is separable."""
    x = np.linspace(0, np.pi, 50001)
    for i, found in enumerate(michalewicz_best(100), start=1):
        depth = np.sin(x) * np.sin(i * x**2 / np.pi) ** 20
        reached = np.sin(found) * np.sin(i * found**2 / np.pi) ** 20
        assert 0 <= reached - depth.max() < 1e-4


def test_the_random_curve_has_its_kernel() -> None:
    """The Fourier series behind `gp-draw-1` stands for the squared-exponential kernel."""
    power = gp_powers(0.1)
    r = np.linspace(0, 1, 101)
    kernel = power @ np.cos(np.pi * np.outer(np.arange(len(power)), r))
    np.testing.assert_allclose(kernel, np.exp(-(r**2) / 0.02), atol=1e-14)


def test_the_random_curve_is_linear_between_grid_points() -> None:
    given, step = problem("gp-draw-1"), 1 / 999
    a, middle, b = (value(given, {"x0": step * i}) for i in (10, 10.5, 11))
    assert middle == pytest.approx((a + b) / 2, rel=1e-9)


def test_which_optima_are_marked_as_centred() -> None:
    centred = {p.name for p in SYNTHETIC if p.centred}
    assert {"ackley-20", "rastrigin-100", "sphere-5"} <= centred
    assert not centred & {"branin-2", "levy-15", "hartmann-6", "rosenbrock-40"}


# --- rugged


def test_langermann_has_no_lower_valley() -> None:
    given, grid = problem("langermann-2"), np.linspace(0, 10, 401)
    lowest = min(value(given, {"x0": x, "x1": y}) for x in grid for y in grid)
    assert 0 < given.regret(lowest) < 0.1


def test_an_instance_of_needles_is_always_the_same_function() -> None:
    assert problem("needles-4-1").best == needles(4, 1).best
    assert problem("needles-4-1").best != problem("needles-4-2").best
    assert problem("needles-4-1").budget == 100


@pytest.mark.parametrize("dim", [1, 4, 20])
def test_needles_have_shallower_decoys(dim: int) -> None:
    given = needles(dim, 1)
    assert given.best is not None
    best = given.space.point(given.best)
    places, _ = draw_wells(np.random.default_rng([dim, 1]), dim)
    np.testing.assert_array_equal(places[0], best)
    assert len(places) == 21
    for place in places[1:]:
        assert 0.2 * DEPTH < value(given, as_params(given, place)) < 0.8 * DEPTH + BOWL
    half_down = value(given, as_params(given, best + WIDTH))
    assert half_down == pytest.approx(DEPTH / 2 + BOWL * WIDTH**2)


@pytest.mark.parametrize("name", ["needles-0-1", "needles-101-1"])
def test_needles_without_dimensions_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="D from 1 to 100"):
        problem(name)


# --- constrained


@pytest.mark.parametrize(
    ("name", "share", "n"),
    [
        ("constrained-branin-2", np.pi * 50 / 225, 4000),  # a disc within the box
        ("simionescu-2", 1.02 * np.pi / 6.25, 4000),  # half the integral of radius² over the angle
        ("constrained-ackley-5", 0.1343, 4000),  # three million points
        ("constrained-hartmann-6", np.pi**3 / 6 / 64, 4000),  # a 64th of a ball
        ("gardner-2", 0.0177, 20000),  # five million points
        ("gas-compressor-4", 0.5231, 4000),  # five million points
        ("speed-reducer-7", 0.000963, 40000),  # five million points
        ("tension-spring-3", 0.00741, 20000),  # five million points
        ("three-bar-truss-2", 0.2184, 4000),  # five million points
        ("himmelblau-5", 0.2696, 4000),  # five million points
        ("stepped-cantilever-10", 0.00568, 20000),  # five million points
    ],
)
def test_the_feasible_share(name: str, share: float, n: int) -> None:
    given = problem(name)
    feasible = [not given.evaluate(p, CHANCE).violation for p in random_points(given, n)]
    # Four standard errors: a right formula fails for one seed in 16 thousand.
    assert np.mean(feasible) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / n))


@pytest.mark.parametrize("given", DESIGNS, ids=names(DESIGNS))
def test_a_solver_finds_no_better_design(given: Problem) -> None:
    assert given.optimum is not None
    size, (low, high) = abs(given.optimum), box(given)
    rng = np.random.default_rng(0)

    def at(u: Vector) -> tuple[float, Vector]:
        found = given.evaluate(as_params(given, low + u * (high - low)), CHANCE)
        return found.value / size, np.array(list(found.constraints.values()))

    reached = []
    for start in rng.uniform(0, 1, (10, given.dim)):
        found = minimize(  # type: ignore[call-overload]  # its stubs refuse plain functions
            lambda u: at(u)[0],
            start,
            method="SLSQP",
            bounds=[(0, 1)] * given.dim,
            constraints=NonlinearConstraint(lambda u: at(u)[1], -np.inf, 0),
            tol=1e-12,
        )
        if at(found.x)[1].max() <= 1e-8:
            reached.append(found.fun)
    assert min(reached) == pytest.approx(given.optimum / size, abs=1e-6)


def test_gardners_other_island_is_worse() -> None:
    given = problem("gardner-2")
    assert given.optimum == pytest.approx(0.2532358975033750, abs=1e-15)
    trap = given.evaluate({"x0": np.pi / 2, "x1": np.pi + np.arcsin(0.95)}, CHANCE)
    assert trap.violation <= 1e-12
    assert given.regret(trap.value) == pytest.approx(2 + np.pi)


def test_the_designs_have_their_published_optima() -> None:
    assert problem("gas-compressor-4").optimum == pytest.approx(2.9648954173e6, rel=1e-9)
    assert problem("speed-reducer-7").optimum == pytest.approx(2.9944244658e3, rel=1e-9)
    assert problem("tension-spring-3").optimum == pytest.approx(1.2665232788e-2, rel=1e-9)
    assert problem("three-bar-truss-2").optimum == pytest.approx(2.6389584338e2, rel=1e-9)
    assert problem("himmelblau-5").optimum == pytest.approx(-30665.538671783, rel=1e-12)
    assert problem("heat-exchanger-8").optimum == pytest.approx(7049.24802052867, rel=1e-12)


def test_the_cantilevers_published_volume_leaves_out_the_deflection() -> None:
    given = problem("stepped-cantilever-10")
    height = (6 * 50_000 * np.arange(500, 0, -100) * 20 / 14_000) ** (1 / 3)
    found = given.evaluate(as_params(given, np.concatenate([height / 20, height])), CHANCE)
    assert found.value == pytest.approx(61914.79, abs=0.01)
    assert [name for name, c in found.constraints.items() if c > 1e-8] == ["deflection"]


def test_the_scaled_speed_reducer_allows_the_same_designs() -> None:
    scaled, raw = problem("speed-reducer-scaled-7"), problem("speed-reducer-7")
    for params in random_points(scaled, 500):
        one, other = (given.evaluate(params, CHANCE) for given in (scaled, raw))
        assert one.value == other.value
        assert [c <= 0 for c in one.constraints.values()] == [
            c <= 0 for c in other.constraints.values()
        ]
    assert raw.best is not None
    far = scaled.evaluate({**raw.best, "x4": 8.0, "x5": 2.9}, CHANCE).constraints
    assert far["deflection_1"] == pytest.approx(1.93 * 7.3**3 / (11.9 * 2.9**4) - 1)
    assert far["shaft_1"] == pytest.approx((1.5 * 2.9 + 1.9) / 7.3 - 1)
    assert far["shaft_2"] == pytest.approx((1.1 * raw.best["x6"] + 1.9) / 8.0 - 1)


def test_one_broken_constraint_is_enough() -> None:
    given = problem("speed-reducer-7")
    assert given.best is not None
    thin = given.evaluate(given.best | {"x5": 3.3}, CHANCE)
    assert [name for name, c in thin.constraints.items() if c > 0] == ["stress_1"]
    assert thin.violation == pytest.approx(thin.constraints["stress_1"])


# --- physics


def jax_drop_wave(x: Any) -> Any:
    square = jnp.sum(x**2)
    return -(1 + jnp.cos(12 * jnp.sqrt(square))) / (0.5 * square + 2)


def jax_michalewicz(x: Any) -> Any:
    i = jnp.arange(1, x.shape[0] + 1)
    return -jnp.sum(jnp.sin(x) * jnp.sin(i * x**2 / jnp.pi) ** 20)


def jax_beam(x: Any) -> Any:
    t, grown = x[0], jnp.exp(2 * x[0])
    return 0.4 * t**3 + 0.2 * t**2 + jnp.sin(4 * jnp.pi * grown) + grown * jnp.sin(20 * t)


def jax_oscillator(x: Any) -> Any:
    pace = jnp.sqrt(4 - 0.2**2)
    return jnp.exp(-0.2 * x[0]) * (jnp.cos(pace * x[0]) + 0.2 / pace * jnp.sin(pace * x[0]))


IN_JAX: dict[str, Callable[[Any], Any]] = {
    "physics-drop-wave-2": jax_drop_wave,
    "physics-styblinski-tang-10": lambda x: jnp.sum(x**4 - 16 * x**2 + 5 * x) / 2,
    "physics-rastrigin-20": lambda x: 200 + jnp.sum(x**2 - 10 * jnp.cos(2 * jnp.pi * x)),
    "physics-michalewicz-30": jax_michalewicz,
    "physics-cosine-mixture-50": lambda x: jnp.sum(x**2 + 0.1 * jnp.cos(5 * jnp.pi * x)),
    "beam-1": jax_beam,
    "oscillator-1": jax_oscillator,
}


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", IN_JAX)
def test_the_function_obeys_its_laws(name: str) -> None:
    given, u = problem(name), IN_JAX[name]

    def wrong(x: Any) -> Any:
        return u(x) + jnp.sin(x[0] + 2 * x[-1])

    (law,) = given.laws

    @jax.jit
    def residuals(x: Any) -> Any:
        return jnp.stack([jnp.ravel(law(f, x)) for f in (u, wrong)])

    for params in random_points(given, 20):
        x = jnp.array(list(params.values()))
        if name == "beam-1" and abs(softness(x[0])) < 100:
            continue  # there the law is all but infinite
        assert u(x) == pytest.approx(value(given, params), rel=1e-12, abs=1e-12)
        zero, other = np.abs(residuals(x))
        assert zero.max() < 1e-6
        assert other.max() > 1e-3


def test_all_slopes_of_the_cosine_mixture_are_known() -> None:
    (law,) = problem("physics-cosine-mixture-50").laws
    assert law(jnp.sum, jnp.zeros(50)).shape == (50,)


@pytest.mark.usefixtures("x64")
def test_the_law_of_heat() -> None:
    (law,) = problem("heat-1").laws
    flat, bent = jax.jit(
        lambda x: (
            law(lambda p: p[0] ** 2 - p[1] ** 2 + p[0] * p[1], x),
            law(lambda p: p[0] ** 2 + 3 * p[1] ** 2, x),
        )
    )(jnp.array([0.3, 1.2]))
    assert flat == pytest.approx(0, abs=1e-12)
    assert bent == pytest.approx(8)


def test_a_steady_field_is_found() -> None:
    """Against harmonic functions: exactly for a quadratic one, else with an error that falls with
    the square of the cells."""

    def error(harmonic: Callable[[Any, Any], Any], cells: int) -> float:
        sides = Sides(
            2.0,
            bottom=lambda x: harmonic(x, 0.0),
            top=lambda x: harmonic(x, 2.0),
            left=lambda y: harmonic(0.0, y),
            right=lambda y: harmonic(2.0, y),
        )
        along = np.linspace(0, 2, cells + 1)
        return float(
            np.abs(steady_field(sides, cells) - harmonic(along[:, None], along[None])).max()
        )

    assert error(lambda x, y: x**2 - y**2 + x * y + 3, 17) < 1e-12
    coarse, fine = (error(lambda x, y: np.exp(x) * np.sin(y), cells) for cells in (32, 64))
    assert coarse / fine == pytest.approx(4, abs=0.1)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_heat_flows_evenly_and_is_hottest_in_its_corner(number: int) -> None:
    given, step = problem(f"heat-{number + 1}"), 2 * np.pi / CELLS
    assert given.best is not None
    assert given.optimum is not None
    field = temperature(number)
    rng = np.random.default_rng(0)
    for node in rng.integers(1, CELLS, (50, 2)):
        x = node * step
        around = [field(x + step * np.array(by)) for by in ((1, 0), (-1, 0), (0, 1), (0, -1))]
        assert field(x) == pytest.approx(np.mean(around), abs=1e-9 * abs(given.optimum))
    side = np.linspace(0, 2 * np.pi, 501)
    ends = (np.zeros_like(side), np.full_like(side, 2 * np.pi))
    walls = [np.stack(w, axis=1) for e in ends for w in ((side, e), (e, side))]
    hottest = max((field(x), tuple(x)) for x in np.concatenate(walls))
    assert hottest[0] == pytest.approx(-given.optimum, rel=1e-12)
    assert hottest[1] == pytest.approx(tuple(given.best.values()))


@pytest.mark.usefixtures("x64")
def test_the_beam_bends_as_its_load_says() -> None:
    """Numerically: the moment M″ = eˣ, then w″ = M ρ / eˣ, with this beam's values at the ends."""
    given, t = problem("beam-1"), np.linspace(0, 1, 20001)
    bend = np.asarray(softness(jnp.array(t)))  # M = eˣ, as M and its slope are 1 at the left end
    slope = cumulative_simpson(bend, x=t, initial=0)
    shape = cumulative_simpson(slope, x=t, initial=0)
    left, right = (value(given, {"x0": float(x)}) for x in (0, 1))
    shape += left + (right - left - shape[-1]) * t
    exact = [value(given, {"x0": float(x)}) for x in t[::100]]
    np.testing.assert_allclose(shape[::100], exact, atol=1e-6)


def test_a_field_is_solved_once_when_first_needed() -> None:
    temperature.cache_clear()
    given = problem("heat-2")
    assert temperature.cache_info().misses == 0
    for params in random_points(given, 3):
        value(given, params)
    assert temperature.cache_info().misses == 1
