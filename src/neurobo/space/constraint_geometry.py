"""From the constraints of a space to the region they allow: rows, starting points, directions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float

from neurobo.errors import InvalidInput
from neurobo.space import lattice
from neurobo.space.encoders import Numeric
from neurobo.space.feasible_set import FeasibleSet, Group, Scale
from neurobo.space.input_constraints import AtMost, InputConstraints, exact
from neurobo.space.linear_constraints import Linear
from neurobo.space.oracle import Oracle
from neurobo.space.parameters import Fixed, Parameter
from neurobo.space.polyhedron import (
    Polyhedron,
    Vector,
    affine,
    interior,
    mixed_point,
    spread,
)

PAIRS = 12
"""Random pairs of opposite vertices of a region with whole numbers, where sampling starts."""
SMALLEST = 1e-4
"""Width of a region in its widest column, of 2: points are told apart down to 1e-6."""
Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""a, b, e, f of { a z <= b, e z = f }."""


@lru_cache(maxsize=32)
def feasible_set(
    where: InputConstraints, parameters: tuple[tuple[str, Parameter], ...]
) -> FeasibleSet:
    """The region of constraints over the parameters that can vary.

    Raises:
        InvalidInput: There is no such point, or only one although no value is fixed.
    """
    edges = np.cumsum([0, *(p.width for _, p in parameters)])
    numeric = [
        (n, int(c), p)
        for (n, p), c in zip(parameters, edges, strict=False)
        if isinstance(p, Numeric) and p.ordered and n in where.names
    ]
    names = tuple(n for n, _, _ in numeric)
    ranges = [p.distribution for _, _, p in numeric]
    scale = Scale(
        np.array([float(d.low) for d in ranges]),
        np.array([float(d.high) for d in ranges]),
        np.array([d.log for d in ranges], dtype=bool),
    )
    spacing = np.array([0.0 if p.step is None else 2 / (p.count - 1) for _, _, p in numeric])
    mid, half = (scale.low + scale.high) / 2, (scale.high - scale.low) / 2
    none = np.zeros((0, len(names)))
    blank = FeasibleSet(
        names, np.array([c for _, c, _ in numeric], dtype=int), scale,
        *_rows(where, where.linear, names, scale, spacing == 0),
        _user_rows(where, (r for r in where.linear if r.equality), names), spacing,
        tuple(g for one in where.at_most if (g := _group(one, where, names)) is not None),
        zero=-mid / half, directions=none.T, lattice=none, starts=none, centre=None,
        oracle=Oracle.of(where, dict(parameters)) if where.callables else None,
    )  # fmt: skip
    where.check_constants(names)
    found = _mixed(blank, where) if blank.groups or spacing.any() else _polytope(blank, where)
    # A value that somebody fixed may determine the others.
    varies = len(names) < len(parameters) or any(isinstance(p, Fixed) for _, p in parameters)
    if not varies and not found.extended:
        values = scale.value(found.starts[:1])[0].round(12) + 0.0
        only = dict(zip(names, values.tolist(), strict=True))
        raise InvalidInput(f"where must leave more than one point to choose from, got only {only}")
    return found


def _group(one: AtMost, where: InputConstraints, names: tuple[str, ...]) -> Group | None:
    """What fixed values leave of a group."""
    constants = dict(where.constants)
    used = [name for name in one.names if constants.get(name, 0) != 0]
    if len(used) > one.k:
        raise InvalidInput(
            f"where must allow at least one point of the space, got fixed values other than 0 of "
            f"{', '.join(used)}: {one}"
        )
    free = [names.index(name) for name in one.names if name not in constants]
    return Group(one.k - len(used), np.array(free)) if free else None


def _user_rows(
    where: InputConstraints, linear: Iterable[Linear], names: tuple[str, ...]
) -> tuple[Float[np.ndarray, "_ p"], Float[np.ndarray, " _"]]:
    """Coefficients and right sides over the parameters that can vary, in the user's units."""
    constants, found = dict(where.constants), []
    for row in linear:
        of = dict(row.coefficients)
        fixed = sum(of.pop(n) * exact(constants[n]) for n in list(of) if n in constants)
        found.append([*(float(of.get(n, 0)) for n in names), float(row.bound - fixed)])
    both = np.reshape(np.array(found), (-1, len(names) + 1))
    return both[:, :-1], both[:, -1]


def _rows(
    where: InputConstraints,
    linear: Iterable[Linear],
    names: tuple[str, ...],
    scale: Scale,
    continuous: Bool[np.ndarray, " p"],
) -> Rows:
    """Rows over z, scaled to a largest coefficient of 1."""
    mid, half = (scale.low + scale.high) / 2, (scale.high - scale.low) / 2
    largest = np.maximum(np.abs(scale.low), np.abs(scale.high))
    found: list[np.ndarray] = []
    for equality in (False, True):
        c, right = _user_rows(where, (r for r in linear if r.equality == equality), names)
        right = right - c @ mid
        if not equality:
            # Decoding rounds: a few units in the last place keep sums on the allowed side.
            rounded = np.any(c[:, continuous] != 0, axis=1)
            right = right - rounded * 4 * np.finfo(float).eps * (np.abs(c) @ largest)
        c = c * half
        size = np.max(np.abs(c), axis=1, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        found += [c / size[:, None], right / size]
    return found[0], found[1], found[2], found[3]


def _bounded(a: np.ndarray, b: np.ndarray, e: np.ndarray, f: np.ndarray) -> Polyhedron:
    eye = np.eye(a.shape[1])
    return Polyhedron(np.r_[a, eye, -eye], np.r_[b, np.ones(2 * len(eye))], e, f)


def _polytope(blank: FeasibleSet, where: InputConstraints) -> FeasibleSet:
    """A region of continuous columns."""
    if not blank.names:
        return replace(blank, starts=np.zeros((1, 0)), extended=False)
    region = _bounded(blank.a, blank.b, blank.e, blank.f)
    inner = interior(region)
    if inner is None:
        raise InvalidInput(_conflict(blank, where))
    axes, vertices = spread(region, inner)
    if len(vertices) and np.ptp(vertices, axis=0).max() < SMALLEST:
        low, high = blank.scale.value(vertices.min(axis=0)), blank.scale.value(vertices.max(axis=0))
        held = {n: (float(a), float(b)) for n, a, b in zip(blank.names, low, high, strict=True)}
        raise InvalidInput(
            "where must leave a region that can be seen in the parameters' ranges; narrow these to "
            f"what is allowed, got only {held}"
        )
    kept = ~inner.implied[: len(blank.b)]
    return replace(
        blank,
        a=blank.a[kept],
        b=blank.b[kept],
        e=np.concatenate([blank.e, region.a[inner.implied]]),
        f=np.concatenate([blank.f, region.b[inner.implied]]),
        directions=axes,
        starts=np.concatenate([inner.origin[None], vertices]),
        centre=inner.origin,
        extended=axes.shape[1] > 0,
    )


def _mixed(blank: FeasibleSet, where: InputConstraints) -> FeasibleSet:
    """A region with whole columns or groups: points by mixed-integer programs."""
    if interior(_bounded(blank.a, blank.b, blank.e, blank.f)) is None:
        raise InvalidInput(_conflict(blank, where))
    costs = np.random.default_rng(0).normal(size=(PAIRS, len(blank.names)))
    vertices = [v for c in costs for sign in (1, -1) if (v := _vertex(blank, sign * c)) is not None]
    starts = [z for v in vertices if (z := _settled(blank, *v)) is not None]
    if not starts:
        raise InvalidInput(
            "where must allow at least one point of the space, got none: there are points between "
            f"the allowed values, but no allowed value meets {'; '.join(where.words())}"
        )
    free = np.flatnonzero(blank.continuous)
    _, across = affine(blank.e[:, free], blank.f)
    directions = np.zeros((len(blank.names), across.shape[1]))
    directions[free] = across
    return replace(
        blank,
        directions=directions,
        lattice=_lattice(blank, where),
        starts=np.unique(np.stack(starts).round(12), axis=0),
        # Opposite vertices in random directions: of one point they are all the same.
        extended=bool(np.ptp([z for z, _ in vertices], axis=0).max() > 1e-6),
    )


def _vertex(region: FeasibleSet, cost: Vector) -> tuple[np.ndarray, np.ndarray] | None:
    """The vertex of a region with whole columns or groups where `cost` is lowest, up to tolerances,
    and which columns are then held: whole ones, and those of groups that must be zero.

    Variables are z, or its place in the lattice, and for each column of a group whether it may
    differ from zero.
    """
    p, whole = len(region.spacing), ~region.continuous
    step = np.where(whole, region.spacing, 1.0)
    shift = np.where(whole, -1.0, 0.0)  # z = shift + step * variable
    low, high = np.where(whole, 0.0, -1.0), np.where(whole, np.round(2 / step), 1.0)
    members = np.unique(np.concatenate([np.zeros(0, int), *(g.columns for g in region.groups)]))
    switches = len(members)
    a, e = (np.pad(rows * step, ((0, 0), (0, switches))) for rows in (region.a, region.e))
    f = region.f - region.e @ shift
    rows, least, most = [a, e], [np.full(len(region.b), -np.inf), f], [region.b - region.a @ shift]
    most.append(f)
    # A column of a group lies between zero · (1 - switch) + low · switch and the same with high.
    at_zero = ((region.zero - shift) / step)[members]
    for ends, lower, upper in (
        (high[members], -np.inf, at_zero),
        (low[members], at_zero, np.inf),
    ):
        rows.append(np.c_[np.eye(p)[members], np.diag(at_zero - ends)])
        least.append(np.broadcast_to(lower, switches))
        most.append(np.broadcast_to(upper, switches))
    for group in region.groups:
        rows.append(np.r_[np.zeros(p), np.isin(members, group.columns)][None].astype(float))
        least.append(np.array([-np.inf]))
        most.append(np.array([float(group.k)]))
    found = mixed_point(
        np.r_[cost, np.zeros(switches)],
        np.concatenate(rows), np.concatenate(least), np.concatenate(most),
        (np.r_[low, np.zeros(switches)], np.r_[high, np.ones(switches)],
         np.r_[whole, np.ones(switches)].astype(float)),
    )  # fmt: skip
    if found is None:
        return None
    z = shift + step * np.where(whole, np.round(found[:p]), found[:p])
    closed = members[np.round(found[p:]) == 0]
    z[closed], whole[closed] = region.zero[closed], True
    return z, whole


def _settled(region: FeasibleSet, z: np.ndarray, held: np.ndarray) -> np.ndarray | None:
    """A point with these values in the columns that are held, as far inside as there is room."""
    free = ~held
    if free.any():
        rest = _bounded(
            region.a[:, free], region.b - region.a[:, held] @ z[held],
            region.e[:, free], region.f - region.e[:, held] @ z[held],
        )  # fmt: skip
        inner = interior(rest)
        if inner is None:
            return None
        z = z.copy()
        z[free] = np.clip(inner.origin, -1.0, 1.0)
    return z if region.holds(z[None])[0] else None


def _lattice(blank: FeasibleSet, where: InputConstraints) -> Float[np.ndarray, "l p"]:
    """Steps of whole columns that keep the equations, with what continuous ones must add."""
    whole, free = np.flatnonzero(~blank.continuous), np.flatnonzero(blank.continuous)
    # A step in the user's units, exactly as it was written.
    wide = blank.scale.high - blank.scale.low
    step = [exact(round(w, 12)) if w else Fraction(1) for w in wide * blank.spacing / 2]
    equations = [dict(one.coefficients) for one in where.linear if one.equality]
    pairs = list(zip(blank.names, step, strict=True))
    rows = [[of.get(name, Fraction(0)) * s for name, s in pairs] for of in equations]
    only = [[row[j] for j in whole] for row in lattice.without(rows, free.tolist())]
    steps = lattice.kernel(only, len(whole))
    if only and len(steps) <= 2 * PAIRS:  # differences are shorter ways from point to point
        two = [(u, v) for i, u in enumerate(steps) for v in steps[:i]]
        steps += [[a - b for a, b in zip(u, v, strict=True)] for u, v in two]
    basis = np.array(steps, dtype=float).reshape(len(steps), len(whole))
    found = np.zeros((len(basis), len(blank.names)))
    found[:, whole] = basis * blank.spacing[whole]
    if len(free) and len(blank.f):
        missed = -blank.e[:, whole] @ found[:, whole].T
        found[:, free] = np.linalg.lstsq(blank.e[:, free], missed, rcond=1e-10)[0].T
    return found


def _conflict(blank: FeasibleSet, where: InputConstraints) -> str:
    """Which linear constraints cannot be met together."""
    kept = list(where.linear)
    for row in where.linear:
        fewer = [other for other in kept if other is not row]
        rows = _rows(where, fewer, blank.names, blank.scale, blank.continuous)
        if interior(_bounded(*rows)) is None:
            kept = fewer
    texts = list(dict.fromkeys(row.text for row in kept))
    used = {name for row in kept for name, _ in row.coefficients}
    constants = [f"{name} = {value}" for name, value in where.constants if name in used]
    given = f" with {', '.join(constants)}" if constants else ""
    return (
        "where must allow at least one point of the space, got constraints that cannot be met "
        f"together within the parameters' ranges{given}: {'; '.join(map(repr, texts))}"
    )
