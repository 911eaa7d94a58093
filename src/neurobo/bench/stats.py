"""Statistics of benchmark results, lower is better. Pure functions on arrays.

A run without any feasible point has the result +inf: rank methods take it as it is, and a test
that would need its mean is replaced by one on ranks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy import special, stats

from neurobo.errors import InvalidInput

Sample = Float[np.ndarray, " n"]
Table = Float[np.ndarray, "blocks methods"]

LEVEL = 0.05
EXACT_UP_TO = 200
"""Pairs up to which the signed-rank distribution is counted instead of approximated."""
_DRAWS = 9999


def mean_and_error(sample: Sample) -> tuple[float, float]:
    """Mean and its standard error, which one value does not have."""
    if not np.isfinite(sample).all():
        return math.inf, math.nan
    error = np.std(sample, ddof=1) / math.sqrt(len(sample)) if len(sample) > 1 else math.nan
    return float(np.mean(sample)), float(error)


# Normality ------------------------------------------------------------------------------------


def normality(sample: Sample) -> float:
    """p-value of the Kolmogorov-Smirnov test that a sample is normal.

    Mean and deviation are estimated from the sample, so the p-value is Lilliefors' one (by
    simulation with a fixed seed): the plain one would accept nearly everything.
    """
    if len(sample) < 4 or not np.isfinite(sample).all():
        raise InvalidInput(f"normality needs at least 4 finite values, got {sample!r}")
    if not _varies(sample):
        return 0.0
    smaller = np.searchsorted(_null_distances(len(sample)), _distance(sample[None])[0])
    return float((1 + _DRAWS - smaller) / (1 + _DRAWS))


def _distance(samples: Float[np.ndarray, "m n"]) -> Float[np.ndarray, " m"]:
    """Largest distance between the empirical distribution and the fitted normal one."""
    n = samples.shape[1]
    ordered = np.sort(samples, axis=1)
    centre = ordered.mean(axis=1, keepdims=True)
    cdf = special.ndtr((ordered - centre) / ordered.std(axis=1, ddof=1, keepdims=True))
    above = np.arange(1, n + 1) / n - cdf
    below = cdf - np.arange(n) / n
    return np.maximum(above, below).max(axis=1)


@cache
def _null_distances(n: int) -> Float[np.ndarray, " m"]:
    """Distances of normal samples, ascending."""
    return np.sort(_distance(np.random.default_rng([n, 0]).normal(size=(_DRAWS, n))))


def _varies(sample: Sample) -> bool:
    """Whether the spread of a sample is more than rounding error."""
    return bool(np.std(sample) > 1e-12 * np.abs(sample).max())


# Tests ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Test:
    """A one-sided test and which one it was."""

    p: float
    kind: str
    """ "t", "Wilcoxon", or for unpaired samples "Welch", "Mann-Whitney"."""
    n: int
    """Pairs, or values of the smaller sample."""

    __test__ = False  # pytest would take the class for tests


def lower(a: Sample, b: Sample) -> Test:
    """Whether `a` tends to be lower than `b`, from pairs.

    A t-test on the differences; Wilcoxon's signed-rank test where they are not normal or where
    there are too few to tell.
    """
    if len(a) != len(b) or not len(a):
        raise InvalidInput(f"pairs need as many values on both sides, got {len(a)} and {len(b)}")
    d = differences(a, b)
    if len(d) >= 4 and np.isfinite(d).all() and _varies(d) and normality(d) >= LEVEL:
        t = np.mean(d) / (np.std(d, ddof=1) / math.sqrt(len(d)))
        return Test(float(special.stdtr(len(d) - 1, t)), "t", len(d))
    return Test(signed_rank(d), "Wilcoxon", len(d))


def lower_unpaired(a: Sample, b: Sample) -> Test:
    """Whether `a` tends to be lower than `b`, from samples that do not belong together."""
    n = min(len(a), len(b))
    if not n:
        raise InvalidInput(f"a test needs values on both sides, got {len(a)} and {len(b)}")
    usable = n >= 4 and np.isfinite(a).all() and np.isfinite(b).all()
    if usable and min(normality(a), normality(b)) >= LEVEL:
        p = stats.ttest_ind(a, b, equal_var=False, alternative="less").pvalue
        return Test(float(p), "Welch", n)
    if len(np.unique(np.concatenate([a, b]))) == 1:
        return Test(1.0, "Mann-Whitney", n)
    p = stats.mannwhitneyu(a, b, alternative="less").pvalue
    return Test(float(p), "Mann-Whitney", n)


def differences(a: Sample, b: Sample) -> Sample:
    """a - b, where two infinite values are equal."""
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0.0, a - b)


def signed_rank(d: Sample) -> float:
    """p-value of Wilcoxon's signed-rank test that differences tend to be negative.

    Zeros are left out. The distribution over all signs is counted, which is exact with ties too.
    """
    d = d[d != 0]
    if not len(d):
        return 1.0
    ranks = np.rint(2 * stats.rankdata(np.abs(d))).astype(int)  # ties share halves: doubled
    if len(d) > EXACT_UP_TO:
        z = (ranks[d > 0].sum() - ranks.sum() / 2) / math.sqrt(np.sum(ranks**2) / 4)
        return float(special.ndtr(z))
    share = np.zeros(int(ranks.sum()) + 1)  # share[w] of all signs has the rank sum w
    share[0] = 1.0
    for r in ranks:
        share *= 0.5
        share[r:] += share[:-r].copy()
    return float(min(1.0, share[: ranks[d > 0].sum() + 1].sum()))


def sign_test(d: Sample) -> float:
    """p-value that fewer than half of the differences other than zero are positive."""
    up, down = int(np.sum(d > 0)), int(np.sum(d < 0))
    if up + down == 0:
        return 1.0
    return float(stats.binomtest(up, up + down, alternative="less").pvalue)


def adjusted(p: Sample) -> Sample:
    """Benjamini and Hochberg's p-values: those below 5 % hold 5 % false discoveries at most."""
    return np.asarray(stats.false_discovery_control(p)) if len(p) else np.empty(0)


# Ranks ----------------------------------------------------------------------------------------


def ranks(results: Table) -> Table:
    """Rank of each method in each block, 1 for the lowest; equal results share the mean rank."""
    return np.asarray(stats.rankdata(results, axis=1))


def friedman(results: Table) -> float:
    """p-value that no method tends to rank above another; NaN for fewer than 3 methods."""
    blocks, methods = results.shape
    if methods < 3 or blocks < 2:
        return math.nan
    if (results == results[:, :1]).all():
        return 1.0
    return float(stats.friedmanchisquare(*ranks(results).T).pvalue)


def critical_difference(methods: int, blocks: int, level: float = LEVEL) -> float:
    """Nemenyi: mean ranks further apart than this differ significantly."""
    if methods < 2 or blocks < 1:
        raise InvalidInput(f"ranks need 2 methods and a block, got {methods} and {blocks}")
    q = stats.studentized_range.ppf(1 - level, methods, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(methods * (methods + 1) / (6 * blocks)))


def cliques(ordered: Float[np.ndarray, " methods"], width: float) -> list[tuple[int, int]]:
    """First and last place of every largest set of ascending mean ranks closer than `width`."""
    found: list[tuple[int, int]] = []
    for first, low in enumerate(ordered):
        last = int(np.flatnonzero(ordered - low <= width)[-1])
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


# Size of an effect ----------------------------------------------------------------------------


def superiority(a: Sample, b: Sample) -> float:
    """Share of pairs in which `a` is lower; equal ones count half."""
    return float(np.mean((a < b) + 0.5 * (a == b)))


def cliffs_delta(a: Sample, b: Sample) -> float:
    """Cliff's delta over all combinations: -1 where every `a` is below every `b`, 1 above."""
    above: Bool[np.ndarray, "n m"] = a[:, None] > b
    return float(np.mean(above) - np.mean(a[:, None] < b))


def median_ratio(a: Sample, b: Sample) -> float:
    """Median of `a` in units of the median of `b`; NaN if that makes no sense."""
    top, bottom = float(np.median(a)), float(np.median(b))
    if not (math.isfinite(top) and math.isfinite(bottom)) or top < 0 or bottom <= 0:
        return math.nan
    return top / bottom


def interval(
    sample: Float[np.ndarray, "n ..."],
    statistic: Callable[..., Any] = np.mean,
    level: float = LEVEL,
    draws: int = 2000,
) -> tuple[Any, Any]:
    """Percentile bootstrap interval of a statistic over the first axis, with a fixed seed."""
    rng = np.random.default_rng(0)
    chosen = rng.integers(len(sample), size=(draws, len(sample)))
    values = statistic(sample[chosen], axis=1)
    low, high = np.quantile(values, [level / 2, 1 - level / 2], axis=0)
    return low, high
