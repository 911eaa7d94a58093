"""`compiled`: `jax.jit` whose programs are kept between processes.

A suggestion uses about thirty compiled programs, and XLA takes seconds for them. JAX can keep them
in a folder of its own, but that is a setting of the whole process, which belongs to the program
that imports us, and it saves no tracing. Here every function asks for its program by a fingerprint
of all that determines it: first in memory, then on disk, and only then it is traced and compiled.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import itertools
import pickle
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import cache, update_wrapper, wraps
from itertools import takewhile
from typing import Any, NamedTuple, overload

import jax
import numpy as np
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from neurobo.compilation import ahead, disk
from neurobo.compilation.fingerprint import Unstable, fingerprint

MOST = 40
"""Programs in memory, of one to ten megabytes each; the least recently used leave first. A study
uses about 25 at a time, and others for each padded size of its observations: 400 trials of `auto`
in six dimensions ask for 90, and with 32 places only 3 of them are loaded twice."""
SELDOM = 2000
"""A program that was not among so many calls of programs leaves as well, if it is on disk: those of
a size that the observations have outgrown, or of a rare refit. A suggestion makes ten to some
hundred calls; to load a program takes a twentieth of a second."""
_DEVICE = "jax_default_device"
_OWN_CACHE = "jax_compilation_cache_dir"
SMALL = 2**15
"""Numbers in all arguments together up to which a program runs for milliseconds, so that the time
of its compilation counts more. Of programs that are called often, those of up to 64 rows."""
QUICK: dict[str, Any] = {
    "xla_backend_optimization_level": 3,  # XLA's own default, whatever XLA_FLAGS says
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
    "xla_llvm_disable_expensive_passes": True,
}
"""Options of XLA that halve the time of compilation and hardly change that of a run."""
QUICKER = {**QUICK, "xla_backend_optimization_level": 0}
"""A sixth of the time of compilation; runs take up to five times as long."""
_SETTINGS = (
    "jax_enable_x64", _DEVICE, "jax_default_matmul_precision",
    "jax_default_prng_impl", "jax_threefry_partitionable", "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
)  # fmt: skip
"""Of JAX: those that change what a function computes."""
_UNUSUAL = ("jax_disable_jit", "jax_debug_nans", "jax_debug_infs")
"""Settings under which JAX does more than to call a program."""


class _Key(NamedTuple):
    """All that determines a program in this process."""

    function: str
    fixed: tuple[tuple[str, Any], ...]
    structure: Any
    shapes: tuple[Any, ...]
    settings: tuple[Any, ...]


class _Entry:
    """A program, or a place where it is being made: others wait there instead of making it too."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.program: Callable[..., Any] | None = None
        self.used = 0
        """The number of its last call."""
        self.name: str | None = None
        """On disk, if it may be there."""


_entries: OrderedDict[Hashable, _Entry] = OrderedDict()
_calls = itertools.count()
_lock = threading.Lock()


def forget() -> None:
    """Free the memory of all programs; they are read again from disk."""
    with _lock:
        _entries.clear()


class Compiled:
    """A function that runs as JAX has compiled it. Like `jax.jit`, it takes NumPy arrays, too."""

    def __init__(
        self, function: Callable[..., Any], static: tuple[str, ...] = (), *, often: bool = False
    ) -> None:
        update_wrapper(self, function)
        if "<" in function.__qualname__:
            raise TypeError(f"a compiled function needs a name, got {function.__qualname__}")
        self.name = f"{function.__module__}:{function.__qualname__}"
        self._function = function
        self._often = often
        self._jit = jax.jit(function, static_argnames=static)
        places = {name: i for i, name in enumerate(inspect.signature(function).parameters)}
        self._static = {name: places[name] for name in static}
        self._names = list(places)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        moving, fixed = self._split(args, kwargs)
        leaves, structure = jax.tree.flatten(moving)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves) or _unusual():
            return self._jit(*args, **kwargs)  # inside another function, or under inspection
        shapes = tuple(map(_shape, leaves))
        settings = tuple(getattr(jax.config, name) for name in _SETTINGS)
        return self._program(_Key(self.name, fixed, structure, shapes, settings), leaves)(*leaves)

    def _split(self, args: Any, kwargs: Any) -> tuple[Any, tuple[tuple[str, Any], ...]]:
        """Traced arguments, and static ones by name."""
        if not self._static:
            return (args, kwargs), ()
        fixed, held = [], set()
        for name, place in self._static.items():
            if place < len(args):
                fixed.append((name, args[place]))
                held.add(place)
            elif name in kwargs:
                fixed.append((name, kwargs[name]))
        # From the first static place on by name, so that the places of the others do not move.
        first = min(held, default=len(args))
        moved = {self._names[i]: args[i] for i in range(first, len(args)) if i not in held}
        named = {name: value for name, value in kwargs.items() if name not in self._static}
        return (args[:first], moved | named), tuple(fixed)

    def _program(self, key: _Key, leaves: list[Any]) -> Callable[..., Any]:
        with _lock:
            entry = _entries.setdefault(key, _Entry())
            _entries.move_to_end(key)
            entry.used = next(_calls)
            left = _drop_unused(entry.used)
        if entry.program is None:
            with entry.lock:
                if entry.program is None:
                    shapes = tuple(map(jax.typeof, leaves))
                    entry.name = _name_on_disk(key._replace(shapes=shapes))
                    entry.program = self._made(key, entry.name, leaves)
        if left:
            _trim()
        return entry.program

    def _made(self, key: _Key, name: str | None, leaves: list[Any]) -> Callable[..., Any]:
        ahead.check_wanted()
        found = None if name is None else _load(name, len(leaves))
        if found is None:
            found = self._compile(key, leaves)
            if name is not None:
                _store(name, found, leaves)
        return found

    def _compile(self, key: _Key, leaves: list[Any]) -> Callable[..., Any]:
        """For the leaves of the arguments, which is what a program takes."""

        @wraps(self._function)
        def run(*leaves: Any) -> Any:
            args, kwargs = jax.tree.unflatten(key.structure, leaves)
            return self._function(*args, **kwargs, **dict(key.fixed))

        size = sum(map(np.size, leaves))
        if self._often:  # it makes several square matrices
            size = max(size, 8 * max(map(len, filter(np.ndim, leaves))) ** 2)
        options = QUICK if size > SMALL else QUICKER
        return _compiled(jax.jit(run).lower(*leaves), options)


def _compiled(lowered: Any, options: dict[str, Any]) -> Callable[..., Any]:
    """By these options, if this is a processor whose compiler has them."""
    if jax.default_backend() == "cpu":
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            return lowered.compile(compiler_options=options)
    return lowered.compile()


def _shape(leaf: Any) -> Any:
    """As `jax.typeof`, which takes ten times as long for arrays of NumPy."""
    return (leaf.shape, leaf.dtype) if type(leaf) is np.ndarray else jax.typeof(leaf)


def _drop_unused(now: int) -> bool:
    """Whether a program has left; the lock must be held."""
    left = len(_entries) > MOST
    if left:
        _entries.popitem(last=False)
    for key, entry in list(takewhile(lambda e: now - e[1].used > SELDOM, _entries.items())):
        if entry.name is not None and disk.read(entry.name) is None:
            entry.name = None  # it would have to be compiled again
        if entry.name is not None:
            del _entries[key]
            left = True
    return left


@cache
def _allocator() -> Any:
    return ctypes.CDLL(None) if sys.platform == "linux" else None


def _trim() -> None:
    """Give the memory back that a compilation, or a program that has left, leaves free. The
    allocator of Linux would keep it, more than 100 MB after a few hundred trials."""
    if trim := getattr(_allocator(), "malloc_trim", None):
        trim(0)


def _unusual() -> bool:
    return any(getattr(jax.config, name) for name in _UNUSUAL)


def _name_on_disk(key: _Key) -> str | None:
    """None for a program that only this process can use, or if none is kept."""
    if disk.folder() is None or jax.default_backend() != "cpu":
        return None
    try:
        return f"{key.function.rpartition(':')[2].strip('_')}-{fingerprint(*key)[:32]}"
    except Unstable:
        return None


@cache
def _lapack_is_ready() -> None:
    """JAX finds LAPACK when it first lowers one of its routines, and a program that is loaded was
    lowered by another process: without this it would jump to nowhere."""
    jax.jit(jax.lax.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), "float32"))


def _load(name: str, count: int) -> Callable[..., Any] | None:
    payload = disk.read(name)
    if payload is None:
        return None
    try:
        return _unpacked(payload, count)
    except Exception:  # whatever it is that JAX dislikes, it is compiled again
        return None


def _unpacked(payload: bytes, count: int) -> Callable[..., Any]:
    _lapack_is_ready()
    code, result = pickle.loads(payload)
    taken = jax.tree.structure(((0,) * count, {}))
    device: Any = getattr(jax.config, _DEVICE) or jax.local_devices()[0]
    return deserialize_and_load(code, taken, result, backend="cpu", execution_devices=[device])


def _store(name: str, program: Any, leaves: list[Any]) -> None:
    try:
        code, _, result = serialize(program)
        payload = pickle.dumps((code, result))
        if getattr(jax.config, _OWN_CACHE):
            # What JAX itself has read from its own cache is serialised without its functions.
            jax.block_until_ready(_unpacked(payload, len(leaves))(*leaves))
    except Exception:  # there is no list of what JAX cannot serialise
        return
    disk.write(name, payload)


@overload
def compiled(function: Callable[..., Any], /) -> Compiled: ...


@overload
def compiled(
    *, static: str = "", often: bool = False
) -> Callable[[Callable[..., Any]], Compiled]: ...


def compiled(function: Any = None, /, *, static: str = "", often: bool = False) -> Any:
    """Compile a function by JAX, and keep the programs.

    Args:
        function: Any function that `jax.jit` takes, defined in a module of this package.
        static: Names of the arguments that are compared by value instead of traced.
        often: Whether a suggestion calls it a hundred times, so that its speed counts from fewer
            rows on.
    """
    names = tuple(static.split())
    if function is None:
        return lambda given: Compiled(given, names, often=often)
    return Compiled(function, names, often=often)
