"""Optuna's storages that are no databases, by URLs: journals and the gRPC proxy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from optuna.storages import BaseStorage

from neurobo.errors import InvalidInput, NeuroboError, require

JOURNAL = "journal:///"
FORMS = {
    "journal": "journal:///study.log",
    "redis": "redis://host:6379/0",
    "rediss": "rediss://host:6379/0",
    "grpc": "grpc://host:13000",
}
"""Schemes, and how a URL of each looks."""


def is_other(url: str) -> bool:
    return url.partition("://")[0] in FORMS


def journal_of(url: str) -> Path | None:
    """The file of a journal's URL; three slashes and a relative path, as with SQLite."""
    return Path(url.removeprefix(JOURNAL)) if url.startswith(JOURNAL) else None


def other_storage(url: str) -> BaseStorage:
    """The storage at a URL that `is_other`; raises what its package raises if it cannot be used."""
    kind = url.partition("://")[0]
    if kind == "journal":
        return _journal(url)
    return _redis(url) if kind in ("redis", "rediss") else _grpc(url)


def _journal(url: str) -> BaseStorage:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path = journal_of(url)
    if path is None or not path.name:
        raise InvalidInput(f"a journal must be a URL such as {FORMS['journal']}, got {url!r}")
    check_journal(path)
    return JournalStorage(JournalFileBackend(str(path)))


def check_journal(path: Path) -> None:
    """Refuse a file that is no journal, or whose last line is torn: Optuna cannot read those."""
    if path.is_dir():
        raise NeuroboError(f"the storage must be a file, got the folder {path}")
    if not path.parent.is_dir():
        raise NeuroboError(f"the storage must be in a folder, got {path.parent}, which is none")
    if not path.exists():
        return
    with path.open("rb") as file:
        first = file.readline()
        file.seek(0, 2)
        size = file.tell()
        file.seek(max(size - 1, 0))
        torn = size > 0 and file.read() != b"\n"
    if first and not _is_entry(first):
        raise NeuroboError(
            f"the storage must be an Optuna journal, got {path}, which is something else; it was "
            "left as it is"
        )
    if torn:
        raise NeuroboError(
            f"the last line of the journal {path} must be whole, got half of one: a process was "
            "killed while it wrote, or writes now; remove the half line if it stays"
        )


def _is_entry(line: bytes) -> bool:
    try:
        found = json.loads(line)
    except ValueError:
        return False
    return isinstance(found, dict) and "op_code" in found


def _redis(url: str) -> BaseStorage:
    require("redis", extra="redis")
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalRedisBackend

    return JournalStorage(JournalRedisBackend(url))


def _grpc(url: str) -> BaseStorage:
    require("grpc", extra="grpc")
    require("google.protobuf", extra="grpc")
    from optuna.storages import GrpcStorageProxy

    parts = urlsplit(url)
    if parts.hostname is None or parts.port is None or parts.path not in ("", "/"):
        raise InvalidInput(f"a gRPC proxy must be a URL such as {FORMS['grpc']}, got {url!r}")
    proxy = GrpcStorageProxy(host=parts.hostname, port=parts.port)
    proxy.wait_server_ready(timeout=WAIT)
    return proxy


WAIT = 10
"""Seconds in which a gRPC proxy must answer."""


def failures() -> tuple[type[BaseException], ...]:
    """What the packages of these storages raise if a server is away, as far as they are loaded."""
    names = {"redis.exceptions": "RedisError", "grpc": "RpcError"}
    loaded = {name: sys.modules.get(module) for module, name in names.items()}
    found: list[Any] = [getattr(module, name) for name, module in loaded.items() if module]
    return (*found, ConnectionError, TimeoutError)
