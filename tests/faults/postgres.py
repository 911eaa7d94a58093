"""A PostgreSQL server of a test's own: an ordinary user's, on this machine only, any free port."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 100
shared_buffers = 16MB
"""


def programs() -> Path | None:
    """The folder with initdb and pg_ctl; Debian keeps them off the PATH."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: p.parts[-3])
    return folders[-1].parent if folders else None


def missing() -> str:
    """What is needed for these tests and not installed, or ""."""
    if programs() is None:
        return "needs a PostgreSQL server (Debian: apt-get install postgresql)"
    return "" if importlib.util.find_spec("psycopg") else "needs the extra `postgres`"


@dataclass
class Server:
    folder: Path
    port: int
    user: str | None
    """Who runs it, if root runs the tests: the server refuses root."""

    @property
    def url(self) -> str:
        return f"postgresql://neurobo@127.0.0.1:{self.port}/postgres"

    def run(self, program: str, *arguments: str, check: bool = True) -> None:
        folder = programs()
        assert folder is not None
        command = [str(folder / program), *arguments]
        if self.user is not None:
            command = ["runuser", "-u", self.user, "--", *command]
        subprocess.run(
            command, check=check, timeout=120, cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def control(self, *arguments: str, check: bool = True) -> None:
        data, log = self.folder / "data", self.folder / "log"
        self.run("pg_ctl", "-D", str(data), "-l", str(log), "-w", *arguments, check=check)

    def restart(self) -> None:
        """As after a crash: no connection is ended in order."""
        self.control("-m", "immediate", "restart")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _ordinary_user() -> str | None:
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


@contextmanager
def server() -> Iterator[Server]:
    """A new server, which is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="neurobo-postgres-"))
    made = Server(folder, _free_port(), _ordinary_user())
    try:
        if made.user is not None:
            shutil.chown(folder, made.user)
        made.run("initdb", "-D", str(folder / "data"), "-U", "neurobo", "-A", "trust", "-E", "UTF8",
                 "--locale=C", "--no-sync")  # fmt: skip
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write(f"{SETTINGS}port = {made.port}\n")
        made.control("start")
        try:
            yield made
        finally:
            made.control("-m", "immediate", "stop", check=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
