"""The study of a study file in its storage."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages import BaseStorage
from optuna.study import Study
from sqlalchemy import URL

from neurobo.integrations.optuna import storage_errors
from neurobo.integrations.optuna.sampler import NeuroSampler
from neurobo.integrations.optuna.storage import check_same, opened
from neurobo.integrations.optuna.storage_errors import StorageError
from neurobo.studies.file.law_file import law
from neurobo.studies.file.study_file import StudyFile


def open_study(file: StudyFile, *, create: bool = True, read_only: bool = False) -> Study:
    """The study of a study file; it is made if it is not there yet and `create` says so."""
    minutes = file.table.storage_retry_minutes
    storage = opened(_url(file), create=create, read_only=read_only, minutes=minutes)
    with explained(file):
        study = _study(file, storage, create=create)
        check_same(study, file.space.distributions, file.table.direction)
    return study


def _url(file: StudyFile) -> str:
    """With whatever odd characters a folder's name has."""
    if file.database is None:
        return file.storage
    url = URL.create("sqlite", database=str(file.database))
    return url.render_as_string(hide_password=False)


def _study(file: StudyFile, storage: BaseStorage, *, create: bool) -> Study:
    table = file.table
    if not create and table.name not in optuna.get_all_study_names(storage):
        raise StorageError(
            f"a study that has begun was expected, got none called {table.name!r} in "
            f"{public_url(file)}"
        )
    # A law is the user's code: it is not even imported until there is a use for it.
    suggests = None if table.physics is not None else sampler(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        if not create:
            return optuna.load_study(study_name=table.name, storage=storage, sampler=suggests)
        return optuna.create_study(
            storage=storage,
            study_name=table.name,
            direction=table.direction,
            sampler=suggests,
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


def explained(file: StudyFile) -> AbstractContextManager[None]:
    """Errors of the storage as one message that names it and the cause."""
    return storage_errors.explained(public_url(file))


def public_url(file: StudyFile) -> str:
    """Without a password."""
    return storage_errors.public_url(file.storage)
