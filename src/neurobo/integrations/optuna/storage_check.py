"""What is wrong with a storage, or would be with many runners. Nothing is written to it."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from optuna.storages import BaseStorage
from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from neurobo.integrations.optuna.compat import table_names
from neurobo.integrations.optuna.database_urls import engine_options, with_driver
from neurobo.integrations.optuna.other_storages import is_other, journal_of
from neurobo.integrations.optuna.storage import opened
from neurobo.integrations.optuna.storage_errors import explained, file_of, public_url

SLOW = 0.02
"""Seconds of a statement above which a trial, with about twenty of them, takes long to store."""
APART = 60.0
"""Seconds by which a server's clock may differ before it is worth a word."""
FEW = 60
"""Connections of a server below which a fleet may be refused some."""
NETWORK = ("nfs", "cifs", "smb", "fuse.sshfs", "lustre", "gpfs", "beegfs", "ceph", "9p")


class Finding(NamedTuple):
    kind: Literal["ok", "note"]
    text: str


def check_storage(url: str) -> Iterator[Finding]:
    """What there is to say about the storage at a URL; StorageError if it cannot be used."""
    if is_other(url):
        yield from _other(url)
        return
    path = file_of(url)
    if path is not None:
        yield from _file(path, "an SQLite file is for one machine; use PostgreSQL for several")
        if not path.exists():
            opened_folder = path.absolute().parent
            yield Finding("ok", f"it is not there yet; {opened_folder} may be written to")
            return
        opened(url, create=False, read_only=True)  # refuses what is no storage
    with explained(public_url(url)):
        made = with_driver(url)
        options = engine_options(made, read_only=False)
        engine = create_engine(made, **options)
        try:
            yield from _database(engine)
        finally:
            engine.dispose()


def _file(path: Path, advice: str) -> Iterator[Finding]:
    folder = path.absolute().parent
    if not folder.is_dir() or path.is_dir():
        opened(f"sqlite:///{path}")  # raises, and says why
    kind = _file_system(folder)
    if kind.startswith(NETWORK):
        yield Finding("note", f"it lies on {kind}, a network file system: {advice}")
    where = path if path.exists() else folder
    if not os.access(where, os.W_OK):
        yield Finding("note", f"{where} may not be written to: only commands that read will work")


def _file_system(folder: Path) -> str:
    """The kind of file system, as Linux names it, or ""."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return ""
    inside = [(place, kind) for place, kind in mounts if folder.resolve().is_relative_to(place)]
    return max(inside, key=lambda mount: len(mount[0]), default=("", ""))[1]


def _database(engine: Engine) -> Iterator[Finding]:
    with engine.connect() as connection:
        version = ".".join(map(str, (engine.dialect.server_version_info or ())[:2]))
        yield Finding("ok", f"connected to {engine.dialect.name} {version} by {engine.driver}")
        yield _latency(lambda: connection.execute(text("SELECT 1")).scalar())
        yield from _server(connection)
        there = set(inspect(connection).get_table_names()) & table_names()
        if not there:
            yield Finding("ok", "Optuna's tables are not there yet; the first run makes them")
            return
        if there != table_names():
            missing = ", ".join(sorted(table_names() - there))
            yield Finding("note", f"Optuna's tables are not complete, {missing} missing: another "
                          "version made them, or they are being made now")  # fmt: skip
            return
        yield _writable(connection)
        rows = connection.execute(text(
            "SELECT study_name, (SELECT COUNT(*) FROM trials WHERE trials.study_id = "
            "studies.study_id) FROM studies ORDER BY study_name"
        )).all()  # fmt: skip
        yield Finding("ok", _studies([(name, count) for name, count in rows]))


def _server(connection: Connection) -> Iterator[Finding]:
    """Of servers only."""
    ask = {
        "postgresql": ("SELECT EXTRACT(EPOCH FROM now()), current_setting('max_connections')"),
        "mysql": "SELECT UNIX_TIMESTAMP(NOW(6)), @@max_connections",
    }
    name = "mysql" if connection.dialect.name == "mariadb" else connection.dialect.name
    if name not in ask:
        return
    now, most = connection.execute(text(ask[name])).one()
    apart = abs(float(now) - time.time())
    if apart > APART:
        yield Finding("note", f"its clock differs from this one by {apart:.0f} s")
    if int(most) < FEW:
        yield Finding("note", f"it takes {most} connections at once; each runner needs up to two")


def _writable(connection: Connection) -> Finding:
    """A change of nothing, which is taken back."""
    try:
        connection.execute(text("UPDATE studies SET study_name = study_name WHERE study_id = -1"))
    except SQLAlchemyError as error:
        why = str(getattr(error, "orig", error)).strip().splitlines()[0]
        return Finding("note", f"it may not be written to: {why}")
    finally:
        connection.rollback()
    return Finding("ok", "its tables may be written to")


def _other(url: str) -> Iterator[Finding]:
    path = journal_of(url)
    if path is not None and path.name:
        yield from _file(path, "its locks may not work there; use PostgreSQL")
        if not path.exists():
            yield Finding("ok", f"it is not there yet; {path.absolute().parent} may be written to")
            return
    storage = opened(url, create=False)
    kind = url.partition("://")[0]
    with explained(public_url(url)):
        yield Finding("ok", f"connected to {NAMES[kind]}")
        yield _latency(storage.get_all_studies)
        yield Finding("ok", _studies(_counted(storage)))
    yield Finding(
        "note",
        "calls to it are not repeated while it is away, and writes are not bundled; PostgreSQL is "
        "the storage for many runners",
    )


NAMES = {
    "journal": "an Optuna journal", "redis": "an Optuna journal in Redis",
    "rediss": "an Optuna journal in Redis", "grpc": "an Optuna gRPC proxy",
}  # fmt: skip


def _counted(storage: BaseStorage) -> list[tuple[str, int]]:
    names = [study.study_name for study in storage.get_all_studies()]
    return [(name, storage.get_n_trials(storage.get_study_id_from_name(name))) for name in names]


def _latency(call: Callable[[], Any]) -> Finding:
    seconds = []
    for _ in range(10):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    took = statistics.median(seconds)
    said = f"a statement takes {1000 * took:.1f} ms"
    if took > SLOW:
        return Finding("note", f"{said}; a trial needs about twenty of them")
    return Finding("ok", said)


def _studies(rows: list[tuple[str, int]]) -> str:
    shown = [f"{name!r} ({count} trial{'s' * (count != 1)})" for name, count in rows[:10]]
    more = f" and {len(rows) - 10} more" if len(rows) > 10 else ""
    return f"studies: {', '.join(shown) or 'none'}{more}"
