"""Laws that the objective obeys, in the user's own coordinates and units.

A law is `residual(u, x)`: zero at every point x where it holds, if u is the objective as a function
of one point. It may use any derivatives of u, and what is here helps to write them:

    from neurobo.physics import PDE, d2, laplacian, partial

    heat = PDE(lambda u, x: laplacian(u)(x))
    wave = PDE(lambda u, x: d2(u, "t")(x) - 340**2 * d2(u, "x")(x))
    damped = PDE(lambda u, x: 2.0 * d2(u, 0)(x) + 0.3 * partial(u, 0)(x) + 8.0 * u(x))

Everything here takes a function of one point and returns a function of one point, so that they can
be put together. A point is an array, whose coordinates have numbers, or a dict, whose coordinates
have names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from neurobo.errors import InvalidInput, check_count, check_number

Point = Any
"""An array of numbers, or a dict of them."""
Field = Callable[[Point], Any]
"""A function of one point."""
Axis = int | str
"""A coordinate: its number in an array, or its name in a dict."""
Residual = Callable[[Field, Point], Any]


@dataclass(frozen=True, eq=False)
class PDE:
    """A differential equation, ordinary or partial, that the objective obeys.

    How far the equation is trusted is chosen by marginal likelihood, unless `noise` or `weight` is
    given: the better the observations agree with it, the more it counts.

    Args:
        residual: Function `residual(u, x)`, written with `jax.numpy`, which is zero where the
            equation holds. `u` is the objective as a function of one point. `x` is an array of the
            continuous parameters in the order of their declaration, or a dict of them if the
            residual uses names; `u` accepts either.
        n_points: Number of collocation points. None: 256 to 1024 equations, depending on the number
            of columns, shared by all equations without their own number.
        points: Your own collocation points, instead of points spread over the space.
        names: The parameters that the equation is about: `x` holds these, in this order, and the
            equation is taken to hold for all values of the others. None: all continuous parameters.
        where: Function of x that is true where the equation holds. None: everywhere.
        weight: Weight of one collocation point in comparison with one observation; 0 ignores the
            equation.
        noise: Standard deviation of the residual, in its own units.
        refresh: Whether every suggestion uses new collocation points.
        near_best: Share of the collocation points that lie around the best observation.
    """

    residual: Residual
    n_points: int | None = None
    points: Any = None
    names: Sequence[str] | None = None
    where: Callable[[Point], Any] | None = None
    weight: float | None = None
    noise: float | None = None
    refresh: bool = False
    near_best: float = 0.0

    def __post_init__(self) -> None:
        if not callable(self.residual):
            raise InvalidInput(
                f"a law must be a function residual(u, x), got {type(self.residual).__name__}"
            )
        if self.n_points is not None:
            check_count("n_points", self.n_points)
        if self.weight is not None:
            check_number("weight", self.weight, least=0)
        if self.noise is not None:
            check_number("noise", self.noise, above=0)
        if self.weight is not None and self.noise is not None:
            raise InvalidInput(
                "a law must have a `weight` or a `noise`, not both, got "
                f"weight={self.weight}, noise={self.noise}"
            )
        if self.points is not None and self.n_points is not None:
            raise InvalidInput("a law must have `points` or `n_points`, not both, got both")
        if self.where is not None and not callable(self.where):
            raise InvalidInput(f"`where` must be a function of x, got {self.where!r}")
        check_number("near_best", self.near_best, least=0)
        if self.near_best > 1:
            raise InvalidInput(f"`near_best` must be at most 1, got {self.near_best}")
        if isinstance(self.names, str):
            raise InvalidInput(f"`names` must be a list of names, got {self.names!r}")


# Derivatives ------------------------------------------------------------------------------------


def grad(u: Field) -> Field:
    """∇u, in the form of the point: an array or a dict.

    Args:
        u: A function of one point.

    Returns:
        A function of one point.
    """
    return jax.grad(u)


def partial(u: Field, axis: Axis) -> Field:
    """∂u/∂x_axis.

    Args:
        u: A function of one point.
        axis: Number or name of the coordinate.

    Returns:
        A function of one point.
    """
    return lambda x: _along(u, x, _unit(x, axis))


def d2(u: Field, axis: Axis, other: Axis | None = None) -> Field:
    """∂²u/∂x_axis², or the mixed derivative by two coordinates.

    Args:
        u: A function of one point.
        axis: Number or name of the coordinate.
        other: The second coordinate. None: the same.

    Returns:
        A function of one point.
    """
    return partial(partial(u, axis), axis if other is None else other)


def directional(u: Field, direction: Any) -> Field:
    """v · ∇u.

    Args:
        u: A function of one point.
        direction: v in the form of the point, or a function of the point that returns it.

    Returns:
        A function of one point.
    """

    def found(x: Point) -> Any:
        given = direction(x) if callable(direction) else direction
        like = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=float), given)
        return _along(u, x, like)

    return found


def laplacian(u: Field, axes: Iterable[Axis] | None = None) -> Field:
    """Σ ∂²u/∂x_i².

    Args:
        u: A function of one point.
        axes: The coordinates. None: all.

    Returns:
        A function of one point.
    """

    def found(x: Point) -> Any:
        chosen = _axes(x) if axes is None else tuple(axes)
        return sum(d2(u, axis)(x) for axis in chosen)

    return found


def divergence(flow: Field) -> Field:
    """Σ ∂F_i/∂x_i of a vector field.

    Args:
        flow: A function of one point whose values have the form of the point.

    Returns:
        A function of one point.
    """

    def part(axis: Axis) -> Field:
        return lambda x: flow(x)[axis]

    return lambda x: sum(partial(part(axis), axis)(x) for axis in _axes(x))


def _axes(x: Point) -> tuple[Axis, ...]:
    return tuple(x) if isinstance(x, Mapping) else tuple(range(len(x)))


def _unit(x: Point, axis: Axis) -> Point:
    if axis not in _axes(x):
        raise InvalidInput(f"a coordinate must be one of {list(_axes(x))}, got {axis!r}")
    if isinstance(x, Mapping):
        return {name: jnp.asarray(float(name == axis)) for name in x}
    return jnp.zeros_like(x).at[axis].set(1.0)


def _along(u: Field, x: Point, direction: Point) -> Any:
    return jax.jvp(u, (x,), (direction,))[1]
