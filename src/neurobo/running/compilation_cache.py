"""What XLA compiles for the command line is kept in the user's cache folder.

Only here: JAX's cache is one for the whole process, so a library must not set it for its host.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from pathlib import Path

OFF = "NEUROBO_CACHE"
"""Set it to "off" to keep nothing."""
_MOST = 256 * 2**20
"""Bytes; JAX removes what was not used for the longest time."""


def folder() -> Path:
    home = Path.home()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or home / ".cache"
    return Path(base) / "neurobo" / "compiled"


def keep_compiled() -> None:
    """Before JAX is imported. What the user has set for JAX stays."""
    if os.environ.get(OFF, "").lower() == "off" or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    try:
        folder().mkdir(parents=True, exist_ok=True)
        _remove_halves()
    except OSError:  # a home that cannot be written to: compile each time
        return
    settings = {
        "JAX_COMPILATION_CACHE_DIR": str(folder()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
        "JAX_COMPILATION_CACHE_MAX_SIZE": str(_MOST),
    }
    ours = settings.keys() - os.environ.keys()
    os.environ.update({name: settings[name] for name in ours})
    _set_here.update(ours)


def _remove_halves() -> None:
    """JAX writes an entry and then the time of its use. If it was killed in between, or ran without
    a limit of size, it could never write to this folder again."""
    for entry in folder().glob("*-cache"):
        if not entry.with_name(entry.name.removesuffix("-cache") + "-atime").exists():
            entry.unlink(missing_ok=True)


LARGE = 600 * 2**20
"""Bytes of a process above which it forgets compiled code."""
SELDOM = 50
"""Trials between two times that it does so: what is in use is loaded again from the disk."""


class ForgetOutgrown:
    """A callback of `neurobo run` that forgets code which was compiled for fewer observations.

    Every padded size of the observations has compiled functions of its own, and a study only
    grows: after 800 trials in six dimensions they took half a gigabyte. Only for a process of our
    own: JAX forgets all compiled code, also that of a host program.
    """

    def __init__(self) -> None:
        self._trials = 0

    def __call__(self, *_: object) -> None:
        self._trials += 1
        jax = sys.modules.get("jax")
        if self._trials < SELDOM or jax is None or resident() < LARGE:
            return
        self._trials = 0
        jax.clear_caches()
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # not glibc
            ctypes.CDLL(None).malloc_trim(0)


def resident() -> int:
    """Bytes of memory that this process takes; 0 where nobody knows."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


_set_here: set[str] = set()


def environment() -> dict[str, str]:
    """The environment as the user gave it, for objectives: their JAX is none of our business."""
    return {name: value for name, value in os.environ.items() if name not in _set_here}
