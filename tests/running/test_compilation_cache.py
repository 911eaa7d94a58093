"""What the command line compiles is kept for its next process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

NEUROBO = str(Path(sys.executable).parent / "neurobo")


def check_cache(neurobo: str, variables: Mapping[str, str]) -> None:
    """A second process reads all that the first one has compiled; neither says a word."""
    variables = {**variables, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}

    def times_of_use() -> dict[str, bytes]:
        done = subprocess.run(
            [neurobo, "demo", "--trials", "11", "--json"],
            capture_output=True, text=True, check=False, env=variables,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == "", done.stderr
        compiled = Path(variables["XDG_CACHE_HOME"]) / "neurobo" / "compiled"
        return {path.name: path.read_bytes() for path in compiled.glob("*-atime")}

    first = times_of_use()
    second = times_of_use()
    assert first, "the first process must keep what it has compiled"
    unread = [name for name in first if first[name] == second[name]]
    assert not unread, f"the second process must read what is kept, and left {unread}"


def _variables(home: Path) -> dict[str, str]:
    """A user's environment: without the cache that the tests share."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    return {**kept, "XDG_CACHE_HOME": str(home), "NEUROBO_CACHE": ""}


def test_a_second_process_finds_what_the_first_has_compiled(tmp_path: Path) -> None:
    check_cache(NEUROBO, _variables(tmp_path))


def test_an_entry_without_its_time_of_use_does_not_stop_the_cache(tmp_path: Path) -> None:
    compiled = tmp_path / "neurobo" / "compiled"
    compiled.mkdir(parents=True)
    (compiled / "jit_f-123-cache").write_bytes(b"half of an entry: its process was killed")
    check_cache(NEUROBO, _variables(tmp_path))
    assert not (compiled / "jit_f-123-cache").exists()
