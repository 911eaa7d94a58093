"""Trying a law out: what form its points have, whether it is linear, whether it can be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from neurobo.data.content_cache import cached
from neurobo.errors import InvalidInput
from neurobo.physics.law import Frame, Law
from neurobo.physics.pde import PDE

_TRIES = 16


@cached
def checked_law(pde: PDE, frame: Frame, ordered: bool) -> Law:
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
