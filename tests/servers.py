"""Servers of a test's own besides PostgreSQL: an ordinary user's, loopback only, any free port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while True:
        assert process.poll() is None, "the server ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.1)


@contextmanager
def running(command: Sequence[str], port: int) -> Iterator[None]:
    """A server that is ended afterwards."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port, process)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


@contextmanager
def redis_server() -> Iterator[str]:
    """A new Redis server; its URL."""
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
               "--dir", tempfile.gettempdir()]  # fmt: skip
    with running(command, port):
        yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def mariadb_server() -> Iterator[str]:
    """A new MariaDB server; its URL."""
    folder, port = Path(tempfile.mkdtemp(prefix="neurobo-mariadb-")), free_port()
    user = "mysql" if os.geteuid() == 0 else ""
    as_user = [f"--user={user}"] if user else []
    try:
        if user:
            shutil.chown(folder, user)
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={folder}/data", *as_user,
             "--auth-root-authentication-method=normal", "--skip-test-db"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        command = ["mariadbd", "--no-defaults", f"--datadir={folder}/data", *as_user,
                   f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder}/socket",
                   f"--pid-file={folder}/pid", "--innodb-flush-log-at-trx-commit=0"]  # fmt: skip
        with running(command, port):
            subprocess.run(
                ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{port}", "-uroot", "-e",
                 "CREATE DATABASE neurobo"], check=True,
            )  # fmt: skip
            yield f"mysql://root@127.0.0.1:{port}/neurobo"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
