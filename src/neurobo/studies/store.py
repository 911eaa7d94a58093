"""The study in its storage, which is Optuna's; and one clear message when it cannot be used."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from alembic.util import CommandError
from optuna.distributions import CategoricalDistribution
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import RDBStorage
from optuna.storages._rdb.models import BaseModel
from optuna.study import Study, StudyDirection
from sqlalchemy import URL, create_engine, event, inspect, make_url
from sqlalchemy.exc import SQLAlchemyError

from neurobo.errors import InvalidInput, NeuroboError
from neurobo.sampler import NeuroSampler
from neurobo.studies.law_file import law
from neurobo.studies.study_file import StudyFile

PATIENCE = 60
"""Seconds that a writer waits for others to be done with an SQLite file."""


class StorageError(NeuroboError):
    """The storage of a study cannot be used."""


def open_study(file: StudyFile, *, create: bool = True) -> Study:
    """The study of a study file; it is made if it is not there yet and `create` says so."""
    try:
        with explained(file):
            _check_file(file.database, create=create)
            storage = _storage(_url(file))
            study = _study(file, storage, create=create)
            _check_same(file, study)
    except (ImportError, OSError) as error:
        raise _unusable(file, _cause(error)) from error
    return study


def _url(file: StudyFile) -> str:
    """With whatever odd characters a folder's name has."""
    if file.database is None:
        # The driver that the extra `postgres` brings, unless another one is named.
        return re.sub("^postgres(ql)?://", "postgresql+psycopg://", file.storage)
    url = URL.create("sqlite", database=str(file.database))
    return url.render_as_string(hide_password=False)


def _storage(url: str) -> RDBStorage:
    """Several processes may make the tables at the same moment: only one succeeds."""
    arguments = {"connect_args": {"timeout": PATIENCE}} if url.startswith("sqlite") else {}
    for attempt in range(5):
        try:
            # Optuna fills names in braces; those of a folder stay.
            plain = url.replace("{", "{{").replace("}", "}}")
            storage = RDBStorage(plain, engine_kwargs=dict(arguments))
            break
        except (SQLAlchemyError, CommandError, RuntimeError, AssertionError):
            if attempt == 4:  # Optuna has many ways to be surprised by half-made tables
                raise
            time.sleep(0.2 * 2**attempt)
    if url.startswith("sqlite"):
        _take_turns(storage)
    return storage


def _take_turns(storage: RDBStorage) -> None:
    """Let every transaction on an SQLite file begin with the right to write.

    Otherwise two processes can read the same state and both act on it, or find that neither may
    write: that is where "database is locked" comes from. Now they wait for each other.
    """

    @event.listens_for(storage.engine, "connect")
    def _by_hand(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(storage.engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    storage.engine.dispose()  # connections made before this


def _study(file: StudyFile, storage: RDBStorage, *, create: bool) -> Study:
    table = file.table
    if not create and table.name not in optuna.get_all_study_names(storage):
        raise StorageError(
            f"a study that has begun was expected, got none called {table.name!r} in "
            f"{public_url(file)}"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        return optuna.create_study(
            storage=storage,
            study_name=table.name,
            direction=table.direction,
            # A law is the user's code: it is not even imported until there is a use for it.
            sampler=None if table.physics is not None else sampler(file),
            load_if_exists=True,
        )


def sampler(file: StudyFile) -> NeuroSampler:
    """What makes the study's suggestions, with the law that it names."""
    table = file.table
    return NeuroSampler(
        file.algorithm,
        seed=table.seed,
        n_startup_trials=file.n_start,
        search_space=file.space,
        learn_failures=table.learn_failures,
        physics=None if table.physics is None else law(file),
    )


def suggesting(file: StudyFile, study: Study) -> None:
    """Make a study able to suggest."""
    if file.table.physics is not None:
        study.sampler = sampler(file)


def _check_same(file: StudyFile, study: Study) -> None:
    """What a study cannot change once it has begun."""
    wanted = file.table.direction
    if (study.direction == StudyDirection.MAXIMIZE) != (wanted == "maximize"):
        raise InvalidInput(
            f"the direction of a study must stay the same: {file.table.name!r} has "
            f"{study.direction.name.lower()}, got {wanted!r}; give the new study another name"
        )
    for name, now in file.space.distributions.items():
        for trial in study.get_trials(deepcopy=False)[-1:]:
            before = trial.distributions.get(name, now)
            if before != now and CategoricalDistribution in (type(before), type(now)):
                raise InvalidInput(
                    f"the choices of a parameter must stay the same in a study: {name!r} had "
                    f"{before}, got {now}; give the new study another name"
                )


def _check_file(path: Path | None, *, create: bool) -> None:
    """Refuse an SQLite file that is none, or that belongs to another program, before Optuna would
    write its tables into it."""
    if path is None:
        return
    if not path.exists():
        if not create:
            raise StorageError(
                f"a study that has begun was expected, got none: {path} does not exist; "
                "`neurobo run` or `neurobo ask` makes it"
            )
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
    foreign = set(tables) - set(BaseModel.metadata.tables) - {"alembic_version"}
    if foreign and not {"studies", "trials", "version_info"} <= set(tables):
        raise StorageError(
            f"the storage must be Optuna's, got {path}, which has the tables of another program "
            f"({', '.join(sorted(tables)[:5])}); it was left as it is"
        )


@contextmanager
def explained(file: StudyFile) -> Iterator[None]:
    """Errors of the storage as one message that names it and the cause."""
    try:
        yield
    except (SQLAlchemyError, StorageInternalError) as error:
        raise _unusable(file, _cause(error)) from error
    except RuntimeError as error:  # Optuna's check of the schema's version
        if "schema version" not in str(error) and "optuna" not in str(error).lower():
            raise
        raise _unusable(file, _first(error)) from error


def _unusable(file: StudyFile, cause: str) -> StorageError:
    return StorageError(f"the storage {public_url(file)} cannot be used: {cause}")


def _cause(error: BaseException) -> str:
    """The innermost error, which says what is wrong."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = _first(getattr(error, "orig", None) or error)
    hints = {
        "disk is full": "there is no space left on its disk",
        "disk I/O error": "its disk is full or broken",
        "malformed": "the file is damaged; restore it from a copy",
        "not a database": "the file is damaged or something else",
        "readonly": "it may not be written to",
        "unable to open": "it cannot be opened; are you allowed to write there?",
        "locked": f"others have kept it busy for more than {PATIENCE} s",
        "No module named 'psycopg'": "its driver is missing: pip install 'neurobo[postgres]'",
        "No module named": "its driver is not installed",
        "Can't load plugin": "there is no such kind of database",
    }
    found = [hint for sign, hint in hints.items() if sign in text]
    return f"{found[0]} ({text})" if found else text


def _first(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def public_url(file: StudyFile) -> str:
    """Without a password."""
    try:
        url = make_url(file.storage)
    except SQLAlchemyError:
        return "of the study file"
    return file.storage if url.password is None else url.render_as_string(hide_password=True)
