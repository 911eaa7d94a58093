"""Laws: derivatives, units, coordinates, points, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import neurobo
from neurobo.errors import InvalidInput
from neurobo.physics.laws import Laws, bind
from neurobo.physics.pde import PDE, d2, directional, divergence, grad, laplacian, partial
from neurobo.space.search_space import Space

ODD: dict[str, Any] = {
    "x": (2.0, 7.5),
    "kind": neurobo.Categorical(["a", "b"]),
    "t": neurobo.Float(1e-3, 10.0, log=True),
    "n": neurobo.Int(1, 8),
}
"""Not square, not all floats, one of them logarithmic."""


def _law(u: Any, x: Any) -> Any:
    """Of 300 + 40 x² log t: two equations."""
    first = d2(u, "x")(x) - 80 * jnp.log(x["t"])
    return jnp.stack([first, x["t"] * partial(u, "t")(x) - 40 * x["x"] ** 2])


def _field(x: Any, t: Any) -> Any:
    return 300 + 40 * x**2 * jnp.log(t)


def test_derivatives(x64: None) -> None:
    def u(p: Any) -> Any:
        return jnp.sin(p[0]) * p[1] ** 3

    def by_name(p: Any) -> Any:
        return u([p["a"], p["b"]])

    @jax.jit
    def found(x: Any) -> Any:
        point = {"a": x[0], "b": x[1]}
        flow = divergence(lambda p: p[0] * grad(u)(p))
        return jnp.array([
            partial(u, 0)(x), d2(u, 1)(x), d2(u, 0, 1)(x), laplacian(u)(x), laplacian(u, [1])(x),
            directional(u, jnp.array([2, -1]))(x), directional(u, lambda p: p)(x), flow(x),
            partial(by_name, "b")(point), laplacian(by_name)(point),
            directional(by_name, {"a": 2, "b": -1})(point), grad(by_name)(point)["a"],
            divergence(lambda p: {"a": p["a"] ** 2, "b": p["a"] * p["b"]})(point),
        ])  # fmt: skip

    a, b = 0.7, -1.3
    s, c = np.sin(a), np.cos(a)
    whole = -s * b**3 + 6 * s * b
    expected = [
        c * b**3, 6 * s * b, 3 * c * b**2, whole, 6 * s * b,
        2 * c * b**3 - 3 * s * b**2, a * c * b**3 + b * 3 * s * b**2, a * whole + c * b**3,
        3 * s * b**2, whole, 2 * c * b**3 - 3 * s * b**2, c * b**3, 3 * a,
    ]  # fmt: skip
    np.testing.assert_allclose(found(jnp.array([a, b])), expected, rtol=1e-12)


def _as_networks_see_it(laws: Laws, location: float, spread: float) -> Callable[[Any], Any]:
    """The standardised field as a function of encoded inputs."""
    frame = laws.laws[0].frame
    i, j = (frame.columns[frame.names.index(name)] for name in ("x", "t"))

    def h(row: Any) -> Any:
        x = 2.0 + 5.5 * (row[i] + 1) / 2
        t = jnp.exp(jnp.log(1e-3) + jnp.log(1e4) * (row[j] + 1) / 2)
        return (_field(x, t) - location) / spread

    return h


@pytest.mark.parametrize("names", [None, ["t", "x"]])
def test_the_chain_rule_in_odd_units(x64: None, names: list[str] | None) -> None:
    """The law is exactly zero for the closed form seen through the encoding."""
    laws = bind(PDE(_law, n_points=40, names=names), Space.of(ODD))
    law = laws.laws[0]
    assert (law.by_name, law.affine, law.equations) == (True, True, 2)
    location, spread = -1234.5, 77.0
    h = _as_networks_see_it(laws, location, spread)
    x, inputs = (jnp.asarray(v) for v in laws.points(0))
    found = jax.jit(jax.vmap(lambda *at: law.of(lambda row: location + spread * h(row), at)))
    np.testing.assert_allclose(found(x, inputs), 0, atol=1e-8)
    scaled = jax.jit(jax.vmap(lambda *at: law.of(lambda row: 2 * spread * h(row), at)))
    assert np.abs(scaled(x, inputs)).min() > 1e-3


def test_points_lie_where_the_law_holds() -> None:
    def right(x: Any) -> bool:
        return bool(x["x"] > 5 and x["t"] < 0.1)

    laws = bind(PDE(_law, n_points=50, where=right), Space.of(ODD))
    x, inputs = laws.points(0)
    assert len(x) == 50
    assert x[:, 0].min() > 5
    assert x[:, 1].max() < 0.1
    assert set(np.unique(inputs[:, 1])) == {0.0, 1.0}  # all categories
    given = [{"x": 3.0, "t": 0.5}, {"x": 7.5, "t": 1e-3}]
    (x, inputs) = bind(PDE(_law, points=given), Space.of(ODD)).points(0)
    np.testing.assert_allclose(x, [[3.0, 0.5], [7.5, 1e-3]])
    np.testing.assert_allclose(inputs[1, 0], 1.0)


def test_points_can_be_new_and_near_the_best() -> None:
    space = Space.of([(0.0, 1.0), (0.0, 1.0)])
    law = lambda u, x: laplacian(u)(x)  # noqa: E731
    best = np.array([0.5, -0.5])
    same, fresh = bind(PDE(law), space), bind(PDE(law, refresh=True), space)
    near = bind(PDE(law, near_best=0.5), space)
    assert same.at(3, best) is same
    assert not np.array_equal(fresh.at(3, None).inputs[0], fresh.at(4, None).inputs[0])
    distance = np.linalg.norm(near.at(3, best).inputs[0] - best, axis=1)
    assert np.mean(distance < 0.5) > 0.5
    assert len(same.inputs[0]) == 256
    assert same is bind(same.laws[0].pde, Space.of([(0.0, 1.0), (0.0, 1.0)]))


BOX = [(0.0, 1.0), (0.0, 1.0)]


@pytest.mark.parametrize(
    ("law", "rule", "got"),
    [
        (lambda u, x: jnp.outer(x, x), "one number, or one for each", r"\(2, 2\)"),
        (lambda u, x: x[0] - 1, "depend on u", "same residual"),
        (lambda u, x: u(x) + jnp.log(-1 - x[0]), "must be finite", "nan"),
        (lambda u, x: np.sin(float(x[0])) * u(x), "work with jax.numpy", "Error"),
        (lambda u, x: x["speed"] * u(x), "work with jax.numpy", "KeyError"),
        (lambda u: u, "work with jax.numpy", "TypeError"),
    ],
)
def test_bad_laws_are_refused(law: Any, rule: str, got: str) -> None:
    with pytest.raises(InvalidInput, match=f"{rule}.*got.*{got}"):
        bind(PDE(law), Space.of(BOX))


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"n_points": 0}, "n_points"),
        ({"weight": -1.0}, "weight"),
        ({"noise": 0.0}, "noise"),
        ({"weight": 1.0, "noise": 1.0}, "not both"),
        ({"points": [[0.5, 0.5]], "n_points": 3}, "not both"),
        ({"points": [[0.5, 1.5]]}, r"lie in the space.*\[0.5, 1.5\]"),
        ({"points": [[0.5]]}, "rows of the coordinates"),
        ({"where": lambda x: False}, "not tiny, got 0 of"),
        ({"where": 3}, "function of x"),
        ({"names": ["x0", "z"]}, r"\['x0', 'x1'\].*got \['x0', 'z'\]"),
        ({"names": "x0"}, "list of names"),
        ({"near_best": 2.0}, "near_best"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        bind(PDE(lambda u, x: partial(u, 0)(x), **options), Space.of(BOX))


def test_what_is_no_law_is_refused() -> None:
    with pytest.raises(InvalidInput, match="function residual"):
        PDE("u_xx = 0")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"neurobo\.PDE"):
        neurobo.suggest(BOX, physics=lambda u, x: u(x))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"neurobo\.PDE or a list"):
        neurobo.suggest(BOX, physics=[])
    with pytest.raises(InvalidInput, match="float parameters"):
        neurobo.suggest({"n": neurobo.Int(0, 9)}, physics=PDE(lambda u, x: u(x)))
    with pytest.raises(InvalidInput, match="a coordinate must be one of"):
        partial(jnp.sum, 3)(jnp.zeros(2))


def test_a_law_without_an_order_of_parameters_needs_names() -> None:
    space = Space.of({"b": (0.0, 1.0), "a": (0.0, 1.0)})
    with pytest.raises(InvalidInput, match="order of the parameters is not known"):
        bind(PDE(lambda u, x: partial(u, 0)(x)), space, ordered=False)
    by_name = bind(PDE(lambda u, x: partial(u, "a")(x)), space, ordered=False)
    named = bind(PDE(lambda u, x: partial(u, 0)(x), names=["a"]), space, ordered=False)
    assert by_name.laws[0].by_name
    assert named.laws[0].frame.names == ("a",)


def test_physics_and_algorithm_must_fit() -> None:
    law = PDE(lambda u, x: laplacian(u)(x))
    with pytest.raises(InvalidInput, match="pinn-bo needs a law"):
        neurobo.suggest(BOX, algorithm="pinn-bo")
    with pytest.raises(InvalidInput, match="pinn-bo needs a law"):
        neurobo.NeuroSampler("pinn-bo")
    for algorithm in ("neural-greedy", "ntk-gp"):
        with pytest.raises(InvalidInput, match='must go with algorithm="auto" or "pinn-bo"'):
            neurobo.suggest(BOX, algorithm=algorithm, physics=law)
    with pytest.raises(InvalidInput, match='must go with algorithm="auto"'):
        neurobo.minimize(sum, BOX, 3, algorithm="sto-bnts", physics=law)
