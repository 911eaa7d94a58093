"""Fleets whose disk is full for a while, and whose network loses, stalls or cuts connections."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import optuna
import pytest
from faults import fleet as fleets
from faults import namespaces, postgres
from faults.fleet import LEASE, Fleet
from faults.namespaces import DISK, NETWORK, is_inside, run_inside
from faults.postgres import Server
from faults.proxy import Proxy, proxy
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import SQLAlchemyError

from neurobo.integrations.optuna import storage as storages
from neurobo.integrations.optuna.shared_storage import SharedStorage
from neurobo.integrations.optuna.storage import opened

needs_postgres = pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing())
_no_disk = namespaces.missing(DISK, "mount")
_no_network = postgres.missing() or namespaces.missing(NETWORK, "ip", "tc")


@pytest.fixture
def server() -> Iterator[Server]:
    with postgres.server() as made:
        yield made


@pytest.fixture
def between(server: Server) -> Iterator[Proxy]:
    with proxy(server.port) as made:
        yield made


def _run(fleet: Fleet, trials: int, enemy: list[Callable[[], None]], told: str) -> None:
    try:
        fleet.run(trials, enemy, seconds=600)
        print(fleets.check(fleet, trials))  # noqa: T201  # shown with pytest -s
        logs = [r.log.read_text() for r in (*fleet.runners, *fleet.retired)]
        assert any(told in log for log in logs), logs
        assert not list(fleet.file.folder.glob("*unwritten*"))
    finally:
        fleet.stop()


# The disk ---------------------------------------------------------------------------------------


def _fill(folder: Path) -> Path:
    path = folder / "filler"
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return path


def _full_disk(folder: Path, trials: int, size: int, times: int) -> None:
    disk = folder / "disk"
    disk.mkdir()
    namespaces.call("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk))
    fleet = fleets.made(folder, trials, size, seed=0, storage=f"sqlite:///{disk}/study.db")

    def full_for_longer_than_a_lease() -> None:
        filler = _fill(disk)
        time.sleep(LEASE / 2)
        fleet.kill()
        time.sleep(LEASE)
        filler.unlink()

    _run(fleet, trials, times * [full_for_longer_than_a_lease], "disk is full")


@pytest.mark.skipif(bool(_no_disk), reason=_no_disk)
@pytest.mark.slow
def test_a_small_fleet_whose_disk_is_full_for_a_while(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """SQLite cannot write; results wait, nobody ends, and a runner is killed meanwhile."""
    if not is_inside():
        run_inside(DISK, request)
    else:
        _full_disk(tmp_path, 60, 3, 1)


@pytest.mark.faults
@pytest.mark.skipif(bool(_no_disk), reason=_no_disk)
def test_a_fleet_whose_disk_is_full_three_times(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if not is_inside():
        run_inside(DISK, request)
    else:
        _full_disk(tmp_path, 400, 6, 3)


# The network ------------------------------------------------------------------------------------


@needs_postgres
@pytest.mark.faults
def test_half_a_fleet_is_parted_from_its_server(
    tmp_path: Path, server: Server, between: Proxy
) -> None:
    """Half of the runners cannot reach the server for longer than a lease: once connections stall,
    once they are cut. The others retry their points; late results do not count twice."""
    far = server.url.replace(str(server.port), str(between.port))
    fleet = fleets.made(tmp_path, 400, 6, seed=0, storage=server.url, far=far, seconds=1.0)

    def stall() -> None:
        between.stall()
        time.sleep(2.5 * LEASE)
        between.heal()

    def cut() -> None:
        between.cut()
        time.sleep(2.5 * LEASE)
        between.heal()

    _run(fleet, 400, [stall, cut, stall], "the storage is away")


@pytest.mark.faults
@pytest.mark.skipif(bool(_no_network), reason=_no_network)
def test_a_fleet_whose_network_loses_every_packet_for_a_while(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Nobody gets an answer, and nobody is told: only time-outs show it."""
    if not is_inside():
        run_inside(NETWORK, request)
        return
    namespaces.call("ip", "link", "set", "lo", "up")
    with postgres.server() as server:
        # Soon instead of after a minute, as a user may write it.
        url = f"{server.url}?connect_timeout=2&tcp_user_timeout=3000"
        fleet = fleets.made(tmp_path, 300, 6, seed=0, storage=url)

        def lose_everything() -> None:
            # A queue that nothing fits into: every packet is dropped.
            drop = ("qdisc", "add", "dev", "lo", "root", "tbf", "rate", "8bit", "burst", "1",
                    "latency", "1ms")  # fmt: skip
            namespaces.call("tc", *drop)
            time.sleep(2.5 * LEASE)
            namespaces.call("tc", "qdisc", "del", "dev", "lo", "root")

        _run(fleet, 300, [lose_everything, fleet.kill, lose_everything], "the storage is away")


@needs_postgres
def test_a_client_that_vanishes_in_a_transaction_stops_nobody(
    server: Server, between: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the study's lock, and its server hears nothing of it any more."""
    monkeypatch.setattr(storages, "IDLE", 2)
    near = opened(server.url)
    study = optuna.create_study(storage=near, study_name="s")
    far = opened(server.url.replace(str(server.port), str(between.port)))
    assert isinstance(far, SharedStorage)
    far.outage.seconds = 0.0
    vanished = optuna.load_study(storage=far, study_name="s").ask()

    def is_free(_: object) -> bool:
        between.stall()
        return True

    def vanish() -> None:
        with suppress(SQLAlchemyError, StorageInternalError):
            far.store_if_free(vanished._trial_id, {"mine": 1}, is_free)

    thread = threading.Thread(target=vanish)
    thread.start()
    time.sleep(0.5)
    began = time.monotonic()
    assert study.ask().number == 1
    assert 0.5 < time.monotonic() - began < 20
    between.heal()
    thread.join(timeout=20)
    assert not thread.is_alive()
    for storage in (near, far):
        storage._backend.engine.dispose()  # type: ignore[attr-defined]
