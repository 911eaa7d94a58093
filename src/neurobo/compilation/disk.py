"""Compiled programs in a folder of the user.

An entry holds machine code and a pickle, so it is read only from a folder, and from files, that
belong to the user and that no other user can write. Whatever is wrong with the folder or an entry,
the program is compiled again: a cache is never a reason to fail, or to say a word.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import stat
import sys
import tempfile
from pathlib import Path

VARIABLE = "NEUROBO_CACHE"
"""Of the environment: "off", or another folder."""
SIZE = "NEUROBO_CACHE_MB"
"""Of the environment: the most megabytes of a folder, 256 if not given. Entries that were not used
for the longest time leave first."""
_MAGIC = b"neurobo program 1\n"
_SEALED = len(_MAGIC) + hashlib.sha256().digest_size
_SELDOM = 32
"""Writes between two looks at the size of the folder."""
_HOW = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_writes = itertools.count()


def folder() -> Path | None:
    """Where programs are kept, if they are."""
    given = os.environ.get(VARIABLE, "")
    if given.lower() == "off":
        return None
    try:
        return Path(given) if given else _user_folder() / "neurobo" / "programs"
    except RuntimeError:  # nobody knows the user's home
        return None


def _user_folder() -> Path:
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")


def read(name: str) -> bytes | None:
    """What was written under this name, if it is whole and ours."""
    try:
        place = _private(folder())
        if place is None:
            return None
        path = place / name
        file = os.open(path, _HOW)
        with open(file, "rb") as entry:
            if not _ours(os.fstat(entry.fileno())):
                return None
            content = entry.read()
    except OSError:
        return None
    seal, payload = content[:_SEALED], content[_SEALED:]
    if seal != _MAGIC + hashlib.sha256(payload).digest():
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # it is in use
    return payload


def write(name: str, payload: bytes) -> None:
    """Keep it, whole or not at all."""
    temporary = None
    try:
        place = _private(folder(), make=True)
        if place is None:
            return
        file, temporary = tempfile.mkstemp(dir=place, prefix=".")  # readable by the user alone
        with open(file, "wb") as entry:
            entry.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
        os.replace(temporary, place / name)
        if next(_writes) % _SELDOM == 0:
            remove_unused(place)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _limit() -> float:
    """Bytes of a folder."""
    try:
        return float(os.environ.get(SIZE, "")) * 2**20
    except ValueError:
        return 256 * 2**20


def remove_unused(place: Path, limit: float | None = None) -> None:
    """Remove what was not used for the longest time, until the rest is within the limit."""
    limit = _limit() if limit is None else limit
    entries = []
    for path in place.iterdir():
        with contextlib.suppress(OSError):  # another process has removed it
            entries.append((path.stat().st_mtime, path.stat().st_size, path))
    size = sum(entry[1] for entry in entries)
    for _, bytes_, path in sorted(entries):
        if not size > limit:  # also if it is no number
            return
        with contextlib.suppress(OSError):
            path.unlink()
        size -= bytes_


def _private(place: Path | None, *, make: bool = False) -> Path | None:
    """The folder, if it is the user's and no other user can write there."""
    if place is None:
        return None
    if make:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = place.lstat()
    return place if stat.S_ISDIR(about.st_mode) and _ours(about) else None


def _ours(about: os.stat_result) -> bool:
    """Windows: a user's folders are closed to others."""
    if not hasattr(os, "getuid"):
        return True
    return about.st_uid == os.getuid() and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
