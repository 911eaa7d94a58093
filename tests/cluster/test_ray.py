"""Evaluations on a Ray cluster of three nodes, one of which is killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray", reason="needs the extra `ray`")

from cluster.ledger import SPACE, Enemy, check, objective  # noqa: E402

import neurobo  # noqa: E402
from neurobo.errors import InvalidInput  # noqa: E402
from neurobo.ray import RayExecutor  # noqa: E402
from neurobo.running.executors import is_lost  # noqa: E402

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def three_nodes() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 2, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.mark.parametrize(
    "trials", [40, pytest.param(300, marks=pytest.mark.slow)], ids=["small", "full"]
)
def test_a_node_is_killed(trials: int, three_nodes: Any, tmp_path: Path) -> None:
    ledger, workers = tmp_path / "ledger", list(three_nodes.worker_nodes)
    executor = RayExecutor(three_nodes.address, {"CPU": 1})
    enemy = Enemy(trials // 3, lambda: three_nodes.remove_node(workers[0], allow_graceful=False))
    study = neurobo.minimize(
        objective(ledger, 0.3), SPACE, trials, executor=executor, retries=5, seed=0,
        n_startup_trials=trials, progress=False, callbacks=[enemy],
    )  # fmt: skip
    happened = check(study, enemy, ledger, trials)
    print(f"Ray, {trials} evaluations: {dict(happened)}")  # noqa: T201
    assert happened["lost and retried"] >= 1
    executor.shutdown()


def test_resources_and_exceptions(tmp_path: Path) -> None:
    executor = RayExecutor(resources={"CPU": 1}, num_cpus=2, include_dashboard=False)
    try:
        assert executor._max_workers == 2
        with pytest.raises(InvalidInput, match="resources must fit the cluster"):
            _ = RayExecutor(resources={"GPU": 99})._max_workers
        with pytest.raises(InvalidInput, match="resources"):
            RayExecutor(resources={"CPU": 0})
        double, apply, rest = _functions()
        assert [executor.submit(apply, double, i).result() for i in (1, 2)] == [2, 4]
        assert len(executor._sent) == 1  # not once for each call
        assert executor.submit(rest, 60).cancel()
        with pytest.raises(ZeroDivisionError):
            executor.submit(apply, lambda by: 1 / by, 0).result()
        with pytest.raises(ray.exceptions.RayTaskError) as unreadable:
            executor.submit(apply, _of_this_module, 1).result()
        assert not is_lost(unreadable.value)
    finally:
        executor.shutdown(cancel_futures=True)
    assert not ray.is_initialized()


def _functions() -> tuple[Any, Any, Any]:
    """Sent by value: the cluster does not know this module."""
    import time

    return (lambda i: 2 * i), (lambda function, i: function(i)), (lambda s: time.sleep(s))


def _of_this_module(i: int) -> int:
    return i
