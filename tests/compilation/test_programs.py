from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.experimental.compilation_cache import compilation_cache

from neurobo.compilation import compiled, disk, programs


@compiled
def _solved(a: Array, b: Array) -> Array:
    """With a routine of LAPACK."""
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b)


@compiled(static="power")
def _power(x: Array, power: int) -> dict[str, Array]:
    return {"power": x**power}


@compiled(static="function")
def _applied(x: Array, function: Callable[[Array], Array]) -> Array:
    return function(x)


A, B = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(disk.VARIABLE, str(tmp_path / "programs"))
    return tmp_path / "programs"


@pytest.fixture(autouse=True)
def _no_cache_of_jax() -> Iterator[None]:
    """What JAX reads from its own cache cannot be stored again."""
    before = getattr(jax.config, "jax_enable_compilation_cache")  # noqa: B009
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    yield
    jax.config.update("jax_enable_compilation_cache", before)
    compilation_cache.reset_cache()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The functions that were compiled, as in a process that begins now."""
    names: list[str] = []
    compile_ = programs.Compiled._compile

    def counted(self: programs.Compiled, *args: Any) -> Any:
        names.append(self.__name__)  # type: ignore[attr-defined]
        return compile_(self, *args)

    monkeypatch.setattr(programs.Compiled, "_compile", counted)
    programs.forget()
    yield names
    programs.forget()


def test_a_program_is_compiled_once_and_then_loaded(folder: Path, made: list[str]) -> None:
    first = np.asarray(_solved(A, B))
    np.testing.assert_allclose(first, np.linalg.solve(A, B), rtol=1e-6)
    _solved(A, B + 1)
    assert made == ["_solved"]
    programs.forget()
    np.testing.assert_array_equal(_solved(A, B), first)  # to the bit
    assert made == ["_solved"]
    assert [path.name.partition("-")[0] for path in folder.iterdir()] == ["solved"]


def test_every_shape_type_setting_and_static_argument_has_its_own(
    folder: Path, made: list[str]
) -> None:
    one, three = np.ones(1, np.float32), np.ones(3, np.float32)
    for x, power in ((one, 2), (three, 2), (three, 3), (three.astype(np.int32), 3), (1.0, 3)):
        result = _power(x, power)["power"]
        np.testing.assert_allclose(result, np.asarray(x) ** power)
    assert len(made) == 5
    np.testing.assert_array_equal(_power(three, power=3)["power"], three)
    with jax.enable_x64(True):
        assert _power(np.ones(3), 3)["power"].dtype == np.float64
    assert len(made) == 6  # a static argument by name is the same as by place


def test_inside_other_transformations_it_is_a_plain_function(folder: Path, made: list[str]) -> None:
    def total(x: Array) -> Array:
        return jnp.sum(_power(x, 2)["power"])

    np.testing.assert_allclose(jax.grad(total)(np.ones(3, np.float32)), 2 * np.ones(3))
    np.testing.assert_allclose(jax.vmap(total)(jnp.ones((2, 3), np.float32)), [3, 3])
    with jax.disable_jit():
        _power(np.ones(3, np.float32), 2)
    assert made == []


def test_a_function_of_the_user_is_not_kept(folder: Path, made: list[str]) -> None:
    def twice(x: Array) -> Array:
        return 2 * x

    for _ in range(2):
        np.testing.assert_allclose(_applied(B, twice), 2 * B)
    assert made == ["_applied"]
    np.testing.assert_allclose(_applied(B, lambda x: 3 * x), 3 * B)
    assert not folder.exists()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda entry: entry.write_bytes(b"garbage"),
        lambda entry: entry.write_bytes(b""),
        lambda entry: entry.write_bytes(entry.read_bytes()[:-1000]),
        lambda entry: entry.write_bytes(entry.read_bytes()[:-1] + b"?"),
        lambda entry: entry.chmod(0o666),
        lambda entry: (
            entry.rename(entry.parent / "real"),
            entry.symlink_to(entry.parent / "real"),
        ),
        lambda entry: (entry.unlink(), entry.mkdir()),
    ],
    ids=["garbage", "empty", "truncated", "changed", "writable", "link", "folder"],
)
def test_a_spoilt_entry_is_made_again(
    folder: Path, made: list[str], spoil: Callable[[Path], Any], capfd: pytest.CaptureFixture[str]
) -> None:
    first = np.asarray(_solved(A, B))
    (entry,) = folder.iterdir()
    spoil(entry)
    programs.forget()
    np.testing.assert_array_equal(_solved(A, B), first)
    assert made == ["_solved"] * 2
    assert capfd.readouterr() == ("", "")


def test_an_entry_that_jax_cannot_read_is_made_again(folder: Path, made: list[str]) -> None:
    first = np.asarray(_solved(A, B))
    (entry,) = folder.iterdir()
    disk.write(entry.name, b"well sealed, and no program")
    programs.forget()
    np.testing.assert_array_equal(_solved(A, B), first)
    assert made == ["_solved"] * 2


def test_a_folder_that_others_can_write_is_not_used(folder: Path, made: list[str]) -> None:
    _solved(A, B)
    folder.chmod(0o770)
    programs.forget()
    _solved(A, B)
    assert made == ["_solved"] * 2
    folder.chmod(0o700)
    programs.forget()
    _solved(A, B)
    assert made == ["_solved"] * 2


def test_another_user_s_folder_is_not_used(
    folder: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _solved(A, B)
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    programs.forget()
    _solved(A, B)
    assert made == ["_solved"] * 2


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_takes_nothing_is_no_reason_to_fail(
    folder: Path, made: list[str], error: int, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def full(*_: object) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "replace", full)
    np.testing.assert_allclose(_solved(A, B), np.linalg.solve(A, B), rtol=1e-6)
    assert list(folder.iterdir()) == []  # nor does it leave halves
    assert capfd.readouterr() == ("", "")


def test_no_home_no_cache(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv(disk.VARIABLE, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", unknown)
    np.testing.assert_allclose(_solved(A, B), np.linalg.solve(A, B), rtol=1e-6)


def test_it_can_be_switched_off(
    folder: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(disk.VARIABLE, "off")
    for _ in range(2):
        programs.forget()
        _solved(A, B)
    assert made == ["_solved"] * 2
    assert not folder.exists()


def test_threads_wait_for_the_one_that_compiles(folder: Path, made: list[str]) -> None:
    start = threading.Barrier(4)

    def run(_: int) -> Array:
        start.wait()
        return _solved(A, B)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, range(4)))
    assert made == ["_solved"]
    assert all(np.array_equal(found[0], other) for other in found)


def test_memory_holds_a_limited_number(
    folder: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "MOST", 3)
    for n in range(1, 6):
        _power(np.ones(n, np.float32), 2)
    assert len(programs._entries) == 3
    _power(np.ones(1, np.float32), 2)
    assert len(made) == 5  # the first is read from disk


def test_a_program_that_is_seldom_called_leaves_if_it_is_on_disk(
    folder: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def twice(x: Array) -> Array:
        return 2 * x

    monkeypatch.setattr(programs, "SELDOM", 5)
    _applied(B, twice)  # not on disk
    _power(np.ones(1, np.float32), 2)
    for _ in range(5):
        _solved(A, B)
    assert _in_memory() == ["_applied", "_power", "_solved"]
    _solved(A, B)
    assert _in_memory() == ["_applied", "_solved"]
    np.testing.assert_allclose(_power(np.ones(1, np.float32), 2)["power"], 1.0)
    _applied(B, twice)
    assert made == ["_applied", "_power", "_solved"]  # nothing twice


@pytest.mark.parametrize("lost", ["switched off", "removed"])
def test_a_program_that_is_nowhere_on_disk_stays(
    lost: str, folder: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "SELDOM", 5)
    if lost == "switched off":
        monkeypatch.setenv(disk.VARIABLE, "off")
    _power(np.ones(1, np.float32), 2)
    for path in folder.iterdir() if lost == "removed" else ():
        path.unlink()
    for _ in range(12):
        _solved(A, B)
    assert _in_memory() == ["_power", "_solved"]


def _in_memory() -> list[str]:
    return sorted(key.function.rpartition(":")[2] for key in programs._entries)  # type: ignore[attr-defined]


def test_the_folder_has_a_limited_size(tmp_path: Path) -> None:
    for i in range(6):
        path = tmp_path / str(i)
        path.write_bytes(bytes(100))
        os.utime(path, (i, i))
    disk.remove_unused(tmp_path, limit=250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["4", "5"]


def test_compiled_functions_need_a_name() -> None:
    with pytest.raises(TypeError, match="needs a name"):
        compiled(lambda x: x)


def test_what_jax_has_read_from_its_own_cache_is_not_kept(
    folder: Path, made: list[str], tmp_path: Path
) -> None:
    """JAX would serialise it without its functions."""
    before = {
        name: getattr(jax.config, name)
        for name in ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    }
    jax.config.update("jax_enable_compilation_cache", True)
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    compilation_cache.reset_cache()
    try:
        for _ in range(3):
            programs.forget()
            jax.clear_caches()
            np.testing.assert_allclose(_solved(A, B), np.linalg.solve(A, B), rtol=1e-6)
            for path in folder.iterdir():
                path.unlink()
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
    assert made == ["_solved"] * 3
    assert any((tmp_path / "jax").iterdir())


@compiled(static="", often=True)
def _often(x: Array) -> Array:
    return x + 1


def test_small_programs_are_compiled_quickly(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[dict[str, Any]] = []
    made = programs._compiled

    def noted(lowered: Any, options: dict[str, Any]) -> Any:
        used.append(options)
        return made(lowered, options)

    monkeypatch.setattr(programs, "_compiled", noted)
    _power(np.ones(8), 2)
    _power(np.ones(programs.SMALL + 1), 2)
    _often(np.ones((64, 3)))
    _often(np.ones((128, 3)))
    assert used == [programs.QUICKER, programs.QUICK] * 2


def test_a_compiler_without_the_options_is_no_obstacle() -> None:
    lowered = jax.jit(lambda x: 2 * x).lower(3.0)
    assert programs._compiled(lowered, {"xla_no_such_option": True})(3.0) == 6.0


def test_the_limit_is_an_option_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for given, kept in (("0.0002", 2), ("nonsense", 6), ("", 6)):
        for i in range(6):
            path = tmp_path / str(i)
            path.write_bytes(bytes(100))
            os.utime(path, (i, i))
        monkeypatch.setenv(disk.SIZE, given)
        disk.remove_unused(tmp_path)
        assert len(list(tmp_path.iterdir())) == kept
