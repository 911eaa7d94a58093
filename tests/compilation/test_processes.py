"""Programs are shared between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from neurobo.compilation import disk

NEUROBO = str(Path(sys.executable).parent / "neurobo")
SUGGEST = """
import jax, neurobo
NAMES = "_descend _evaluate _condition _cost_and_gradient _unit_kernel"
count = 0
def listen(event, seconds, **about):
    global count
    count += event.endswith("backend_compile_duration") and about["fun_name"] in NAMES
NAMES = {f"jit({n})" for n in NAMES.split()}
jax.monitoring.register_event_duration_secs_listener(listen)
history = [({"x": i / 9, "y": i * 5 % 9 / 9}, (i - 4.5) ** 2) for i in range(10)]
point = neurobo.suggest({"x": (0.0, 1.0), "y": (0.0, 1.0)}, history, seed=0, algorithm="ntk-gp")
print(point, count)
"""


def check_cache(neurobo: str, variables: Mapping[str, str]) -> None:
    """A second process reads all that the first one has compiled; neither says a word."""

    def times_of_use() -> dict[str, int]:
        done = subprocess.run(
            [neurobo, "demo", "--trials", "11", "--json"],
            capture_output=True, text=True, check=False, env=variables,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == "", done.stderr
        kept = Path(variables["XDG_CACHE_HOME"]) / "neurobo" / "programs"
        return {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}

    first = times_of_use()
    second = times_of_use()
    assert first, "the first process must keep what it has compiled"
    unread = [name for name in first if first[name] == second[name]]
    assert not unread, f"the second process must read what is kept, and left {unread}"
    assert first.keys() == second.keys()


def _variables(**others: str) -> dict[str, str]:
    """A user's environment: without the caches that the tests share."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    kept.pop(disk.VARIABLE, None)
    return {**kept, **others}


def _suggest(variables: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SUGGEST], env=variables, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_a_second_process_finds_what_the_first_has_compiled(tmp_path: Path) -> None:
    check_cache(NEUROBO, _variables(XDG_CACHE_HOME=str(tmp_path)))


@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_the_library_keeps_programs_too_and_processes_share_them(
    tmp_path: Path, count: int
) -> None:
    variables = _variables(XDG_CACHE_HOME=str(tmp_path))
    said = [process.communicate() for process in [_suggest(variables) for _ in range(count)]]
    assert {err for _, err in said} == {""}
    (point,) = {out.rpartition(" ")[0] for out, _ in said}
    out, err = _suggest(variables).communicate()
    assert (out, err) == (f"{point} 0\n", "")  # nothing is compiled any more


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_home_that_cannot_be_written_is_silent(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    out, err = _suggest(_variables(XDG_CACHE_HOME=str(tmp_path))).communicate()
    assert err == ""
    assert out.startswith("[{")


def test_a_full_disk_is_silent(tmp_path: Path) -> None:
    """No file of this process may have more than a kilobyte."""
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))" + SUGGEST
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False,
        env=_variables(XDG_CACHE_HOME=str(tmp_path)),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert list((tmp_path / "neurobo" / "programs").iterdir()) == []
