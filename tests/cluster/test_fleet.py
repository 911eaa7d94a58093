"""Six runners on PostgreSQL, whose server is restarted as after a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.fleet import check, made
from faults.postgres import missing, server

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
]


@pytest.mark.parametrize(
    "trials", [60, pytest.param(300, marks=pytest.mark.slow)], ids=["small", "full"]
)
def test_six_runners_survive_an_immediate_restart(trials: int, tmp_path: Path) -> None:
    with server() as postgres:
        fleet = made(tmp_path, trials, 6, seed=0, storage=postgres.url, seconds=0.6)
        try:
            fleet.run(trials, [postgres.restart], seconds=500)
            happened = check(fleet, trials)
        finally:
            fleet.stop()
    print(f"PostgreSQL, 6 runners, {trials} trials: {dict(happened)}")  # noqa: T201
    assert happened["COMPLETE"] >= trials
