"""Evaluations on a Dask cluster, a worker of which is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

distributed = pytest.importorskip("distributed", reason="needs the extra `dask`")

from cluster.ledger import SPACE, Enemy, check, objective  # noqa: E402

import neurobo  # noqa: E402

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize(
    "trials", [40, pytest.param(300, marks=pytest.mark.slow)], ids=["small", "full"]
)
def test_a_worker_is_killed(trials: int, tmp_path: Path) -> None:
    import dask

    ledger = tmp_path / "ledger"
    # With 0, Dask leaves the retry of what was lost to neurobo; 3 is its default.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=2, dashboard_address=None, processes=True
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        enemy = Enemy(trials // 3, lambda: os.kill(pids[0], signal.SIGKILL))
        study = neurobo.minimize(
            objective(ledger, 0.3), SPACE, trials, executor=client.get_executor(pure=False),
            workers=6, retries=5, seed=0, n_startup_trials=trials, progress=False,
            callbacks=[enemy],
        )  # fmt: skip
    happened = check(study, enemy, ledger, trials)
    print(f"Dask, {trials} evaluations: {dict(happened)}")  # noqa: T201
    assert happened["lost and retried"] >= 1
