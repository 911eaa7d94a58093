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

    def times_of_use() -> dict[str, bytes]:
        done = subprocess.run(
            [neurobo, "demo", "--trials", "9", "--json"],
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


def test_a_second_process_finds_what_the_first_has_compiled(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    check_cache(NEUROBO, {**kept, "XDG_CACHE_HOME": str(tmp_path), "NEUROBO_CACHE": ""})
