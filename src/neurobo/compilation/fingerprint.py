"""Keys of compiled programs that are the same in every process.

A program is determined by the source of the package, the function, its static arguments, the
structure, shapes and types of the others, the settings of JAX, its version and the processor.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any

import jax
import jaxlib.version
import numpy as np

HOME = Path(__file__).parents[1]
SHELLS = ("bench", "cli", "demos", "page", "studies")
"""Packages without compiled functions: a change there leaves all programs as they are."""


class Unstable(Exception):
    """Something has no name that another process would understand, a user's function say."""


def fingerprint(*parts: Any) -> str:
    """A digest of contents: equal if and only if the parts are.

    Raises:
        Unstable: A part is known to this process alone.
    """
    digest = hashlib.sha256()
    for text in _described((*parts, machine())):
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()


def _described(value: Any) -> Iterator[bytes]:
    """The type and the content of a value, in pieces."""
    kind = type(value)
    yield f"{kind.__module__}.{kind.__qualname__}".encode()
    match value:
        case None | bool() | int() | float() | complex() | str() | bytes() | np.dtype():
            yield repr(value).encode()  # of a float: all its digits
        case np.ndarray() | np.generic():
            if value.dtype.hasobject:
                raise Unstable
            yield repr((value.shape, value.dtype.str)).encode()
            yield np.ascontiguousarray(value).tobytes()
        case Enum():
            yield value.name.encode()
        case type() | FunctionType():
            yield _address(value).encode()
        case partial():
            yield from _described((value.func, value.args, value.keywords))
        case tuple() | list():
            yield str(len(value)).encode()
            for part in value:
                yield from _described(part)
        case dict():
            yield from _described(tuple(value.items()))
        case jax.tree_util.PyTreeDef():
            yield from _described((value.num_leaves, value.node_data(), value.children()))
        case jax.core.ShapedArray():
            yield repr((value.shape, str(value.dtype), value.weak_type)).encode()
        case _ if is_dataclass(value):
            for field in fields(value):
                yield from _described((field.name, getattr(value, field.name)))
        case _:
            raise Unstable


def _address(named: type | Callable[..., Any]) -> str:
    """Where a class or function is defined, if that is in this package or in JAX."""
    if named.__module__ == "builtins":
        return named.__qualname__
    if named.__module__.partition(".")[0] not in ("neurobo", "jax"):
        raise Unstable
    found: Any = sys.modules.get(named.__module__)
    for name in named.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not named:  # made inside a function
        raise Unstable
    return f"{named.__module__}:{named.__qualname__}"


@cache
def machine() -> tuple[str, ...]:
    """Whatever else determines machine code: our source, versions, the processor, XLA's flags."""
    client = jax.devices("cpu")[0].client
    return (
        source(), jax.__version__, jaxlib.version.__version__, client.platform_version, sys.version,
        platform.platform(), processor(), os.environ.get("XLA_FLAGS", ""),
    )  # fmt: skip


@cache
def source() -> str:
    """A hash of every file that a compiled function may use."""
    digest = hashlib.sha256()
    for path in sorted(HOME.rglob("*.py")):
        if path.relative_to(HOME).parts[0] not in SHELLS:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def processor() -> str:
    """The model and its instructions; elsewhere than on Linux, the name of the machine."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return f"{platform.processor()} {platform.node()}"
    wanted = ("model name", "flags", "Features", "CPU part")
    first = text.partition("\n\n")[0]
    return "\n".join(line for line in first.splitlines() if line.startswith(wanted))
