"""What XLA compiles for the command line is kept in the user's cache folder.

Only here: JAX's cache is one for the whole process, so a library must not set it for its host.
"""

from __future__ import annotations

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


_set_here: set[str] = set()


def environment() -> dict[str, str]:
    """The environment as the user gave it, for objectives: their JAX is none of our business."""
    return {name: value for name, value in os.environ.items() if name not in _set_here}
