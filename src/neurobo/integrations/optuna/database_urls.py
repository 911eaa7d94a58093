"""What the URL of a database becomes: its driver, and the options of its connections."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

from sqlalchemy import make_url

PATIENCE = 60
"""Seconds that a writer waits for others to be done with an SQLite file."""


def with_driver(url: str) -> str:
    """PostgreSQL and MySQL by the drivers that the extras `postgres` and `mysql` bring, unless
    another one is named or only psycopg2 is installed."""
    url = re.sub("^(mysql|mariadb)://", r"\1+pymysql://", url)
    driver = "psycopg"
    if not importlib.util.find_spec("psycopg") and importlib.util.find_spec("psycopg2"):
        driver = "psycopg2"
    return re.sub("^postgres(ql)?://", f"postgresql+{driver}://", url)


def engine_options(url: str, *, read_only: bool) -> dict[str, Any]:
    """So that a dead connection is noticed: before its use, and soon if there is no answer."""
    arguments: dict[str, Any]
    if url.startswith("sqlite"):
        return {"connect_args": {"timeout": PATIENCE}}
    if url.startswith(("mysql", "mariadb")):
        # The server ends connections that rest for eight hours, or for what it is set to.
        given = make_url(url).query
        timeouts = {"connect_timeout": 10, "read_timeout": 60, "write_timeout": 60}
        arguments = {k: v for k, v in timeouts.items() if k not in given}
        if "charset" not in given:
            arguments["charset"] = "utf8mb4"
        return {"pool_pre_ping": True, "pool_recycle": 3600, "connect_args": arguments}
    if not url.startswith("postgresql"):
        return {}
    arguments = {
        "connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10,
        "keepalives_count": 3, "tcp_user_timeout": 60_000,
    }  # fmt: skip
    # What the user has written in the URL wins.
    arguments = {k: v for k, v in arguments.items() if k not in make_url(url).query}
    if read_only and "options" not in make_url(url).query:
        arguments["options"] = "-c default_transaction_read_only=on"
    return {"pool_pre_ping": True, "connect_args": arguments}
