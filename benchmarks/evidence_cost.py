"""What an evidence update costs beside BoTorch fitting its default Gaussian process.

    python benchmarks/evidence_cost.py      # needs the bench extra; about a minute

Both see the same data, one thread, compilation apart. An update begins where the one before ended
(at a tenth fewer observations), as it does in a run; a fit from scratch is made at every doubling
of the number of observations.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OMP_NUM_THREADS"] = "1"

import time
import warnings
from collections.abc import Callable

import jax
import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood

from neurobo.data.observations import Data
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.surrogates import marginal_likelihood

N, D, BEFORE = 200, 20, 182
WIDE = InfiniteWidthMLP(1, "erf")


def problem(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(-1, 1, (N, D))
    if name == "smooth":
        y = np.sum(x**4 - 2 * x**2 + 0.3 * x, axis=1)
    else:
        y = np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * rng.normal(size=N)
    return x, (y - y.mean()) / y.std()


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of the quickest of five, after one that compiles."""
    work()
    found = []
    for _ in range(5):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(f"n = {N}, d = {D}; CPU seconds, and the share of BoTorch's fit")
    for name in ("smooth", "noisy"):
        x, y = problem(name, np.random.default_rng(0))

        def botorch(x: np.ndarray = x, y: np.ndarray = y) -> None:
            model = SingleTaskGP(torch.tensor((x + 1) / 2), torch.tensor(y)[:, None])
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))

        peer = seconds(botorch)
        print(f"{name:7} BoTorch SingleTaskGP      {peer:.3f}")
        with jax.enable_x64(True):
            for ard in (False, True):
                before = marginal_likelihood.search(Data.pad(x[:BEFORE], y[:BEFORE]), WIDE, ard=ard)
                for what, start in (("update", before), ("from scratch", None)):
                    ours = seconds(
                        lambda start=start, ard=ard, x=x, y=y: marginal_likelihood.search(  # type: ignore[misc]
                            Data.pad(x, y), WIDE, ard=ard, start=start
                        )
                    )
                    columns = "scales of columns" if ard else "one scale"
                    print(f"{name:7} {what:12} {columns:17} {ours:.3f}  {ours / peer:4.0%}")


if __name__ == "__main__":
    main()
