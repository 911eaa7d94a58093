"""Fleets under kill -9, SIGTERM, SIGSTOP, server restarts and clocks that disagree.

The small ones run by default; `make test-faults` runs the large ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from faults import fleet as fleets
from faults import postgres
from faults.postgres import Server
from studies.made import FAST

needs_postgres = pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing())


@pytest.fixture
def server() -> Iterator[Server]:
    with postgres.server() as made:
        yield made


def _weather(folder: Path, trials: int, size: int, server: Server | None, *, kills: int, terms: int,
             restarts: int = 0, stops: int = 0, skew: float = 0.0, seconds: float = 0.1,
             top: str = fleets.START_DESIGN, awake: bool = False) -> None:  # fmt: skip
    storage = server.url if server is not None else ""
    fleet = fleets.made(
        folder, trials, size, seed=0, storage=storage, skew=skew, seconds=seconds, top=top
    )
    fleet.awake = awake
    enemy = kills * [fleet.kill] + terms * [fleet.terminate] + stops * [fleet.sleep_through_a_lease]
    enemy += restarts * [server.restart] if server is not None else []
    fleet.rng.shuffle(enemy)
    try:
        fleet.run(trials, enemy, seconds=1500)
        print(fleets.check(fleet, trials))  # noqa: T201  # shown with pytest -s
    finally:
        fleet.stop()


# Processes cost more than trials: two runners, long evaluations, and every fault hits one at work.


def test_a_small_fleet_on_sqlite(tmp_path: Path) -> None:
    _weather(tmp_path, 40, 2, None, kills=1, terms=1, seconds=0.5, awake=True)


@needs_postgres
def test_a_small_fleet_on_postgresql(tmp_path: Path, server: Server) -> None:
    _weather(tmp_path, 40, 2, server, kills=1, terms=1, restarts=1, seconds=0.5, awake=True)


@pytest.mark.faults
def test_a_fleet_on_sqlite(tmp_path: Path) -> None:
    """8 runners, 2,000 trials, 10 kill -9, 5 SIGTERM, one that sleeps through its lease."""
    _weather(tmp_path, 2000, 8, None, kills=10, terms=5, stops=1)


@needs_postgres
@pytest.mark.faults
def test_a_fleet_on_postgresql(tmp_path: Path, server: Server) -> None:
    """The same with three restarts of the server as after a crash."""
    _weather(tmp_path, 2000, 8, server, kills=10, terms=5, restarts=3, stops=1)


@needs_postgres
@pytest.mark.faults
def test_a_fleet_whose_clocks_differ_by_minutes(tmp_path: Path, server: Server) -> None:
    _weather(tmp_path, 400, 6, server, kills=4, terms=2, restarts=1, stops=1, skew=120.0)


@needs_postgres
@pytest.mark.faults
def test_a_fleet_whose_suggestions_come_from_a_model(tmp_path: Path, server: Server) -> None:
    """Neural Greedy with small networks: suggestions take time, and runners see each other's."""
    top = f"{FAST}n_startup_trials = 20\n"
    _weather(tmp_path, 200, 8, server, kills=3, terms=2, restarts=1, stops=1, top=top)
