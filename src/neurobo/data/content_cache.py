"""One cache for results that depend on their arguments alone.

Arguments are compared by content: arrays by shape, type and a digest of their bytes, pytrees leaf
by leaf, everything else by its own equality. A suggestion is therefore the same with and without
the cache. All results together take at most `LIMIT` bytes; the least recently used leave first, and
so do those that were not looked up for a long time.

Several threads may use the cache at once. Results are computed outside the lock, so that two
threads may compute the same one; both are right.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from hashlib import blake2b
from typing import Any, NamedTuple, ParamSpec, TypeVar
from weakref import ref

import jax
import jax.numpy as jnp
import numpy as np

from neurobo.compilation.programs import forget

P = ParamSpec("P")
T = TypeVar("T")

LIMIT = 512 * 2**20
"""Bytes. The largest user is a PDE of 20 parameters: the gradients of all networks that one fit of
its hyper-parameters compares take 370 MB, and a limit below that would recompute them all."""
SELDOM = 2000
"""Look-ups after which a result leaves that none of them was for: those of earlier refits, say. A
suggestion of `auto` makes about twelve."""
OVERHEAD = 512
"""Bytes of an entry besides its arrays."""
MISSING: Any = object()
"""What `get` returns for a key that is not there: a result may be None."""


class _Kept(NamedTuple):
    result: Any
    nbytes: int
    used: int
    """The number of the last look-up that found it."""


class Cache:
    """Results by key, the least recently used first."""

    def __init__(self, limit: int = LIMIT, seldom: int = SELDOM) -> None:
        self.limit = limit
        self.seldom = seldom
        self.nbytes = 0
        self._lookups = 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Any:
        """The result, or `MISSING`."""
        with self._lock:
            self._lookups += 1
            kept = self._entries.get(key)
            if kept is None:
                return MISSING
            self._entries[key] = kept._replace(used=self._lookups)
            self._entries.move_to_end(key)
            return kept.result

    def put(self, key: Hashable, result: Any) -> None:
        """Keep a result in place of an earlier one, and make its NumPy arrays read-only."""
        size = OVERHEAD
        for leaf in jax.tree.leaves(result):
            size += getattr(leaf, "nbytes", 0)
            if isinstance(leaf, np.ndarray):
                leaf.setflags(write=False)
        with self._lock:
            self._drop(key)
            self._entries[key] = _Kept(result, size, self._lookups)
            self.nbytes += size
            while self._entries and self._has_to_leave(first := next(iter(self._entries))):
                self._drop(first)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self.nbytes = 0

    def _has_to_leave(self, key: Hashable) -> bool:
        unused = self._lookups - self._entries[key].used
        return self.nbytes > self.limit or unused >= self.seldom

    def _drop(self, key: Hashable) -> None:
        if key in self._entries:
            self.nbytes -= self._entries.pop(key).nbytes


CACHE = Cache()
"""That of the whole process."""


def cached(function: Callable[P, T]) -> Callable[P, T]:
    """Keep the results of a function whose result depends on its arguments alone.

    Callers share a result, so none may change it. A result that is no pytree states the memory it
    takes as `nbytes`.
    """

    @wraps(function)
    def found(*args: P.args, **kwargs: P.kwargs) -> T:
        key = content(function, args, kwargs)
        result = CACHE.get(key)
        if result is MISSING:
            result = function(*args, **kwargs)
            CACHE.put(key, result)
        return result

    return found


def content(*values: Any) -> Hashable:
    """A key that is equal for pytrees of equal content."""
    leaves, structure = jax.tree.flatten(values)
    return structure, tuple(_content(leaf) for leaf in leaves)


def _content(leaf: Any) -> Hashable:
    if isinstance(leaf, jax.Array):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return str(leaf.dtype), _content(jax.random.key_data(leaf))
        leaf = np.asarray(leaf)
    if isinstance(leaf, np.ndarray):
        data = np.ascontiguousarray(leaf)
        return leaf.shape, leaf.dtype.str, blake2b(data.data, digest_size=16).digest()
    if getattr(type(leaf), "__eq__", None) is object.__eq__:
        return ref(leaf)  # equal to itself only: once it is gone, nobody asks for it
    return leaf


def clear_caches() -> None:
    """Free the memory of results that are kept between suggestions.

    Hyper-parameters, kernels, factorisations and the gradients of differential equations are kept,
    up to 512 MB in a process, because consecutive suggestions share them. Without them the next
    suggestion of each study takes longer and is the same. Compiled programs leave the memory, too,
    and are read again from the user's cache folder.

    Returns:
        None.
    """
    CACHE.clear()
    forget()
