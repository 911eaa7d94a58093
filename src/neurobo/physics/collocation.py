"""The points at which laws are asked for."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from neurobo.errors import InvalidInput
from neurobo.physics.law import Law
from neurobo.space.encoders import Matrix
from neurobo.space.search_space import Space
from neurobo.space.sobol import sobol

_NEAR = 0.15
"""Spread of the points around the best observation; the half-width of the box is 1."""
_ATTEMPTS = 64


def collocation_points(
    law: Law, space: Space, size: int, *, seed: int = 0, best: np.ndarray | None = None
) -> Matrix:
    """What networks see of the points of a law."""
    if law.pde.points is not None:
        return _given(law, space)
    pde, found = law.pde, np.zeros((0, len(space.movable)))
    whole = 1 << (size - 1).bit_length()
    for i in range(_ATTEMPTS):
        rng = np.random.default_rng([seed, 17])
        unit = sobol(space.n_parameters, whole, rng, skip=i * whole)
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
    unit = sobol(space.n_parameters, len(x), np.random.default_rng([0, 17]))
    base = space.inputs(space.from_unit(unit))
    with jax.enable_x64(True):
        return np.array(jax.vmap(frame.encode)(jnp.asarray(x), jnp.asarray(base)))
