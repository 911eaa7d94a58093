"""NeuroSearch against Ray's own OptunaSearch with TPE, in Ray Tune with ASHA, on one problem.

    python benchmarks/ray_tune.py --seeds 3 --samples 60

prints the best loss of a trial that ran to its end, for each seed. Needs the extra `ray`.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from typing import Any

STEPS = 9


def train(config: dict[str, Any]) -> None:
    """A curve that falls to a loss with valleys in five parameters."""
    from ray import tune

    net = config["net"]
    loss = (math.log10(net["lr"]) + 2.3) ** 2 / 4
    loss += (config["x"] - 0.3) ** 2 + (config["y"] * config["x"] - 0.2) ** 2
    loss += 0.1 * abs(net["layers"] - 3) + 0.2 * (net["act"] != "tanh")
    for step in range(1, STEPS + 1):
        tune.report({"loss": loss + 0.5 * net["lr"] ** 0.2 / step})


def best(search: Any, samples: int, folder: str) -> float:
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler

    space = {
        "x": tune.uniform(0.0, 1.0), "y": tune.uniform(-1.0, 1.0),
        "net": {"lr": tune.loguniform(1e-5, 1.0), "layers": tune.randint(1, 9),
                "act": tune.choice(["relu", "tanh", "gelu"])},
    }  # fmt: skip
    results = tune.Tuner(
        train,
        param_space=space,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", search_alg=search, num_samples=samples,
            max_concurrent_trials=4, reuse_actors=True,
            scheduler=ASHAScheduler(max_t=STEPS, grace_period=1, reduction_factor=3),
        ),
        run_config=tune.RunConfig(storage_path=folder, verbose=0),
    ).fit()  # fmt: skip
    found = (results[i].metrics for i in range(len(results)))
    ends = [metrics for metrics in found if metrics]
    return min(m["loss"] for m in ends if m.get("training_iteration") == STEPS)


def main() -> None:
    import ray
    from ray.tune.search.optuna import OptunaSearch

    from neurobo.ray import NeuroSearch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=60)
    given = parser.parse_args()
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    found: dict[str, list[float]] = {"NeuroSearch": [], "OptunaSearch (TPE)": []}
    for seed in range(given.seeds):
        with tempfile.TemporaryDirectory() as folder:
            searches = {
                "NeuroSearch": NeuroSearch(seed=seed, max_t=STEPS),
                "OptunaSearch (TPE)": OptunaSearch(seed=seed),
            }
            for name, search in searches.items():
                found[name].append(best(search, given.samples, f"{folder}/{len(name)}"))
                print(seed, name, found[name][-1], flush=True)
    for name, values in found.items():
        print(f"{name}: median {statistics.median(values):.4g} of {len(values)}")


if __name__ == "__main__":
    main()
