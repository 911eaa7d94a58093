"""PINN-BO: its posterior is the paper's; right laws help and wrong ones do no harm."""

from __future__ import annotations

import json
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optuna
import pytest
from jax.flatten_util import ravel_pytree
from scipy.stats import multivariate_normal

import neurobo
from neurobo.acquisition.exploration import pinn_nu
from neurobo.acquisition.physics_exploration import improves, information, theory_nu
from neurobo.algorithm import PINNBO
from neurobo.data.observations import Data
from neurobo.data.scaling import units
from neurobo.data.trials import Trials
from neurobo.errors import InvalidInput, NeuroboWarning
from neurobo.networks.information import information_gain
from neurobo.networks.mlp import MLP
from neurobo.physics import marginal_likelihood
from neurobo.physics.conditioning import Known, PhysicsHyper, condition, known
from neurobo.physics.features import features, phi_of
from neurobo.physics.laws import bind
from neurobo.physics.marginal_likelihood import PhysicsKernels
from neurobo.physics.pde import PDE, d2, laplacian, partial
from neurobo.physics.surrogate import draws, posterior, trained, trained_rows
from neurobo.space.search_space import Space

FAST = PINNBO(width=128)
at = jax.jit(lambda posterior, x: posterior.mean_and_sd(x))

# A damped oscillator in milliseconds and micrometres, around 300 ---------------------------------

TIME = {"ms": (0.0, 10_000.0)}
DAMPED = PDE(
    lambda u, x: 1e6 * d2(u, 0)(x) + 400 * partial(u, 0)(x) + 4 * (u(x) - 300), n_points=64
)
SEEN = [300.0, 1700.0, 2900.0, 4400.0, 6100.0, 8800.0]


def _swing(ms: Any) -> Any:
    pace, t = math.sqrt(3.96), np.asarray(ms) / 1000
    return 300 + 50 * np.exp(-0.2 * t) * (np.cos(pace * t) + 0.2 / pace * np.sin(pace * t))


def _data(space: Space, points: list[Any], values: list[float]) -> Data:
    return Data.of(space, Trials([space.params(p) for p in points], values))


def _error(law: Any, algorithm: PINNBO = FAST) -> float:
    """Of the mean, as a share of the objective's spread."""
    space = Space.of(TIME)
    data = _data(space, [{"ms": t} for t in SEEN], [float(_swing(t)) for t in SEEN])
    algorithm = algorithm.with_laws(bind(law, space))
    line = np.linspace(0, 10_000, 101)
    with jax.enable_x64(True):
        found, _ = at(algorithm.posterior(jax.random.key(0), data), (line / 5000 - 1)[:, None])
        location, spread = units(data.values)
        wrong = location + spread * np.asarray(found) - _swing(line)
    return float(np.sqrt(np.mean(wrong**2)) / np.std(_swing(line)))


def test_six_observations_and_the_law_give_the_whole_swing() -> None:
    assert _error(DAMPED) < 0.01
    assert _error(DAMPED, PINNBO(width=128, weight=0)) > 0.3


def test_a_wrong_law_is_noticed_and_left_aside() -> None:
    wrong = PDE(lambda u, x: 1e6 * d2(u, 0)(x) + 30 * (u(x) - 300), n_points=64)
    with pytest.warns(NeuroboWarning, match=r"law 1 of 1 does not fit .* e\^[0-9.]+ times"):
        error = _error(wrong)
    assert error < 1.2 * _error(wrong, PINNBO(width=128, weight=0))


@pytest.mark.slow
def test_a_wrong_law_does_not_lead_to_a_network_that_is_rough_between_its_points() -> None:
    box = [(0.0, 2 * math.pi)] * 2
    space, wrong = Space.of(box), PDE(lambda u, x: laplacian(u)(x) + 9 * (u(x) - 3))
    points = neurobo.suggest(box, n=16, n_startup_trials=16, seed=0)
    grid = np.random.default_rng(0).uniform(-1, 1, (64, 2))

    def plate(x: np.ndarray) -> np.ndarray:
        a, b = math.pi * (x.T + 1)
        return np.sinh(a) * np.sin(b) / 10 + a

    def error(algorithm: PINNBO) -> float:
        x = space.encode([space.params(p) for p in points])
        data = _data(space, points, plate(x).tolist())
        algorithm = algorithm.with_laws(bind(wrong, space))
        with jax.enable_x64(True):
            found, _ = at(algorithm.posterior(jax.random.key(0), data), grid)
        location, spread = units(data.values)
        return float(np.sqrt(np.mean((location + spread * np.asarray(found) - plate(grid)) ** 2)))

    with pytest.warns(NeuroboWarning, match="law 1 of 1 does not fit"):
        found = error(FAST)
    assert found < 1.2 * error(PINNBO(width=128, weight=0))


@pytest.mark.slow
def test_of_two_laws_only_the_wrong_one_is_doubted() -> None:
    wrong = PDE(lambda u, x: 1e6 * d2(u, 0)(x) + 30 * (u(x) - 300), n_points=64)
    with pytest.warns(NeuroboWarning, match="law 2 of 2"):
        assert _error([DAMPED, wrong]) < 0.05


@pytest.mark.slow
def test_how_far_to_trust_a_law_can_be_said() -> None:
    law = DAMPED.residual
    assert _error(PDE(law, n_points=64, noise=1.0)) < 0.05
    assert _error(PDE(law, n_points=64, weight=1.0)) < 0.05
    assert _error(PDE(law, n_points=64, weight=0)) > 0.3
    assert _error(PDE(law, n_points=64, noise=1e6)) > 0.1


# Lemma 5.3.4 ------------------------------------------------------------------------------------

RECTANGLE = Space.of([(1.0, 3.0), (-20.0, 40.0)])
SCREENED = PDE(lambda u, x: laplacian(u)(x) + 3 * u(x) - x[0] * x[1], n_points=12)
RNG = np.random.default_rng(0)
NETWORK, GAMMA = MLP(8, 2, "tanh"), (1.4, 0.6)
X, Y = RNG.uniform(-1, 1, (7, 2)), RNG.normal(500, 80, 7)
AT = RNG.uniform(-1, 1, (5, 2))


def _state(width: int = 8) -> Known:
    laws = bind(SCREENED, RECTANGLE)
    found = features(laws, MLP(width, 2, "tanh"), GAMMA, jax.random.key(1))
    return known(
        found, PhysicsHyper(found.network, GAMMA, 0.7, 0.02, (0.01,)), Data.pad(X, Y), laws
    )


def _dense(state: Known) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance by the p × p formulas, with rows that are not scaled."""
    gamma, theta0 = jnp.asarray(GAMMA), state.found.theta0
    pair: Any = ravel_pytree(theta0)
    flat, unravel = pair
    low, high = np.array([1.0, -20.0]), np.array([3.0, 40.0])
    z = bind(SCREENED, RECTANGLE).points(0)[0]

    def f(theta: Any, x: Any) -> Any:
        return NETWORK.apply(unravel(theta), gamma, x[None])[0]

    def operator(theta: Any, point: Any) -> Any:
        def u(p: Any) -> Any:
            return f(theta, 2 * (p - low) / (high - low) - 1)

        bent: Any = jax.hessian(u)
        return jnp.sum(jnp.diag(bent(point))) + 3 * u(point)

    rows = jax.jit(jax.vmap(jax.grad(f), (None, 0)))
    phi, h = np.asarray(rows(flat, X)), np.asarray(rows(flat, AT))
    omega = np.asarray(jax.jit(jax.vmap(jax.grad(operator), (None, 0)))(flat, z))
    location, spread = state.units.location, state.units.spread
    nu = state.hyper.scale
    noise = np.full(7, state.hyper.noise / nu**2)
    law_noise = 0.01 * state.found.typical * state.found.sizes**2
    y, u = (Y - location) / spread, (z[:, 0] * z[:, 1] - 3 * location) / spread
    xi = np.concatenate([phi, omega])
    k = xi @ xi.T + np.diag(np.concatenate([noise, law_noise]))
    cross = h @ xi.T
    mean = cross @ np.linalg.solve(k, np.concatenate([y, u]))
    return mean, nu**2 * (h @ h.T - cross @ np.linalg.solve(k, cross.T))


def test_the_posterior_is_that_of_the_lemma(x64: None) -> None:
    state = _state()
    mean, covariance = _dense(state)
    found, sd = at(posterior(state), jnp.asarray(AT))
    np.testing.assert_allclose(found, mean, rtol=1e-6)
    np.testing.assert_allclose(sd, np.sqrt(np.diag(covariance)), rtol=1e-6)


@pytest.mark.slow
def test_draws_have_the_posterior_of_the_lemma(x64: None) -> None:
    """Within four standard errors of 400 draws."""
    state, n = _state(), 400
    mean, covariance = _dense(state)
    functions = draws(list(jax.random.split(jax.random.key(5), n)), state)
    values = jax.jit(lambda f: f(jnp.asarray(AT)))
    sample = np.array([values(f) for f in functions])
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((sample.mean(axis=0) - mean) / sd, 0, atol=4 / np.sqrt(n))
    np.testing.assert_allclose(sample.std(axis=0, ddof=1) / sd, 1, atol=4 / np.sqrt(2 * n))
    correlation = covariance / np.outer(sd, sd)
    np.testing.assert_allclose(np.corrcoef(sample.T), correlation, atol=4 / np.sqrt(n))


def test_rows_of_trained_networks_are_those_of_the_tangent(x64: None) -> None:
    """The first step of training is the linear model's, values and laws alike."""
    state = _state()
    theta0, scale = state.found.theta0, 0.7
    rows = trained_rows(state, bind(SCREENED, RECTANGLE), scale)
    both = jax.jit(lambda r, t: (r.gram(t), r.values(t)))
    gram, values = both(rows, theta0)
    expected, linear = both(state.rows, theta0)
    n = len(state.data.y)
    seen = np.r_[:7, n : n + 12]  # without padding
    np.testing.assert_allclose(gram[np.ix_(seen, seen)], expected[np.ix_(seen, seen)], rtol=1e-8)
    np.testing.assert_allclose(jax.jit(lambda r, t: r.sizes(t))(rows, theta0), np.diag(gram))
    # A row of a law is the operator on f, plus what the constant leaves.
    zero = jax.tree.map(jnp.zeros_like, theta0)
    np.testing.assert_allclose(both(rows, zero)[1][n:], -state.targets / scale, rtol=1e-10)
    assert np.isfinite(np.concatenate([values, linear])).all()


@pytest.mark.slow
def test_trained_networks_come_near_the_lemma_when_wide(x64: None) -> None:
    """PosteriorSMB with rows for laws: fresh networks, so their kernels vary, too."""
    laws, n = bind(SCREENED, RECTANGLE), 100
    y = (2 + X[:, 0]) * (10 + 30 * X[:, 1]) / 3 + RNG.normal(size=7)
    found = features(laws, MLP(512, 1, "tanh"), GAMMA, jax.random.key(1))
    state = known(
        found, PhysicsHyper(found.network, GAMMA, 0.7, 0.02, (0.01,)), Data.pad(X, y), laws
    )
    mean, sd = at(posterior(state), jnp.asarray(AT))
    keys = list(jax.random.split(jax.random.key(5), n))
    functions = trained(keys, state, laws, "posterior")
    values = jax.jit(lambda f: f(jnp.asarray(AT)))
    sample = np.array([values(f) for f in functions])
    np.testing.assert_allclose((sample.mean(axis=0) - mean) / sd, 0, atol=0.6)
    np.testing.assert_allclose(sample.std(axis=0, ddof=1) / sd, 1, atol=0.4)


def test_evidence_is_the_likelihood_of_the_values_given_the_laws() -> None:
    rows = np.random.default_rng(3).normal(size=(11, 30))
    k = rows @ rows.T / 30
    y, targets = rows[:4] @ np.ones(30) / 5, np.linspace(-1, 1, 7)
    noise = np.full(7, 0.3)
    found = marginal_likelihood.cost(
        PhysicsKernels(k[:4, :4], k[:4, 4:], k[4:, 4:]), y, targets, noise
    )
    inner = np.linalg.solve(k[4:, 4:] + np.diag(noise), np.c_[k[4:, :4], targets])
    variance = found.scale**2
    covariance = variance * (k[:4, :4] - k[:4, 4:] @ inner[:, :4]) + found.noise * np.eye(4)
    mean = k[:4, 4:] @ inner[:, 4]
    expected = -multivariate_normal(mean, covariance).logpdf(y) - 2 * np.log(2 * np.pi)
    expected += np.log(found.scale) ** 2 / 2 + (np.log(found.noise / 1e-6) / 4) ** 2 / 2
    assert found.cost == pytest.approx(expected, rel=1e-9)


# Laws that are not linear -----------------------------------------------------------------------


def test_a_law_that_is_not_linear(x64: None) -> None:
    """u' = -u² has the solution 1/(1 + x)."""
    law = PDE(lambda u, x: partial(u, 0)(x) + u(x) ** 2, n_points=32)
    space = Space.of([(0.0, 4.0)])
    seen = [0.2, 0.5, 3.5]
    data = _data(space, [[v] for v in seen], [1 / (1 + v) for v in seen])
    laws = bind(law, space)
    assert not laws.affine
    hyper = PhysicsHyper(MLP(128, 1, "sin"), (1.6, 1.0), 1.0, 1e-8, (1e-5,))
    state = condition(jax.random.key(0), data, laws, hyper)
    line = np.linspace(0, 4, 41)
    mean, _ = at(posterior(state), (line / 2 - 1)[:, None])
    predicted = state.units.location + state.units.spread * np.asarray(mean)
    np.testing.assert_allclose(predicted, 1 / (1 + line), atol=0.01)


# Suggestions ------------------------------------------------------------------------------------

MIXED = {
    "x": (0.0, 2.0),
    "kind": neurobo.Categorical(["a", "b"]),
    "t": neurobo.Float(0.01, 1.0, log=True),
    "n": neurobo.Int(1, 4),
}
BENT = PDE(lambda u, x: d2(u, 0)(x) - 6, names=["x"], n_points=32)


def _bent(p: dict[str, Any]) -> float:
    return float(3 * (p["x"] - 1.3) ** 2 + p["n"] * (p["kind"] == "a") + np.log(p["t"]))


@pytest.mark.slow
def test_the_contract_in_a_mixed_space() -> None:
    """Valid, new, different points, the same for the same seed."""
    points = neurobo.suggest(MIXED, n=12, seed=0, n_startup_trials=12)
    history: list[tuple[Any, float | None]] = [(p, _bent(p)) for p in points[:9]]
    history[2] = (history[2][0], None)
    options: Any = {
        "algorithm": FAST, "physics": BENT, "seed": 1, "pending": points[9:],
        "n_startup_trials": 0, "n": 3,
    }  # fmt: skip
    found = neurobo.suggest(MIXED, history, **options)
    everything = [json.dumps(p) for p in [*points, *found]]
    assert len(set(everything)) == 15
    assert all(Space.of(MIXED).contains(p) for p in found)
    assert found == neurobo.suggest(MIXED, history, **options)
    assert found != neurobo.suggest(MIXED, history, **options | {"seed": 2})


LINE = {"x": (0.0, 1.0)}
SLOPE = PDE(lambda u, x: partial(u, 0)(x) - 2, n_points=32)


@pytest.mark.parametrize(("direction", "best"), [("minimize", 0.0), ("maximize", 1.0)])
def test_laws_are_about_the_objective_also_when_it_is_maximised(
    direction: Any, best: float
) -> None:
    """Two values say which way u rises only because of the law u' = 2."""
    study = optuna.create_study(
        direction=direction,
        sampler=neurobo.NeuroSampler(FAST, seed=0, n_startup_trials=0, physics=SLOPE),
    )
    for x in (0.5, 0.501):
        study.add_trial(
            optuna.create_trial(
                params={"x": x}, value=7.0, distributions={"x": neurobo.Float(0.0, 1.0)}
            )
        )
    trial = study.ask()
    assert trial.suggest_float("x", 0.0, 1.0) == pytest.approx(best, abs=0.02)
    (point,) = neurobo.suggest(LINE, study, algorithm=FAST, physics=SLOPE, seed=0)
    assert 0 <= point["x"] <= 1


@pytest.mark.slow
def test_minimise_with_a_law() -> None:
    study = neurobo.minimize(
        lambda p: float(_swing(p["ms"])), TIME, 12, physics=DAMPED, seed=0, progress=False
    )
    assert study.best_value == pytest.approx(300 - 50 * math.exp(-0.2 * math.pi / 1.98997), abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"acquisition": "ei"}, {"surrogate": "simple"}, {"surrogate": "posterior"}, {"nu": "theory"}],
)
def test_every_option_suggests(options: dict[str, Any]) -> None:
    history = [({"ms": t}, float(_swing(t))) for t in SEEN]
    points = neurobo.suggest(
        TIME, history, 2, algorithm=PINNBO(width=64, **options), physics=DAMPED, seed=0
    )
    assert points[0] != points[1]
    # The lowest point is that of the first swing back; EI may still look elsewhere.
    assert abs(points[0]["ms"] - 1579) < 1500


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"nu": 0}, "nu"), ({"weight": -1}, "weight"), ({"gamma": 0}, "gamma"),
        ({"noise": -1.0}, "noise"), ({"width": 0}, "width"), ({"surrogate": "gp"}, "surrogate"),
        ({"acquisition": "ucb"}, "acquisition"), ({"activation": "relu"}, "derivatives"),
        ({"B": 1}, "options of PINNBO"),
    ],
)  # fmt: skip
def test_bad_options_are_refused(options: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        PINNBO(**options)


def test_theory_explores_more_where_laws_say_less(x64: None) -> None:
    assert pinn_nu(5.0, 0.0, 1.0, 0.0) > pinn_nu(5.0, 4.0, 1.0, 0.0) > 1.0
    assert pinn_nu(5.0, 5.0, 1.0, 0.0, delta=1.0) == pytest.approx(1.0)
    state = _state()
    gram = np.asarray(state.rows.values_only.gram(None))[:7, :7]
    most = pinn_nu(float(information_gain(jnp.asarray(gram), state.ridge)), 0.0, 1.0, 1.0)
    assert 1.0 < theory_nu(state) < most


def test_information_of_values_and_laws_has_the_ridges_of_the_posterior(x64: None) -> None:
    """Against the p × p determinants of Lemma 5.3.6, with λ1 and the λ2 of each row."""
    state = _state()
    good = np.isfinite(state.law_ridge)
    phi = np.asarray(
        phi_of(
            state.found.network, jnp.asarray(state.found.gamma), state.found.theta0,
            jnp.asarray(state.data.x[: state.data.n]),
        )
    )  # fmt: skip
    omega = np.asarray(state.found.omega)[good]
    values = phi.T @ phi / state.ridge
    laws = (omega.T / state.law_ridge[good]) @ omega
    eye = np.eye(len(values))
    logdet = [np.linalg.slogdet(m + eye)[1] / 2 for m in (values, laws, values + laws)]
    gain, shared = information(state)
    assert gain == pytest.approx(logdet[0], rel=1e-6)
    assert shared == pytest.approx(logdet[0] + logdet[1] - logdet[2], rel=1e-5)
    law_and_noise = np.sqrt(2.0)  # R̃: both are as large as the posterior assumes
    left = 2 * gain - 2 * shared + np.log(10)
    assert theory_nu(state) == pytest.approx(1 + law_and_noise * np.sqrt(left))


@pytest.mark.slow
def test_a_law_with_constraints_and_in_batches() -> None:
    """The wave is lowest at π and at 3π, of which only the second is allowed."""
    law = PDE(lambda u, x: d2(u, "t")(x) + u(x), n_points=64)
    places = np.linspace(0.5, 12.0, 9)
    history = [({"t": t}, math.cos(t), {"late": 5.0 - t}) for t in places.tolist()]
    points = neurobo.suggest(
        {"t": (0.0, 12.5)}, history, 3, algorithm=FAST, physics=law, seed=0, n_startup_trials=4
    )
    times = [p["t"] for p in points]
    assert min(abs(t - 3 * math.pi) for t in times) < 0.1
    assert min(times) > 4.5
    assert len({round(t, 2) for t in times}) == 3


def test_expected_improvement_chooses_where_it_is_affordable() -> None:
    def chooses(columns: int, n_points: int = 64, **options: Any) -> bool:
        space = Space.of([(0.0, 1.0)] * columns)
        law = PDE(lambda u, x: laplacian(u)(x), n_points=n_points)
        points = np.random.default_rng(0).random((6, columns)).tolist()
        data = _data(space, points, list(range(6)))
        algorithm = PINNBO(**options).with_laws(bind(law, space))
        surrogate = algorithm.surrogate_for(6)
        found = [improves(algorithm.acquisition, surrogate, data, number) for number in (6, 7)]
        assert options.get("acquisition") or not found[1]  # a draw at every other suggestion
        return found[0]

    assert chooses(2)
    assert not chooses(5)
    assert not chooses(2, n_points=1000, width=100, depth=3, activation="tanh")
    assert chooses(5, acquisition="ei")
    assert not chooses(2, acquisition="ts")


def test_only_draws_are_made_together(x64: None) -> None:
    """What expected improvement is worth depends on the points before it in a batch."""
    space = Space.of([(0.0, 1.0)] * 2)
    points = np.random.default_rng(0).random((6, 2)).tolist()
    law = PDE(lambda u, x: laplacian(u)(x), n_points=32)
    data = _data(space, points, [p[0] ** 2 + p[1] for p in points])

    def made(acquisition: Any, numbers: list[int]) -> int:
        chosen = PINNBO(width=32, acquisition=acquisition).with_laws(bind(law, space))
        return len(chosen.decide_batch(jax.random.key(0), data, numbers))

    assert made("ts", [6, 7, 8]) == 3
    assert made("ei", [6, 7, 8]) == 1
    assert made("auto", [6, 7, 8]) == made("auto", [7, 8, 9]) == 1
