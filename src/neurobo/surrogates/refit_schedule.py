"""When hyper-parameters are found anew, and from which observations.

They come from the first observations, until there are a tenth more; kernels and warpings, whose
choice takes several searches and seldom changes, until there are up to half as many more. So most
suggestions find them in the cache, and what they are depends on the history alone, not on what was
computed before.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from neurobo.data.content_cache import cached
from neurobo.data.observations import Data
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.surrogates.hyperparameters import Hyper, Logarithms, unknown
from neurobo.surrogates.marginal_likelihood import PRIOR_MEAN, hyper_at, search

MOST = 256
"""Observations that hyper-parameters are fitted to: more would cost much and change little."""

FIRST_CHOICE, CHOICE_GROWTH = 8, 1.5
"""Kernels and warpings are chosen from the first 8 observations, 12, 18, 27 and so on, if no other
growth is given."""


def update_sizes(n: int, growth: float = 1.1) -> list[int]:
    """After how many of n observations the hyper-parameters are found anew: after each while they
    are few, then whenever their number has grown by a tenth, or as `growth` says."""
    sizes = []
    size = 1
    while size <= n:
        sizes.append(size)
        size = max(size + 1, int(size * growth))
    return sizes


def scheduled_rows(n: int) -> Int[np.ndarray, " m"]:
    """Which of n observations the hyper-parameters come from."""
    return even_share(update_sizes(n)[-1], MOST)


def choice_rows(
    n: int, least: int, most: int = MOST, growth: float = CHOICE_GROWTH
) -> Int[np.ndarray, " m"] | None:
    """Which of n observations a choice of kernels or warpings comes from; None: it needs `least`,
    and they were fewer when it was due."""
    size = FIRST_CHOICE
    while int(size * growth) <= n:
        size = int(size * growth)
    return even_share(size, most) if least <= size <= n else None


def even_share(n: int, most: int) -> Int[np.ndarray, " m"]:
    """Rows among n, early and late ones alike: all of them, or `most`."""
    return np.linspace(0, n - 1, min(n, most)).astype(int)


def scheduled(
    data: Data,
    wide: InfiniteWidthMLP,
    *,
    ard: bool = False,
    noise: float | None = None,
    start: Logarithms | None = None,
) -> Hyper:
    """Hyper-parameters from the first observations only, so that most suggestions find them in
    the cache. What they are depends on the history alone, not on what was computed before."""
    if not data.n:
        return unknown(data.x.shape[1])
    p, some, sd = scheduled_search(data, wide, ard=ard, noise=noise, start=start)
    found = hyper_at(np.array(p), some, wide)
    variance = found.noise * sd**2 if noise is None else noise
    return Hyper(found.gamma, found.scale * sd, variance, found.scales)


def scheduled_search(
    data: Data,
    wide: InfiniteWidthMLP,
    *,
    ard: bool = False,
    noise: float | None = None,
    start: Logarithms | None = None,
) -> tuple[Logarithms, Data, float]:
    """Their logarithms, the observations that they come from, and one unit of these in y's. The
    search begins at `start`; None: at those of before."""
    sizes = update_sizes(data.n)
    p: Logarithms | None = None
    if start is not None:
        columns = data.x.shape[1]
        whole = (*start, *(0.0,) * columns)  # those of columns may not be known
        sizes, p = sizes[-1:], whole[: len(PRIOR_MEAN) + (columns if ard else 0)]
    for m in sizes:
        # A search begins where the one before ended, but afresh when the number has doubled.
        if m.bit_length() == sizes[-1].bit_length():
            some, _, sd = data.alone(even_share(m, MOST))
            here = None if noise is None else noise / sd**2
            p = _searched(some.x[: some.n], some.y[: some.n], wide, ard, here, p, data.noisy)
    assert p is not None
    return p, some, sd


@cached
def _searched(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    wide: InfiniteWidthMLP,
    ard: bool,
    noise: float | None,
    start: tuple[float, ...] | None,
    noisy: bool,
) -> tuple[float, ...]:
    data = replace(Data.pad(x, y), noisy=noisy)
    given = None if start is None else np.array(start)
    return tuple(search(data, wide, ard=ard, noise=noise, start=given).tolist())
