from __future__ import annotations

import numpy as np
import pytest

from neurobo.bench.problems import PROBLEMS, Problem


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_the_known_optimum_is_one(problem: Problem) -> None:
    best = np.array(problem.best_point)
    scale = max(1.0, abs(problem.optimum))
    assert problem.regret(problem.function(best)) == pytest.approx(0, abs=1e-6 * scale)
    low, high = np.array(problem.bounds, dtype=float).T
    assert np.all((best >= low) & (best <= high))
    rng = np.random.default_rng(0)
    for _ in range(300):
        assert problem.regret(problem.function(rng.uniform(low, high))) > 0
        near = np.clip(best + rng.normal(size=problem.dim) * 1e-3 * (high - low), low, high)
        assert problem.regret(problem.function(near)) > -1e-6 * scale
