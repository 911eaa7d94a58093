"""Do evaluations fail because of where they are, or at random?

A failure that the point explains is a constraint to learn; a failure at random says nothing about
its neighbourhood. The two are told apart by how well each outcome is predicted from all others:
by a Gaussian process over the points, or by the rate of failures alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from neurobo.data.observations import CRASH, Constraint, Data
from neurobo.networks.architectures import Architecture
from neurobo.surrogates.multi_output import GAMMAS, spectrum
from neurobo.surrogates.refit_schedule import scheduled_rows

ENOUGH = 3.0
"""By how much the points must raise the log probability of the outcomes: a factor of 20."""
FEWEST = 2
"""Failures below which there is nothing to compare."""
RATIOS = (0.01, 0.1, 1.0)
"""Variance of the outcomes' noise relative to that of the function."""
SUCCESS = -1.0
"""The prior mean: far from all failures evaluations succeed."""
SURPRISE = 0.02
"""Least probability of any outcome: one surprise does not decide."""


def without_random(data: Data, network: Architecture) -> Data:
    """The data without the constraint of failed evaluations if these are at random."""
    kept = tuple(c for c in data.constraints if c.name != CRASH or explained(c, network) >= ENOUGH)
    return data if len(kept) == len(data.constraints) else replace(data, constraints=kept)


def explained(crashes: Constraint, network: Architecture) -> float:
    """Σ log p(outcome i | all other outcomes), with the points minus without them."""
    # As hyper-parameters, from the first observations until there are a tenth more, 256 at most.
    rows = scheduled_rows(crashes.data.n)
    x, failed = crashes.data.x[rows], crashes.data.values[rows] > 0
    n, count = len(failed), int(np.sum(failed))
    if min(count, n - count) < FEWEST:
        return 0.0
    # Laplace's rule for the rate among the others.
    alike = np.where(failed, count, n - count)
    by_rate = float(np.sum(np.log(alike / (n + 1))))
    outcome = np.where(failed, 1.0, -1.0)
    best = -np.inf
    for gamma in GAMMAS:
        values, vectors, _ = spectrum(network, gamma, x)
        turned = vectors.T @ (outcome - SUCCESS)
        for ratio in RATIOS:
            shares = 1 / (values + ratio)
            precision = vectors**2 @ shares
            left_out = outcome - (vectors @ (shares * turned)) / precision
            sd = np.sqrt(np.mean(turned**2 * shares) / precision)
            likely = ndtr(outcome * left_out / sd)
            by_place = np.sum(np.log(SURPRISE + (1 - 2 * SURPRISE) * likely))
            best = max(best, float(by_place) - by_rate)
    return best
