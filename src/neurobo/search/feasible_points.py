"""Points of a space with known input constraints: for designs, candidates and mutations."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist

from neurobo.data.content_cache import cached
from neurobo.errors import InvalidInput
from neurobo.search.hit_and_run import Walk
from neurobo.space.encoders import Matrix
from neurobo.space.feasible_set import FeasibleSet
from neurobo.space.search_space import Space
from neurobo.space.sobol import sobol

Column = Float[np.ndarray, " columns"]

KEPT = 1024
"""Points that are sampled once for each space; a suggestion moves them a little further."""
KEPT_SLOW = 256
"""If a callable takes one point at a time."""
LEVELS = 80
"""Of callables, each half as likely as the one before."""


def check_not_empty(space: Space) -> None:
    """Refuse callables that allow no point; what is linear was checked when the space was made."""
    if space.feasible is not None and space.feasible.oracle is not None:
        _kept(space)


def spread_points(
    space: Space, n: int, rng: np.random.Generator, *, base: Matrix | None = None
) -> Matrix:
    """About uniform points; columns without constraints are those of `base`."""
    assert space.feasible is not None
    kept = _kept(space)
    rows = kept[_shuffled(len(kept), n, rng)]
    if base is not None and space.feasible.oracle is None:
        rows = space.feasible.put(base, space.feasible.z(rows))
    return Walk(space, space.feasible, rng).after(rows, 3)


def local_points(
    space: Space, centre: Column, low: Column, high: Column, base: Matrix, rng: np.random.Generator
) -> Matrix:
    """Points of a box around an allowed one; columns without constraints are those of `base`."""
    region = space.feasible
    assert region is not None
    x = np.tile(centre, (len(base), 1))
    if region.oracle is None:
        x = region.put(base, region.z(x))
    sweeps = 8 + region.directions.shape[1] // 2
    return Walk(space, region, rng, *_ends(region, low, high)).after(x, sweeps)


def mutated_points(
    space: Space,
    parents: Matrix,
    rng: np.random.Generator,
    radius: Float[np.ndarray, " n"],
    rate: Float[np.ndarray, " n"],
    low: Column,
    high: Column,
) -> Matrix:
    """Points of a box near allowed parents."""
    region = space.feasible
    assert region is not None
    x = parents
    if region.oracle is None:
        moved = np.clip(space.mutate(parents, rng, radius, rate), low, high)
        x = region.put(moved, region.z(parents))
        if space.conditions:  # what only the mutation made inactive is as before
            lost = space.active_columns(x) & ~space.active_columns(moved)
            x = np.where(lost, space.filled(parents, rng), x)
        x = space.snap(x)
    return Walk(space, region, rng, *_ends(region, low, high), radius=radius).after(x, 2)


def _ends(region: FeasibleSet, low: Column, high: Column) -> tuple[np.ndarray, np.ndarray]:
    """A box in z."""
    ends = [region.scale.to_z(end[None, region.columns])[0] for end in (low, high)]
    return ends[0], ends[1]


def even_points(space: Space, count: int, seed: int) -> Matrix:
    """The first `count` points of a sequence that fills the region evenly.

    Kernel herding with the energy distance (Mak & Joseph, 2018): each point is the one of many
    uniform points that brings the mean distance to all of them, less that among the chosen, down.
    """
    points = spread_points(space, KEPT, np.random.default_rng([seed, 0]), base=_sobol(space, seed))
    distances = cdist(points, points)
    expected, near = distances.mean(axis=1), np.zeros(len(points))
    chosen: list[int] = []
    for i in range(min(count, len(points))):
        gain = expected - near / (i + 1)
        gain[chosen] = np.inf
        chosen.append(int(np.argmin(gain)))
        near += distances[:, chosen[-1]]
    return points[chosen]


def _sobol(space: Space, seed: int) -> Matrix:
    rng = np.random.default_rng([seed, 0])
    return space.with_inactive(sobol(space.n_parameters, KEPT, rng))


def _shuffled(size: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Every index equally often, in random order."""
    turns = [rng.permutation(size) for _ in range(-(-n // size))]
    return np.concatenate(turns)[:n]


def _kept(space: Space) -> Matrix:
    assert space.feasible is not None
    return _sampled(space.feasible, _Of(space))


class _Of:
    """A space as an argument of a cached function: its feasible set tells what it is."""

    def __init__(self, space: Space) -> None:
        self.space = space

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Of)

    def __hash__(self) -> int:
        return 0


@cached
def _sampled(region: FeasibleSet, of: _Of) -> Matrix:
    """Uniform points, the same in every process."""
    space, rng = of.space, np.random.default_rng(0)
    n = KEPT if region.oracle is None or region.oracle.fast else KEPT_SLOW
    x = space.with_inactive(rng.random((n, space.n_parameters)))
    if region.discrete_moves or not len(region.names):
        z = region.starts[rng.integers(len(region.starts), size=n)]
    else:  # any mean of vertices is inside
        weights = rng.dirichlet(np.ones(len(region.starts)), size=n)
        z = weights @ region.starts
    x = region.put(x, z)
    ways = region.directions.shape[1] + len(region.lattice) + 4 * len(region.groups)
    sweeps = 30 + 8 * ways
    if region.oracle is None:
        return Walk(space, region, rng).after(x, sweeps)
    return Walk(space, region, rng).after(_lowered(space, region, x, rng), min(sweeps, 100))


def _lowered(space: Space, region: FeasibleSet, x: Matrix, rng: np.random.Generator) -> Matrix:
    """Points where the callables are at most 0, by subset simulation (Au & Beck, 2001).

    The level that the callables may reach falls to the median of the points again and again; the
    better half is doubled and walks on, so that a region of volume 2^-k takes about k rounds.
    """
    assert region.oracle is not None
    x = Walk(space, region, rng, level=np.inf).after(x, 10)
    values = region.oracle(x)
    levels: list[float] = []
    for _ in range(LEVELS):
        level = max(0.0, float(np.median(values)))
        if not np.isfinite(level) or (len(levels) > 10 and level > 0.95 * levels[-10]):
            break  # it does not come nearer
        levels.append(level)
        fit = np.flatnonzero(values <= level)
        x = x[fit[_shuffled(len(fit), len(x), rng)]]
        x = Walk(space, region, rng, level=level).after(x, 6)
        if level == 0.0:
            return x
        values = region.oracle(x)
    least = int(np.argmin(values))
    raise InvalidInput(
        "where must allow at least one point of the space, and none was found: the lowest value of "
        f"the callables is {values[least]:.3g} at {space.decode(x[least])}, and must be at most 0"
    )
