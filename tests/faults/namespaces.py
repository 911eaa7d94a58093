"""Tests that need a disk or a network of their own run once more, inside a name space of Linux."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

INSIDE = "NEUROBO_TEST_INSIDE"
DISK = ("-Urm",)
# The server refuses root, and only root can be another user inside.
NETWORK = ("-n",) if os.geteuid() == 0 else ("-Un", "--map-current-user", "--keep-caps")


def missing(flags: tuple[str, ...], *programs: str) -> str:
    """What is needed and cannot be had here, or ""."""
    for program in ("unshare", *programs):
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            return f"needs the program {program}"
    done = subprocess.run(["unshare", *flags, "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else f"may not `unshare {' '.join(flags)}`"


def is_inside() -> bool:
    return INSIDE in os.environ


def run_inside(flags: tuple[str, ...], request: pytest.FixtureRequest) -> None:
    """Run the calling test again inside, and fail as it does."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-s", "-m", "", request.node.nodeid]
    done = subprocess.run(
        ["unshare", *flags, *command], cwd=request.config.rootpath, capture_output=True, text=True,
        check=False, timeout=1500, env={**os.environ, INSIDE: "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    print(done.stdout)  # noqa: T201  # shown with pytest -s


def call(*command: str) -> None:
    env = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    subprocess.run(command, check=True, env=env)
