"""A storage that cannot be used is one clear message."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import optuna
import pytest

import neurobo
from neurobo.errors import InvalidInput
from neurobo.integrations.optuna.storage_errors import StorageError

SPACE = {"x": (0.0, 1.0)}


def _minimize(storage: Any, space: Any = SPACE, n_trials: int = 2) -> Any:
    return neurobo.minimize(
        lambda p: 1.0, space, n_trials, storage=storage, study_name="s", progress=False, seed=0
    )


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("study.db", "the storage 'study.db' cannot be used: it must be a URL such as sqlite:///"),
        ("sqlite:////no/such/folder/s.db", "must be in a folder, got /no/such/folder, which is no"),
        ("oracles://host", "there is no such kind of database"),
        ("mysql+no_such_driver://u:secret@host/db", r"mysql\+no_such_driver://u:\*\*\*@host/db"),
    ],
)
def test_bad_urls(url: str, message: str) -> None:
    with pytest.raises(StorageError, match=message) as error:
        _minimize(url)
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.skipif(importlib.util.find_spec("psycopg") is not None, reason="needs no psycopg")
@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_postgresql_without_its_driver(scheme: str) -> None:
    with pytest.raises(
        StorageError, match=r"pip install 'neurobo\[postgres\]'.*'psycopg'"
    ) as error:
        _minimize(f"{scheme}://user:secret@localhost/db")
    assert "secret" not in str(error.value)


def test_files_of_others(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes about something else")
    with pytest.raises(StorageError, match=r"must be an SQLite file, got .*notes\.txt"):
        _minimize(f"sqlite:///{path}")


def test_a_database_in_memory_and_storages_of_optuna() -> None:
    assert len(_minimize("sqlite://").trials) == 2
    assert len(_minimize(optuna.storages.InMemoryStorage()).trials) == 2


def test_what_a_study_cannot_change(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    _minimize(url, {"c": neurobo.Categorical(["a", "b"])})
    with pytest.raises(InvalidInput, match="the choices of a parameter must stay the same"):
        _minimize(url, {"c": neurobo.Categorical(["a", "c"])}, 3)
    several = f"sqlite:///{tmp_path}/m.db"
    optuna.create_study(storage=several, study_name="s", directions=["minimize", "maximize"])
    with pytest.raises(InvalidInput, match="'s' has minimize and maximize, got 'minimize'"):
        _minimize(several)
