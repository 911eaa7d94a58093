"""A law in a space: what `residual(u, x)` means for a function of encoded points.

Networks see columns in [-1, 1] and predict standardised values. Here the law is given u(x) =
location + spread · h(encode(x)) as a function of the user's own coordinates, so that derivatives
follow the chain rule through the encoding, logarithmic scales included, whatever the units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from optuna.distributions import FloatDistribution

from neurobo.errors import InvalidInput
from neurobo.physics.pde import PDE, Point
from neurobo.space.encoders import Matrix
from neurobo.space.parameters import Candidate
from neurobo.space.search_space import Space


@dataclass(frozen=True)
class Frame:
    """Where the coordinates of a law are among the networks' inputs."""

    names: tuple[str, ...]
    columns: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    log: tuple[bool, ...]

    def array(self, point: Point) -> Float[Array, " k"]:
        """A user's point as an array."""
        if not isinstance(point, Mapping):
            return jnp.asarray(point)
        if point.keys() != set(self.names):
            raise InvalidInput(
                f"a point of u must give the coordinates {list(self.names)}, got {sorted(point)}"
            )
        return jnp.stack([jnp.asarray(point[name], dtype=float) for name in self.names])

    def encode(self, x: Float[Array, " k"], base: Float[Array, " d"]) -> Float[Array, " d"]:
        """What networks see of the point `x`, with the other columns as in `base`."""
        low, high, log = np.array(self.low), np.array(self.high), np.array(self.log)
        straight = (x - low) / (high - low)
        # Also where a range is not logarithmic both are computed, and must be finite.
        positive = np.where(log, low, 1.0), np.where(log, high, np.e)
        curved = jnp.log(jnp.where(log, x, 1.0) / positive[0]) / np.log(positive[1] / positive[0])
        unit = jnp.where(log, curved, straight)
        return base.at[np.array(self.columns)].set(2 * unit - 1)

    def decode(self, inputs: Matrix) -> Float[np.ndarray, "n k"]:
        """The law's coordinates of what networks see."""
        unit = (inputs[:, self.columns] + 1) / 2
        low, high = np.array(self.low), np.array(self.high)
        with np.errstate(invalid="ignore", divide="ignore"):
            curved = np.exp(np.log(low) * (1 - unit) + np.log(high) * unit)
        return np.where(self.log, curved, low * (1 - unit) + high * unit)


@dataclass(frozen=True)
class Law:
    """A law whose coordinates are known, and that has been tried."""

    pde: PDE
    frame: Frame
    by_name: bool = False
    """Whether its points are dicts."""
    affine: bool = True
    """Whether the residual of a u + b v is that of u and v put together: a linear equation."""
    equations: int = 1
    """How many numbers the residual has."""

    def residual(
        self, u: Callable[[Float[Array, " k"]], Array], x: Float[Array, " k"]
    ) -> Float[Array, " q"]:
        """R(u, x) for a function u of arrays: one number for each equation."""
        point = dict(zip(self.frame.names, x, strict=True)) if self.by_name else x
        found = self.pde.residual(lambda at: u(self.frame.array(at)), point)
        return jnp.asarray(found, dtype=float).reshape(-1)

    def of(
        self, h: Callable[[Float[Array, " d"]], Array], at: tuple[Array, Array]
    ) -> Float[Array, " q"]:
        """R for a function h of what networks see, at a point of the law and its other columns."""
        x, base = at
        return self.residual(lambda z: h(self.frame.encode(z, base)), x)


def frame_of(pde: PDE, space: Space) -> Frame:
    found: dict[str, tuple[int, FloatDistribution]] = {}
    column = 0
    for name, parameter in space.parameters.items():
        d = parameter.distribution
        if isinstance(d, FloatDistribution) and name not in space.conditions.requirements:
            found[name] = (column, d)
        column += parameter.pool.columns if isinstance(parameter, Candidate) else parameter.width
    names = tuple(found) if pde.names is None else tuple(pde.names)
    unknown = [name for name in names if name not in found]
    if unknown or not names or len(set(names)) < len(names):
        raise InvalidInput(
            f"a law must be about some of the space's float parameters without conditions "
            f"{list(found)}, each once, got {list(names)}"
        )
    columns, about = zip(*(found[name] for name in names), strict=True)
    low, high, log = ([getattr(d, key) for d in about] for key in ("low", "high", "log"))
    return Frame(names, columns, tuple(low), tuple(high), tuple(log))
