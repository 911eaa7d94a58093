"""Errors of storages as one message that names the storage and the cause, without passwords."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from optuna.exceptions import StorageInternalError
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from neurobo.errors import NeuroboError
from neurobo.integrations.optuna.database_urls import PATIENCE
from neurobo.integrations.optuna.other_storages import failures


class StorageError(NeuroboError):
    """The storage of a study cannot be used."""


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except ValueError:
        raise ArgumentError("Could not parse the URL: its port is no number") from None


def file_of(url: str) -> Path | None:
    """The file of an SQLite URL."""
    parsed = _parsed(url)
    name = parsed.database or ""
    if parsed.get_backend_name() != "sqlite" or name in ("", ":memory:") or name[:5] == "file:":
        return None
    return Path(name)


@contextmanager
def explained(shown: str) -> Iterator[None]:
    """Errors of the storage as one message that names it and the cause."""
    try:
        yield
    except (SQLAlchemyError, StorageInternalError) as error:
        raise unusable(shown, error) from error
    except failures() as error:
        raise unusable(shown, error) from error


def unusable(shown: str, error: BaseException) -> StorageError:
    cause = _cause(error)
    with contextlib.suppress(SQLAlchemyError):
        file = file_of(shown)
        if "readonly" in cause and file is not None and not file.exists():
            cause = "the file is gone: it was deleted or moved meanwhile"
    return StorageError(f"the storage {shown} cannot be used: {without_secrets(cause)}")


def _cause(error: BaseException) -> str:
    """The innermost error, which says what is wrong."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = first_line(getattr(error, "orig", None) or error)
    hints = {
        "disk is full": "there is no space left on its disk",
        "disk I/O error": "its disk is full or broken",
        "malformed": "the file is damaged; restore it from a copy",
        "not a database": "the file is damaged or something else",
        "readonly": "it may not be written to",
        "unable to open": "it cannot be opened; are you allowed to write there?",
        "locked": f"others have kept it busy for more than {PATIENCE} s",
        "parse": "it must be a URL such as sqlite:///study.db",
        "Can't load plugin": "there is no such kind of database",
        "'psycopg": "its driver is not installed; pip install 'neurobo[postgres]' and write a URL "
        "that begins with postgresql://",
        "pymysql": "its driver is not installed; pip install 'neurobo[mysql]'",
        "No module named": "its driver is not installed",
    }
    found = [hint for sign, hint in hints.items() if sign in text]
    return f"{found[0]} ({text})" if found else text


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


_SECRET = re.compile(r"((?:pass|pwd|secret|token)\w*\s*=\s*)('[^']*'|[^&\s;'\"]+)", re.I)
_BEFORE_HOST = re.compile(r"(://[^/:@\s]*:)[^@\s]*(@)")


def without_secrets(text: str) -> str:
    """A text without the passwords of URLs in it, also those in a URL's query."""
    return _SECRET.sub(r"\1***", _BEFORE_HOST.sub(r"\1***\2", text))


def public_url(url: str) -> str:
    """Without a password."""
    try:
        _parsed(url)
    except SQLAlchemyError:
        return repr(without_secrets(url)) if "@" not in url else "(a URL that cannot be read)"
    return without_secrets(url)
