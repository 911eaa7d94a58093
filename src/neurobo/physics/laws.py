"""Laws in a space: what `residual(u, x)` means for a function of encoded points, and where it is
asked for.

Networks see columns in [-1, 1] and predict standardised values. Here the law is given u(x) =
location + spread · h(encode(x)) as a function of the user's own coordinates, so that derivatives
follow the chain rule through the encoding, logarithmic scales included, whatever the units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from optuna.distributions import FloatDistribution
from scipy.stats import qmc

from neurobo.data.content_cache import cached
from neurobo.errors import InvalidInput
from neurobo.physics.pde import PDE, Point
from neurobo.space.encoders import Candidate, Matrix
from neurobo.space.search_space import Space

Physics = PDE | Sequence[PDE]
SHARE, FEW = (256, 64, 1024), (128, 16, 384)
"""Rows that laws share which do not say how many points they want, and rows that the evidence looks
at: the least, for each column, and the most."""
LEAST = 8
"""Points that each of them gets at least."""
_NEAR = 0.15
"""Spread of the points around the best observation; the half-width of the box is 1."""


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


@dataclass(frozen=True, eq=False)
class Laws:
    """All laws, and the points where they are asked for."""

    space: Space
    laws: tuple[Law, ...]
    inputs: tuple[Matrix, ...]
    """For each law, what networks see of its points."""
    sign: float
    """-1 if the objective is maximised: the values fitted are its negatives."""

    @property
    def affine(self) -> bool:
        return all(law.affine for law in self.laws)

    @property
    def rows(self) -> int:
        """Equations at points."""
        pairs = zip(self.laws, self.inputs, strict=True)
        return sum(law.equations * len(x) for law, x in pairs)

    @property
    def moving(self) -> bool:
        """Whether some points are others in each suggestion."""
        return any(law.pde.refresh for law in self.laws)

    @cached_property
    def few(self) -> Laws:
        """With less points: enough to judge them by."""
        equations = sum(law.equations for law in self.laws)
        share = max(_rows(FEW, self.space) // equations, 2)
        return replace(self, inputs=tuple(x[:share] for x in self.inputs))

    def points(self, i: int) -> tuple[Float[np.ndarray, "m k"], Float[np.ndarray, "m d"]]:
        """The points of law i in its own coordinates, and the other columns."""
        return self.laws[i].frame.decode(self.inputs[i]), self.inputs[i]

    def at(self, number: int, best: Float[np.ndarray, " d"] | None) -> Laws:
        """With the points for suggestion `number`, where they are not always the same."""
        if not any(law.pde.refresh or law.pde.near_best for law in self.laws):
            return self
        inputs = tuple(
            _points(
                law, self.space, len(x),
                seed=number if law.pde.refresh else 0,
                best=best if law.pde.near_best else None,
            )
            for law, x in zip(self.laws, self.inputs, strict=True)
        )  # fmt: skip
        return replace(self, inputs=inputs)


def bind(physics: Physics, space: Space, *, sign: float = 1.0, ordered: bool = True) -> Laws:
    """Laws for a space, after all checks. The same for the same arguments: what is computed for
    them can be kept. `ordered` says whether the order of the parameters is the user's."""
    laws = (physics,) if isinstance(physics, PDE) else physics
    if not isinstance(laws, list | tuple) or not laws:
        raise InvalidInput(
            f"physics must be a neurobo.PDE or a list of them, got {type(physics).__name__}"
        )
    for law in laws:
        if not isinstance(law, PDE):
            raise InvalidInput(f"a law must be a neurobo.PDE, got {type(law).__name__}")
    return _bind(tuple(laws), _Same(space), sign, ordered)


class _Same:
    """A space that equals another one if all is the same that matters here."""

    def __init__(self, space: Space) -> None:
        pools = tuple((name, id(pool)) for name, pool in space.pools.items())
        self.space, self.about = space, (tuple(space.distributions.items()), pools)

    def __hash__(self) -> int:
        return hash(self.about)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.about == other.about


@cached
def _bind(laws: tuple[PDE, ...], same: _Same, sign: float, ordered: bool) -> Laws:
    space = same.space
    checked = tuple(_checked(pde, _frame(pde, space), ordered) for pde in laws)
    without = sum(
        law.equations for law in checked if law.pde.n_points is None and law.pde.points is None
    )
    inputs = []
    for law in checked:
        size = law.pde.n_points or max(_rows(SHARE, space) // max(without, 1), LEAST)
        inputs.append(_points(law, space, size))
    return Laws(space, checked, tuple(inputs), sign)


def _rows(limits: tuple[int, int, int], space: Space) -> int:
    least, each, most = limits
    return int(np.clip(each * len(space.movable), least, most))


def _frame(pde: PDE, space: Space) -> Frame:
    found: dict[str, tuple[int, FloatDistribution]] = {}
    column = 0
    for name, parameter in space.parameters.items():
        d = parameter.distribution
        if isinstance(d, FloatDistribution):
            found[name] = (column, d)
        column += parameter.pool.columns if isinstance(parameter, Candidate) else parameter.width
    names = tuple(found) if pde.names is None else tuple(pde.names)
    unknown = [name for name in names if name not in found]
    if unknown or not names or len(set(names)) < len(names):
        raise InvalidInput(
            f"a law must be about some of the space's float parameters {list(found)}, each once, "
            f"got {list(names)}"
        )
    columns, about = zip(*(found[name] for name in names), strict=True)
    low, high, log = ([getattr(d, key) for d in about] for key in ("low", "high", "log"))
    return Frame(names, columns, tuple(low), tuple(high), tuple(log))


# Points -----------------------------------------------------------------------------------------


def _points(
    law: Law, space: Space, size: int, *, seed: int = 0, best: np.ndarray | None = None
) -> Matrix:
    """What networks see of the points of a law."""
    if law.pde.points is not None:
        return _given(law, space)
    pde, found = law.pde, np.zeros((0, len(space.movable)))
    sobol = qmc.Sobol(space.n_parameters, rng=np.random.default_rng([seed, 17]))
    for _ in range(_ATTEMPTS):
        unit = sobol.random(1 << (size - 1).bit_length())
        found = np.concatenate([found, _inside(law, space.inputs(space.from_unit(unit)))])
        if len(found) >= size:
            break
    else:
        raise InvalidInput(
            f"`where` must be true in a part of the space that is not tiny, got {len(found)} of "
            f"{_ATTEMPTS * len(unit)} points inside"
        )
    found = found[:size]
    near = 0 if best is None else round(pde.near_best * size)
    if near:
        rng, columns = np.random.default_rng([seed, 18]), list(law.frame.columns)
        moved = found[:near].copy()
        around = best[columns] + _NEAR * rng.normal(size=(near, len(columns)))  # type: ignore[index]
        moved[:, columns] = np.clip(around, -1, 1)
        inside = _inside(law, moved)
        found[: len(inside)] = inside
    return found


_ATTEMPTS = 64


def _inside(law: Law, inputs: Matrix) -> Matrix:
    if law.pde.where is None:
        return inputs
    names = law.frame.names
    kept = [
        bool(law.pde.where(dict(zip(names, x, strict=True)) if law.by_name else x))
        for x in law.frame.decode(inputs)
    ]
    return inputs[np.array(kept, dtype=bool)]


def _given(law: Law, space: Space) -> Matrix:
    """The user's own points, with the other parameters spread evenly."""
    frame, points = law.frame, law.pde.points
    try:
        if len(points) and isinstance(points[0], Mapping):
            points = [[point[name] for name in frame.names] for point in points]
        x = np.asarray(points, dtype=float)
        x = x[:, None] if x.ndim == 1 and len(frame.names) == 1 else x
    except (TypeError, ValueError, KeyError):
        x = np.zeros(0)
    if x.ndim != 2 or x.shape[1] != len(frame.names) or not len(x):
        raise InvalidInput(
            f"`points` must be rows of the coordinates {list(frame.names)}, got {law.pde.points!r}"
        )
    outside = np.any(~((x >= frame.low) & (x <= frame.high)), axis=1)
    if outside.any():
        raise InvalidInput(
            f"`points` must lie in the space, from {list(frame.low)} to {list(frame.high)}, got "
            f"{x[outside][0].tolist()}"
        )
    sobol = qmc.Sobol(space.n_parameters, rng=np.random.default_rng([0, 17]))
    base = space.inputs(space.from_unit(sobol.random(1 << (len(x) - 1).bit_length())))[: len(x)]
    with jax.enable_x64(True):
        return np.array(jax.vmap(frame.encode)(jnp.asarray(x), jnp.asarray(base)))


# Trying a law out -------------------------------------------------------------------------------

_TRIES = 16


@cached
def _checked(pde: PDE, frame: Frame, ordered: bool) -> Law:
    """The law, tried on a few smooth functions at a few points."""
    k = len(frame.names)
    rng = np.random.default_rng(0)
    base = np.zeros((_TRIES, max(frame.columns) + 1))
    base[:, frame.columns] = rng.uniform(-0.95, 0.95, (_TRIES, k))
    law = Law(pde, frame)
    waves, phases = rng.normal(size=(2, k)), rng.uniform(0, 6, 2)
    shares = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=float)

    def some(share: Array) -> Callable[[Array], Array]:
        return lambda row: share @ jnp.sin(waves @ row[np.array(frame.columns)] + phases)

    with jax.enable_x64(True):
        at = jnp.asarray(frame.decode(base)), jnp.asarray(base)
        law = _formed(law, at, ordered, some(jnp.asarray(shares[3])))

        def tried(at: tuple[Array, Array]) -> Array:
            return jax.vmap(lambda share: law.of(some(share), at))(jnp.asarray(shares))

        found = np.asarray(jax.jit(jax.vmap(tried))(at))  # points, functions, equations
    found = found.transpose(0, 2, 1).reshape(-1, len(shares))
    good = np.isfinite(found).all(axis=1)
    if good.mean() < 0.5:
        raise InvalidInput(
            f"a law must be finite for smooth functions at most points of the space, got "
            f"{found[~good][0, 1:].tolist()}"
        )
    r0, r1, r2, r12 = found[good].T
    size = np.abs(found[good]).max()
    if not np.abs(np.stack([r1, r2]) - r0).max() > 1e-12 * size:
        raise InvalidInput(
            "a law must depend on u, got the same residual for different functions: "
            f"{r0[:3].tolist()} at the first points"
        )
    scale = np.abs(np.stack([r0, r1, r2, r12])).max(axis=0)
    affine = bool(np.all(np.abs(r12 - r1 - r2 + r0) <= 1e-8 * scale + 1e-300))
    return replace(law, affine=affine)


def _formed(law: Law, at: tuple[Array, Array], ordered: bool, h: Any) -> Law:
    """With the form of its points and the number of its equations; refuses a law that cannot be
    used at all."""
    troubles = []
    for by_name in (False, True):
        if not by_name and not ordered and law.pde.names is None and len(law.frame.names) > 1:
            troubles.append("the order of the parameters is not known")
            continue
        try:
            shape = _shape(replace(law, by_name=by_name), at, h)
        except Exception as trouble:  # it is the user's code: anything may happen
            troubles.append(f"{type(trouble).__name__}: {trouble}".split("\n")[0][:200])
            continue
        if len(shape) > 1 or shape == (0,):
            raise InvalidInput(
                "residual(u, x) must be one number, or one for each of several equations, got the "
                f"shape {shape}"
            )
        return replace(law, by_name=by_name, equations=int(np.prod(shape)))
    names = list(law.frame.names)
    hint = "" if ordered else "; give the sampler a search_space, or the law `names`"
    raise InvalidInput(
        f"residual(u, x) must work with jax.numpy for an array x of {names}, or a dict of them, "
        f"got {troubles[0]} (array), {troubles[1]} (dict){hint}"
    )


def _shape(law: Law, at: tuple[Array, Array], h: Any) -> tuple[int, ...]:
    frame = law.frame

    def raw(x: Array, base: Array) -> Any:
        point = dict(zip(frame.names, x, strict=True)) if law.by_name else x
        u = lambda p: h(frame.encode(frame.array(p), base))  # noqa: E731
        return jnp.asarray(law.pde.residual(u, point))

    return tuple(jax.eval_shape(raw, at[0][0], at[1][0]).shape)
