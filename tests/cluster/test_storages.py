"""Every kind of storage by its URL: in `minimize`, in study files, and `neurobo storage check`."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
import pytest
from faults.postgres import missing, server
from servers import free_port, mariadb_server, redis_server, wait_for
from studies.made import neurobo as command
from studies.made import study

import neurobo
from neurobo.errors import InvalidInput, MissingPackage
from neurobo.integrations.optuna.attributes import counting
from neurobo.integrations.optuna.storage import opened
from neurobo.integrations.optuna.storage_check import check_storage
from neurobo.integrations.optuna.storage_errors import StorageError
from neurobo.studies.file.reader import read_study
from neurobo.studies.runner.store import open_study

pytestmark = pytest.mark.filterwarnings("ignore")


def _minimize(url: str, n_trials: int = 3) -> Any:
    return neurobo.minimize(
        lambda p: p["x"], {"x": (0.0, 1.0)}, n_trials, storage=url, study_name="s", progress=False,
        seed=0, n_startup_trials=50,
    )  # fmt: skip


@contextmanager
def _grpc(tmp_path: Path) -> Iterator[str]:
    """Optuna's proxy in a process of its own."""
    port = free_port()
    program = (
        "import optuna\n"
        f"optuna.storages.run_grpc_proxy_server(optuna.storages.RDBStorage({_db(tmp_path)!r}), "
        f"host='127.0.0.1', port={port})\n"
    )
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", program])
    try:
        wait_for(port, process)
        yield f"grpc://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _db(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/proxied.db"


@contextmanager
def _url(kind: str, tmp_path: Path) -> Iterator[str]:
    if kind == "journal":
        yield f"journal:///{tmp_path}/study.log"
    elif kind == "sqlite":
        yield f"sqlite:///{tmp_path}/study.db"
    elif kind == "postgres":
        if missing():
            pytest.skip(missing())
        with server() as found:
            yield found.url
    elif kind == "grpc":
        pytest.importorskip("grpc", reason="needs the extra `grpc`")
        with _grpc(tmp_path) as url:
            yield url
    else:
        program, package = {"redis": ("redis-server", "redis"), "mysql": ("mariadbd", "pymysql")}[
            kind
        ]
        if shutil.which(program) is None:
            pytest.skip(f"needs a server ({program})")
        pytest.importorskip(package, reason=f"needs the extra `{kind}`")
        with redis_server() if kind == "redis" else mariadb_server() as url:
            yield url


KINDS = [
    "sqlite",
    "journal",
    *(pytest.param(kind, marks=pytest.mark.cluster) for kind in ("postgres", "redis", "grpc")),
    pytest.param("mysql", marks=pytest.mark.cluster),
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_storage(kind: str, tmp_path: Path) -> None:
    with _url(kind, tmp_path) as url:
        if kind in ("sqlite", "journal"):
            assert "it is not there yet" in " ".join(f.text for f in check_storage(url))
            assert not list(tmp_path.iterdir())
        assert len(_minimize(url).trials) == 3
        assert len(_minimize(url, 5).trials) == 5  # goes on
        path = study(tmp_path / "f", top=f"n_startup_trials = 50\nstorage = {url!r}\n", trials=3)
        told = command("run", path)
        assert told.returncode == 0, told.stdout + told.stderr
        _two_runners(path)
        told = command("storage", "check", url, "--json")
        assert told.returncode == 0, told.stdout + told.stderr
        text = " ".join(finding["text"] for finding in json.loads(told.stdout))
        assert "'s' (5 trials)" in text
        assert "connected to" in text
        if kind in ("postgres", "mysql", "sqlite"):
            assert "its tables may be written to" in text


def _two_runners(path: Path) -> None:
    """Two at the same time spend the budget together."""
    path.write_text(path.read_text().replace("trials = 3", "trials = 12"))
    threads = [threading.Thread(target=command, args=("run", path)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = counting(open_study(read_study(path)))
    assert len(counted) == 12
    assert len({t.params["x"] for t in counted}) == 12


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("journal:///", "a journal must be a URL such as journal:///study.log"),
        ("journal:////no/such/folder/s.log", "must be in a folder, got /no/such/folder"),
        ("grpc://host", "a gRPC proxy must be a URL such as grpc://host:13000"),
        ("postgresql://u:secret@127.0.0.1:1/db", r"u:\*\*\*@127.0.0.1:1/db cannot be used"),
        ("redis://:secret@127.0.0.1:1/0", r":\*\*\*@127.0.0.1:1/0 cannot be used"),
        ("mysql://u:secret@127.0.0.1:1/db", r"u:\*\*\*@127.0.0.1:1/db cannot be used"),
    ],
)
def test_what_is_wrong(url: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = {"grpc": "grpc", "redis": "redis", "mysql": "pymysql"}.get(url.partition(":")[0])
    if package is not None:
        pytest.importorskip(package)
    with pytest.raises((StorageError, InvalidInput), match=message) as error:
        list(check_storage(url))
    assert "secret" not in str(error.value)


def test_a_journal_that_is_none_or_torn(tmp_path: Path) -> None:
    path = tmp_path / "study.log"
    url = f"journal:///{path}"
    path.write_text("hello\n")
    with pytest.raises(StorageError, match="must be an Optuna journal"):
        _minimize(url)
    assert path.read_text() == "hello\n"
    path.unlink()
    _minimize(url)
    with path.open("a") as file:
        file.write('{"op_code"')
    with pytest.raises(StorageError, match=r"the last line of the journal .* must be whole"):
        list(check_storage(url))


@pytest.mark.parametrize(
    ("url", "extra", "package"),
    [("redis://h", "redis", "redis"), ("grpc://h:1", "grpc", "grpc")],
)
def test_a_missing_extra_is_named(
    url: str, extra: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises((StorageError, MissingPackage), match=rf"neurobo\[{extra}\]"):
        opened(url)


@pytest.mark.skipif(importlib.util.find_spec("pymysql") is not None, reason="it is installed")
def test_a_missing_driver_is_named() -> None:
    with pytest.raises(StorageError, match=r"neurobo\[mysql\]"):
        opened("mysql://u@h/db")


def test_the_check_of_a_journal_in_a_study_file_is_beside_it(tmp_path: Path) -> None:
    path = study(tmp_path, top="n_startup_trials = 9\nstorage = 'journal:///j.log'\n", trials=2)
    assert command("run", path).returncode == 0
    assert (tmp_path / "j.log").exists()
    storage = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(tmp_path / "j.log"))
    )
    assert [s.study_name for s in storage.get_all_studies()] == ["test"]
