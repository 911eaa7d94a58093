"""Keys of random numbers that are made from others, compiled once for all processes."""

from __future__ import annotations

import jax
import numpy as np
from jax import Array

from neurobo.compilation import compiled


def fold_in(key: Array, number: int) -> Array:
    """The key with this number: `jax.random.fold_in`."""
    return _fold_in(key, np.uint32(number))


def split(key: Array, count: int = 2) -> tuple[Array, ...]:
    """Independent keys: `jax.random.split`."""
    return _split(key, count)


def key(seed: int) -> Array:
    """The key of a seed: `jax.random.key`."""
    return _key(np.int64(seed))


@compiled
def _key(seed: Array) -> Array:
    return jax.random.key(seed)


@compiled
def _fold_in(key: Array, number: Array) -> Array:
    return jax.random.fold_in(key, number)


@compiled(static="count")
def _split(key: Array, count: int) -> tuple[Array, ...]:
    return tuple(jax.random.split(key, count))
