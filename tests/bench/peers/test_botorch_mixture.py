"""Mixtures against BoTorch with `equality_constraints`, the peer that knows them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import wilcoxon

import neurobo
from neurobo.search.feasible_points import even_points
from neurobo.space.search_space import Space

Mixture = Callable[[np.ndarray], float]
BUDGET, SEEDS = 25, 5


def _near(parts: int) -> tuple[Mixture, float]:
    """A bowl with ripples around an inner point, whose least value is 0."""
    best = np.random.default_rng(parts).dirichlet(np.ones(parts))
    return lambda x: float(np.sum(4 * (x - best) ** 2 + 0.1 * (1 - np.cos(9 * (x - best))))), 0.0


def _corner(parts: int) -> tuple[Mixture, float]:
    """Synergy of two parts; all others are best left out."""

    def value(x: np.ndarray) -> float:
        return float(1 - 4 * x[0] * x[1] + np.sum(x[2:] * np.arange(1, parts - 1)) / parts)

    return value, 0.0


PROBLEMS: dict[str, tuple[int, Mixture, float]] = {
    "inner 3": (3, *_near(3)),
    "inner 8": (8, *_near(8)),
    "corner 3": (3, *_corner(3)),
    "corner 8": (8, *_corner(8)),
}


def _start(parts: int, seed: int) -> tuple[Any, list[str], np.ndarray]:
    space = {f"p{i}": (0.0, 1.0) for i in range(parts)}
    where = [" + ".join(space) + " == 1"]
    return space, where, (even_points(Space.of(space, where), parts + 2, seed) + 1) / 2


def _ours(parts: int, value: Mixture, seed: int) -> float:
    space, where, start = _start(parts, seed)
    study = neurobo.minimize(
        lambda p: value(np.array(list(p.values()))), space, BUDGET, where=where, seed=seed,
        initial=[dict(zip(space, x.tolist(), strict=True)) for x in start],
        n_startup_trials=len(start), progress=False,
    )  # fmt: skip
    return study.best_value


def _botorch(parts: int, value: Mixture, seed: int) -> float:
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(seed)
    x = torch.tensor(_start(parts, seed)[2], dtype=torch.double)
    bounds = torch.stack([torch.zeros(parts), torch.ones(parts)]).double()
    one = (torch.arange(parts), torch.ones(parts, dtype=torch.double), 1.0)
    while len(x) < BUDGET:
        y = -torch.tensor([[value(row.numpy())] for row in x], dtype=torch.double)
        model = SingleTaskGP(x, y, outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        candidate, _ = optimize_acqf(
            LogExpectedImprovement(model, y.max()), bounds, q=1, num_restarts=8, raw_samples=128,
            equality_constraints=[one],
        )  # fmt: skip
        x = torch.cat([x, candidate])
    return min(value(row.numpy()) for row in x)


@pytest.mark.peers
def test_mixtures_are_solved_not_worse_than_by_botorch() -> None:
    """20 pairs from the same initial designs; one-sided Wilcoxon test at 5 %."""
    logs: dict[str, list[float]] = {"ours": [], "botorch": []}
    for name, (parts, value, least) in PROBLEMS.items():
        for seed in range(SEEDS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # those of the peer's packages
                found = {"ours": _ours(parts, value, seed), "botorch": _botorch(parts, value, seed)}
            for who, best in found.items():
                logs[who].append(float(np.log10(max(best - least, 1e-8))))
        means = {who: np.mean(values[-SEEDS:]).round(2) for who, values in logs.items()}
        print(name, means)  # noqa: T201  (pytest -s)
    assert wilcoxon(logs["ours"], logs["botorch"], alternative="greater").pvalue > 0.05
