"""Optuna's storages, with one clear message when a storage cannot be used."""

from __future__ import annotations

import logging
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from alembic.util import CommandError
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study
from sqlalchemy import URL, create_engine, event, inspect
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from neurobo.errors import InvalidInput, NeuroboError
from neurobo.integrations.optuna.compat import LOGGERS, table_names
from neurobo.integrations.optuna.database_urls import engine_options, with_driver
from neurobo.integrations.optuna.other_storages import (
    failures,
    is_other,
    journal_of,
    other_storage,
)
from neurobo.integrations.optuna.outage import MINUTES, Outage, is_away
from neurobo.integrations.optuna.shared_storage import READS, SharedStorage
from neurobo.integrations.optuna.storage_errors import (
    StorageError,
    explained,
    file_of,
    first_line,
    public_url,
    unusable,
)
from neurobo.integrations.optuna.tables import DIALECTS

ATTEMPTS = 7
"""How often a storage is opened before it counts as one that cannot be: 13 seconds."""
IDLE = 60
"""Seconds after which PostgreSQL ends an idle transaction; ours take less than
one."""


def opened(
    url: str, *, create: bool = True, read_only: bool = False, minutes: float = MINUTES
) -> BaseStorage:
    """The storage at a URL; StorageError says why it cannot be used. Without `create` it must be
    there already; `read_only` needs no right to write. Calls are repeated for `minutes` while a
    storage that was opened is away (SQLite and PostgreSQL)."""
    shown = public_url(url)
    if is_other(url):
        return _other(url, shown, create=create)
    try:
        with explained(shown):
            file = file_of(url)
            _check_file(file, create=create)
            storage = _storage(with_driver(url), read_only=read_only)
    except (ImportError, OSError) as error:
        raise unusable(shown, error) from error
    except RuntimeError as error:  # Optuna's check of the schema's version
        if "schema version" not in str(error) and "optuna" not in str(error).lower():
            raise
        raise StorageError(f"the storage {shown} cannot be used: {first_line(error)}") from error
    if storage.engine.dialect.name not in DIALECTS:
        return storage
    return SharedStorage(storage, Outage(minutes))


def _other(url: str, shown: str, *, create: bool) -> BaseStorage:
    """A journal or a gRPC proxy."""
    path = journal_of(url)
    if path is not None and not create and not path.exists():
        raise _not_begun(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            return other_storage(url)
    except failures() as error:
        raise unusable(shown, error) from error
    except NeuroboError as error:
        raise error if isinstance(error, InvalidInput) else StorageError(str(error)) from error


def _not_begun(path: Path) -> StorageError:
    return StorageError(
        f"a study that has begun was expected, got none: {path} does not exist; `neurobo run` or "
        "`neurobo ask` makes it"
    )


def _storage(url: str, *, read_only: bool) -> RDBStorage:
    """Several processes may make the tables at the same moment: only one succeeds."""
    options = engine_options(url, read_only=read_only)
    file = file_of(url)
    if read_only and file is not None:
        url = URL.create("sqlite", database=f"file:{quote(str(file.absolute()))}",
                         query={"mode": "ro", "uri": "true"}).render_as_string()  # fmt: skip
    for attempt in range(ATTEMPTS):
        try:
            # Optuna fills names in braces; those of a folder stay.
            plain = url.replace("{", "{{").replace("}", "}}")
            storage = RDBStorage(plain, engine_kwargs=options, skip_table_creation=read_only)
            break
        except ArgumentError:  # no such kind of storage
            raise
        # Optuna has many ways to be surprised by half-made tables; a server may be restarting.
        except (
            SQLAlchemyError, StorageInternalError, CommandError, RuntimeError, AssertionError,
        ) as error:  # fmt: skip
            if attempt >= ATTEMPTS - 1 or not (is_away(error) or attempt < 4) or read_only:
                raise
            time.sleep(0.2 * 2**attempt)
    if file is not None and not read_only:
        _take_turns(storage)
    if url.startswith("postgresql"):
        _end_idle_transactions(storage)
    return storage


def _end_idle_transactions(storage: RDBStorage) -> None:
    """Let the server end a transaction whose client cannot be reached any more: it holds locks that
    all others wait for, and a server notices a broken network only after hours."""

    @event.listens_for(storage.engine, "connect")
    def _limit(connection: Any, _: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET idle_in_transaction_session_timeout = '{IDLE}s'")
        connection.commit()

    storage.engine.dispose()  # connections made before this


def _take_turns(storage: RDBStorage) -> None:
    """Let every transaction on an SQLite file that may write begin with the right to do so.

    Otherwise two processes can read the same state and both act on it, or find that neither may
    write: that is where "database is locked" comes from. Now they wait for each other.
    """

    @event.listens_for(storage.engine, "connect")
    def _by_hand(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(storage.engine, "begin")
    def _begin(connection: Any) -> None:
        reads = connection.get_execution_options().get(READS)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    storage.engine.dispose()  # connections made before this


def _check_file(path: Path | None, *, create: bool) -> None:
    """Refuse an SQLite file that is none, or that belongs to another program, before Optuna would
    write its tables into it."""
    if path is None:
        return
    if not path.exists():
        if not create:
            raise _not_begun(path)
        if not path.parent.is_dir():
            raise StorageError(f"the storage must be in a folder, got {path.parent}, which is none")
        return
    if path.is_dir():
        raise StorageError(f"the storage must be a file, got the folder {path}")
    with path.open("rb") as file:
        start = file.read(16)
    if start and start != b"SQLite format 3\0":
        raise StorageError(
            f"the storage must be an SQLite file, got {path}, which is something else; it was "
            "left as it is"
        )
    engine = create_engine(URL.create("sqlite", database=str(path)))
    try:
        tables = inspect(engine).get_table_names()
    finally:
        engine.dispose()
    # Optuna's own may be incomplete: another process is making them right now.
    foreign = set(tables) - table_names() - {"alembic_version"}
    if foreign and not {"studies", "trials", "version_info"} <= set(tables):
        raise StorageError(
            f"the storage must be Optuna's, got {path}, which has the tables of another program "
            f"({', '.join(sorted(tables)[:5])}); it was left as it is"
        )


def check_same(study: Study, distributions: Mapping[str, BaseDistribution], direction: str) -> None:
    """Refuse to change what a study cannot change once it has begun."""
    before = [d.name.lower() for d in study.directions]
    if before != [direction]:
        raise InvalidInput(
            f"the direction of a study must stay the same: {study.study_name!r} has "
            f"{' and '.join(before)}, got {direction!r}; give the new study another name"
        )
    for name, now in distributions.items():
        for trial in study.get_trials(deepcopy=False)[-1:]:
            had = trial.distributions.get(name, now)
            if had != now and CategoricalDistribution in (type(had), type(now)):
                raise InvalidInput(
                    f"the choices of a parameter must stay the same in a study: {name!r} had "
                    f"{had}, got {now}; give the new study another name"
                )


@contextmanager
def silent() -> Iterator[None]:
    """Without Optuna's log lines about a study that is created or found, in this thread only.

    A filter changes neither Optuna's verbosity nor what other threads log meanwhile.
    """
    here = threading.get_ident()

    def keep(record: logging.LogRecord) -> bool:
        return record.thread != here or record.levelno > logging.INFO

    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(keep)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(keep)
