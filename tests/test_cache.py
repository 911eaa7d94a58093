"""What the command line compiles is kept for its next process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

NEUROBO = str(Path(sys.executable).parent / "neurobo")


def test_a_second_process_finds_what_the_first_has_compiled(tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    variables |= {"XDG_CACHE_HOME": str(tmp_path), "NEUROBO_CACHE": ""}
    compiled = tmp_path / "neurobo" / "compiled"

    def times_of_use() -> dict[str, bytes]:
        done = subprocess.run(
            [NEUROBO, "demo", "--trials", "9", "--json"],
            capture_output=True, text=True, check=False, env=variables,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return {path.name: path.read_bytes() for path in compiled.glob("*-atime")}

    first = times_of_use()
    second = times_of_use()
    assert first
    assert second.keys() == first.keys()  # nothing is compiled again
    assert second != first  # and the cache is read
