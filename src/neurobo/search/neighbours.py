"""Points one discrete move away: a change of one parameter, or of as many as constraints need."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from neurobo.search.hit_and_run import exchanged
from neurobo.space.encoders import Matrix
from neurobo.space.feasible_set import FeasibleSet, Points
from neurobo.space.search_space import Space


def has_discrete_moves(space: Space) -> bool:
    """Whether there are moves besides those of continuous columns."""
    groups = space.feasible is not None and bool(space.feasible.groups)
    return groups or not space.continuous.all()


def neighbours(
    space: Space, x: Matrix, rng: np.random.Generator
) -> tuple[Matrix, Int[np.ndarray, " n"]]:
    """Allowed points one move away from one of `x`, and from which."""
    near, owner = _one_change(space, x, rng)
    region = space.feasible
    if region is None:
        return near, owner
    points, owners = [near], [owner]
    for i, z in enumerate(region.z(x)):
        moved = np.concatenate([_steps(region, z[None], rng), _exchanges(region, z[None])])
        moved = moved[region.holds(moved) & np.any(np.abs(moved - z) > 1e-9, axis=1)]
        points.append(space.snap(region.put(np.tile(x[i], (len(moved), 1)), moved)))
        owners.append(np.full(len(moved), i))
    near, owner = np.concatenate(points), np.concatenate(owners)
    inside = region.contains(near)
    return near[inside], owner[inside]


def _one_change(
    space: Space, x: Matrix, rng: np.random.Generator
) -> tuple[Matrix, Int[np.ndarray, " n"]]:
    """Points that differ from one of `x` in one discrete parameter, and in those that it activates,
    which are drawn; and from which."""
    moves = [p.all_moves(x[:, columns]) for p, columns in space.blocks()]
    # Parameters with too many values draw some, point after point.
    drawn = [
        {i: p.moves(row[c], rng) for i, (p, c) in enumerate(space.blocks()) if moves[i] is None}
        for row in x
    ]
    counts = np.array(
        [[len(d[i]) if m is None else m.shape[1] for i, m in enumerate(moves)] for d in drawn],
        dtype=int,
    ).reshape(len(x), len(moves))
    begin = np.cumsum(np.r_[0, counts.ravel()])[:-1].reshape(counts.shape)
    owner = np.repeat(np.arange(len(x)), counts.sum(axis=1))
    found = space.filled(x[owner], rng)
    for i, (every, (_, columns)) in enumerate(zip(moves, space.blocks(), strict=True)):
        if every is not None:
            found[begin[:, [i]] + np.arange(every.shape[1]), columns] = every
        else:
            for first, some in zip(begin[:, i], (d[i] for d in drawn), strict=True):
                found[first : first + len(some), columns] = some
    if not space.conditions:
        return found, owner
    active = space.conditions.active(x)
    flags = [active.get(name, np.ones(len(x), dtype=bool)) for name in space.parameters]
    kept = np.repeat(np.stack(flags, axis=1).ravel(), counts.ravel())
    return space.conditions.canonical(found[kept]), owner[kept]


def _steps(region: FeasibleSet, z: Points, rng: np.random.Generator) -> Points:
    """One whole step, and a longer one, in each direction of the lattice."""
    d = np.concatenate([region.lattice, -region.lattice])
    far = rng.integers(2, 9, size=(len(d), 1))
    return np.concatenate([z + d, z + far * d])


def _exchanges(region: FeasibleSet, z: Points) -> Points:
    """Every component of a group replaced by every other; and left out, if that is possible."""
    found = [z[:0]]
    for group in region.groups:
        used = region.nonzero(z)[0, group.columns]
        leaves, enters = (a.ravel() for a in np.meshgrid(group.columns[used], group.columns[~used]))
        found.append(exchanged(region, np.repeat(z, len(leaves), axis=0), leaves, enters))
        pairs = [(i, j) for i in group.columns[used] for j in group.columns[used] if i != j]
        if pairs:  # the rest takes what the one had
            first, second = np.array(pairs).T
            found.append(exchanged(region, np.repeat(z, len(pairs), axis=0), first, second))
    return np.concatenate(found)


def together(
    space: Space, x: Float[np.ndarray, " columns"], near: Matrix, gains: Float[np.ndarray, " n"]
) -> Matrix:
    """The best 2, 4, 8, … changes of different parameters among those that are better alone."""
    order = np.argsort(gains)
    order = order[: np.sum(gains < -1e-12)]
    changed = near[order] != x
    point, used, found = x.copy(), np.zeros(len(x), dtype=bool), [near[:0]]
    count = 0
    for one, columns in zip(near[order], changed, strict=True):
        if np.any(used & columns):
            continue
        used |= columns
        point = np.where(columns, one, point)
        count += 1
        if count > 1 and count & (count - 1) == 0:
            found.append(point[None])
    if count > 2 and count & (count - 1):
        found.append(point[None])
    points = np.concatenate(found)
    if space.conditions:  # two changes may activate what neither does alone
        points = space.snap(points)
    return points if space.feasible is None else points[space.feasible.contains(points)]
