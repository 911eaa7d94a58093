"""neurobo in Ray Tune: the searcher of our own, and Ray's own with our sampler."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

ray = pytest.importorskip("ray", reason="needs the extra `ray`")
tune = pytest.importorskip("ray.tune", reason="needs the extra `ray`")

import neurobo  # noqa: E402
from neurobo.errors import InvalidInput  # noqa: E402
from neurobo.integrations.optuna.attributes import failure_of  # noqa: E402
from neurobo.ray import NeuroSearch  # noqa: E402
from neurobo.ray.spaces import tune_space  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore")]
SPACE = {"x": tune.uniform(0.0, 1.0), "net": {"lr": tune.loguniform(1e-4, 1.0), "layers": 2}}
STEPS = 9


# Without a cluster -------------------------------------------------------------------------------


def test_domains_are_converted_exactly() -> None:
    given = {
        "u": tune.uniform(0, 1),
        "lu": tune.loguniform(1e-3, 1.0),
        "qu": tune.quniform(0.2, 0.8, 0.2),
        "qlu": tune.qloguniform(0.5, 8.0, 0.5),
        "i": tune.randint(1, 10),
        "li": tune.lograndint(1, 100),
        "qi": tune.qrandint(2, 20, 3),
        "qli": tune.qlograndint(10, 200, 10),
        "c": tune.choice(["a", "b"]),
        "objects": tune.choice([[1], [2, 3]]),
        "deep": {"er": {"y": tune.uniform(-1, 1)}, "k": 3},
        "k": "constant",
    }
    found = tune_space(given, ranges=False)
    assert {name: str(d) for name, d in found.space.distributions.items()} == {
        "u": str(neurobo.Float(0, 1)),
        "lu": str(neurobo.Float(1e-3, 1.0, log=True)),
        "qu": str(optuna.distributions.FloatDistribution(0.2, 0.8, step=0.2)),
        "qlu": str(neurobo.Int(1, 16, log=True)),
        "i": str(neurobo.Int(1, 9)),
        "li": str(neurobo.Int(1, 99, log=True)),
        "qi": str(neurobo.Int(3, 18, step=3)),
        "qli": str(neurobo.Int(1, 20, log=True)),
        "c": str(neurobo.Categorical(["a", "b"])),
        "objects": str(neurobo.Categorical([0, 1])),
        "deep/er/y": str(neurobo.Float(-1, 1)),
    }
    config = found.config({"qlu": 3, "qli": 4, "objects": 1, "deep/er/y": 0.5})
    assert config == {
        "qlu": 1.5, "qli": 40, "objects": [2, 3], "deep": {"er": {"y": 0.5}, "k": 3},
        "k": "constant",
    }  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        {"x": tune.randn()},
        {"x": tune.sample_from(lambda _: 1)},
        {"x": tune.grid_search([1, 2])},
        {"x": tune.choice([{"a": 1}, {"b": 2}])},
        {"x/y": tune.uniform(0, 1)},
        {"x": 3},
    ],
)
def test_spaces_that_cannot_be_searched_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        NeuroSearch(given, "loss", "min")


def _search(**options: Any) -> NeuroSearch:
    options = {"seed": 0, "n_startup_trials": 50, **options}
    return NeuroSearch(SPACE, "loss", "min", **options)


def test_every_end_of_a_trial_is_recorded() -> None:
    search = _search(constraints=["c"], max_t=STEPS)
    for name in "abcdefg":
        config = search.suggest(name)
        assert isinstance(config, dict)
        assert config["net"]["layers"] == 2
    step = "training_iteration"
    for name, last in (("a", STEPS), ("b", 3)):  # to the end, and stopped at a rung
        for i in range(1, last):
            search.on_trial_result(name, {"loss": 1 / i, step: i, "c": 0.0})
        search.on_trial_complete(name, {"loss": 1 / last, step: last, "c": -1.0, "done": True})
    search.on_trial_result("c", {"loss": 0.5, step: 2, "c": 1.0})  # ends by itself
    search.on_trial_complete("c", {"loss": 0.5, step: 2, "c": 1.0, "done": True})
    search.on_trial_result("d", {"loss": float("nan"), step: 1, "c": 0.0})
    search.on_trial_complete("d", {"loss": float("nan"), step: 1, "c": 0.0})
    search.on_trial_complete("e", error=True)
    search.on_trial_complete("f", {"loss": 1.0, step: STEPS})
    search.on_trial_complete("g")
    search.on_trial_complete("unknown", {"loss": 1.0})
    trials = search.study.trials
    state = TrialState
    assert [t.state for t in trials] == [
        state.COMPLETE, state.PRUNED, state.COMPLETE, *4 * [state.FAIL],
    ]  # fmt: skip
    assert trials[0].constraints == {"c": -1.0}
    assert trials[1].intermediate_values == {1: 1.0, 2: 0.5, 3: pytest.approx(1 / 3)}
    assert [failure_of(t).split(",")[0] for t in trials[3:]] == [
        "loss must be a finite number",
        "the trial raised an error; see its folder in Ray Tune's results",
        "the constraint 'c' must be a finite number in the last result",
        "interrupted",
    ]


@pytest.mark.parametrize("stored", [False, True])
def test_a_restored_search_goes_on_with_the_same_points(stored: bool, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/s.db" if stored else None
    first = _search(storage=storage)
    for name in "ab":
        first.suggest(name)
    first.on_trial_complete("a", {"loss": 1.0, "training_iteration": 1})
    first.save(str(tmp_path / "checkpoint"))
    expected = first.suggest("lost")  # after the checkpoint
    second = _search(storage=storage, seed=5)
    second.restore(str(tmp_path / "checkpoint"))
    states = [t.state.name for t in second.study.trials]
    assert states == ["COMPLETE", "RUNNING", *["FAIL"] * stored]
    again = second.suggest("c")
    assert again != first.study.trials[0].params
    if not stored:
        assert again == expected
    second.on_trial_complete("b", {"loss": 2.0, "training_iteration": 1})
    assert second.study.trials[1].value == 2.0


# In Ray Tune -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def _trainable(folder: Path) -> Any:
    """A curve whose end is best at x = 0.3, lr = 0.03; the second is NaN, the fourth raises."""
    name = str(folder)

    def train(config: dict[str, Any]) -> None:
        import math
        import os

        from ray import tune

        made = os.open(name + "/began", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(made, b".")
        os.close(made)
        count = os.path.getsize(name + "/began")
        if count == 4:
            raise RuntimeError("no licence")
        loss = (config["x"] - 0.3) ** 2 + (math.log10(config["net"]["lr"]) + 1.5) ** 2 / 10
        for i in range(1, 10):
            value = loss + 0.3 / i
            tune.report({"loss": math.nan if count == 2 else value, "width": -config["x"]})

    return train


Callback: Any = tune.Callback


class _StopAfter(Callback):  # type: ignore[misc]
    """Ctrl-C when so many trials have ended."""

    def __init__(self, count: int) -> None:
        self._count = count

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        self._count -= 1
        if self._count == 0:
            os.kill(os.getpid(), signal.SIGINT)


def _tuner(search: Any, trainable: Any, folder: Path, samples: int, *callbacks: Any) -> Any:
    from ray.tune.schedulers import ASHAScheduler

    return tune.Tuner(
        trainable,
        param_space={} if isinstance(search, NeuroSearch) else SPACE,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", search_alg=search, num_samples=samples,
            max_concurrent_trials=4, reuse_actors=True,
            scheduler=ASHAScheduler(max_t=STEPS, grace_period=1, reduction_factor=3),
        ),
        run_config=tune.RunConfig(
            name="t", storage_path=str(folder), verbose=0, callbacks=list(callbacks)
        ),
    )  # fmt: skip


@pytest.mark.cluster
@pytest.mark.parametrize(
    "samples", [12, pytest.param(60, marks=pytest.mark.slow)], ids=["small", "full"]
)
def test_stopped_and_restored_with_asha(samples: int, cluster: None, tmp_path: Path) -> None:
    search = NeuroSearch(
        SPACE, "loss", "min", seed=0, max_t=STEPS, storage=f"sqlite:///{tmp_path}/s.db",
        algorithm="ntk-gp", constraints=["width"],
    )  # fmt: skip
    trainable = _trainable(tmp_path)
    _tuner(search, trainable, tmp_path, samples, _StopAfter(samples // 2)).fit()
    before = len(search.study.trials)
    assert before < samples
    restored = tune.Tuner.restore(str(tmp_path / "t"), trainable=trainable)
    results = restored.fit()
    assert len(results) == samples
    trials = optuna.load_study(study_name="neurobo", storage=f"sqlite:///{tmp_path}/s.db").trials
    states = Counter(t.state.name for t in trials)
    print(f"Ray Tune, {samples} samples: {dict(states)}")  # noqa: T201
    assert not states["RUNNING"] + states["WAITING"]
    assert states["FAIL"] >= 2
    assert states["PRUNED"] >= 2
    assert all(t.intermediate_values for t in trials if t.state.name == "PRUNED")
    assert len({str(t.params) for t in trials}) == len(trials)
    assert any("loss must be a finite number" in failure_of(t) for t in trials)
    assert any("raised an error" in failure_of(t) for t in trials)


@pytest.mark.cluster
def test_optunas_own_searcher_with_our_sampler(cluster: None, tmp_path: Path) -> None:
    """The recipe of docs/cluster.md."""
    from ray.tune.search.optuna import OptunaSearch

    sampler = neurobo.NeuroSampler("ntk-gp", seed=0)
    search = OptunaSearch(metric="loss", mode="min", sampler=sampler)
    for name in (tmp_path / "began",):
        name.write_bytes(20 * b".")  # none is NaN, none raises
    results = _tuner(search, _trainable(tmp_path), tmp_path, 12).fit()
    assert len(results) == 12
    assert len({str(r.config) for r in results}) == 12
    search.save(str(tmp_path / "checkpoint"))
    again = OptunaSearch(metric="loss", mode="min", sampler=sampler)
    again.restore(str(tmp_path / "checkpoint"))
    assert again.suggest("next") == search.suggest("next")
