"""The first points, before there is anything to learn from."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import jax
import numpy as np
from jaxtyping import Float, Int

from neurobo.acquisition.uncertainty import Uncertainty
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput, check_choice, check_count
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.search.exclusion import any_free, first_free
from neurobo.search.feasible_points import even_points, spread_points
from neurobo.search.optimiser import minimise
from neurobo.space.branches import Branches
from neurobo.space.encoders import Matrix
from neurobo.space.search_space import Space
from neurobo.space.sobol import sobol
from neurobo.surrogates import gaussian_process as gp
from neurobo.surrogates.hyperparameters import unknown
from neurobo.training.blas_threads import one_blas_thread

DESIGNS = ("sobol", "lhs", "random", "uncertainty")
BLOCK = 256
"""Points of a Sobol sequence that are made at once."""


def default_size(space: Space, *, lawful: bool = False) -> int:
    """Our rule: a little more than one point for each parameter, between 5 and 20; half of that
    where a law says what lies between the points."""
    size = int(np.clip(space.n_parameters + 2, 5, 20))
    return size // 2 if lawful else size


def paper_size(n_parameters: int, budget: int) -> int:
    """Greedy, appendix F.2: 5 d, clipped to 2.5 to 7.5 % of the budget."""
    return max(1, int(np.clip(5 * n_parameters, 0.025 * budget, 0.075 * budget)))


def start_size(
    space: Space, given: int | str | None, budget: int | None = None, *, lawful: bool = False
) -> int:
    if given is None:
        return default_size(space, lawful=lawful)
    if given == "paper":
        if budget is None:
            raise InvalidInput('n_startup_trials="paper" needs the budget `n_trials`, got none')
        return paper_size(space.n_parameters, budget)
    check_count("n_startup_trials", given, least=0)
    return int(given)


def check_design(design: str) -> None:
    check_choice("start", design, DESIGNS)


def start_point(
    space: Space, excluded: Matrix, *, design: str, size: int, seed: int, number: int
) -> Float[np.ndarray, " columns"]:
    """Point `number` of the design that `seed` names, or a later one if it is already taken."""
    if design == "uncertainty" and space.n_parameters and len(excluded):
        return _least_known(space, excluded, np.random.default_rng([seed, number]))
    if space.feasible is not None:
        points = _allowed_points(space, design, size, seed, number)
        found = first_free(space, points, excluded)
        if found is not None:
            return found
    elif space.n_parameters:
        unit = _unit_points(space.n_parameters, design, size, seed, number)
        points = _in_each_branch(space, unit, size, seed, number)
        found = first_free(space, points, excluded)
        if found is not None:
            return found
    return any_free(space, excluded, np.random.default_rng([seed, number]))


def _in_each_branch(
    space: Space, unit: Float[np.ndarray, "n parameters"], size: int, seed: int, number: int
) -> Matrix:
    """Points of the unit cube as points of the space. If the design has enough of them, each set of
    parameters that can be active together has its turn."""
    branches = space.branches
    if branches is None or branches.patterns > size:
        return space.from_unit(unit)
    x, parent = space.with_inactive(unit), unit[:, space.first_parent]
    return branches.spread(x, _turns(branches, len(unit), seed, number), parent)


def _turns(branches: Branches, n: int, seed: int, number: int) -> Int[np.ndarray, " n"]:
    """Which set of active parameters each of `n` points from `number` on has."""
    order = np.random.default_rng([seed, 1]).permutation(branches.patterns)
    return np.asarray(order[(number + np.arange(n)) % branches.patterns])


def _allowed_points(space: Space, design: str, size: int, seed: int, number: int) -> Matrix:
    """Points where input constraints are known: hypercubes would leave the region."""
    assert space.feasible is not None
    if design == "random":
        points = spread_points(space, 16, np.random.default_rng([seed, number]))
    else:
        points = even_points(space, number + 16, seed)[number:]
    branches = space.branches
    if branches is None or branches.patterns > size:
        return points
    rng = np.random.default_rng([seed, number, 1])
    turns = _turns(branches, len(points), seed, number)
    moved = branches.spread(space.filled(points, rng), turns, rng.random(len(points)))
    # Another branch may break a constraint that names its parent.
    return np.where(space.feasible.contains(moved)[:, None], moved, points)


def _least_known(
    space: Space, excluded: Matrix, rng: np.random.Generator
) -> Float[np.ndarray, " columns"]:
    """Where a wide network knows least after seeing the points taken (STO-BNTS, Theorem 1)."""
    x = space.inputs(excluded)
    data = replace(Data.pad(x, np.zeros(len(x))), points=excluded, excluded=excluded)
    with jax.enable_x64(True), one_blas_thread():
        known = gp.condition(data, InfiniteWidthMLP(activation="erf"), unknown(x.shape[1]))
        return minimise(Uncertainty(known), space, data, rng)


@lru_cache(maxsize=4)
def _sobol_block(dim: int, seed: int, block: int) -> np.ndarray:
    """Of a scrambled sequence, with the first points of the next block: many suggestions at once
    take one point after the other from it."""
    rng = np.random.default_rng([seed, 0])
    return sobol(dim, BLOCK + 16, rng, skip=block * BLOCK)


def _unit_points(dim: int, design: str, size: int, seed: int, number: int) -> np.ndarray:
    if design in ("sobol", "uncertainty"):  # the latter's first point
        block, place = divmod(number, BLOCK)
        return _sobol_block(dim, seed, block)[place : place + 16]
    if design == "lhs":
        from scipy.stats import qmc  # a third of a second

        # After `size` points a new hypercube begins.
        turn, place = divmod(number, max(size, 1))
        rng = np.random.default_rng([seed, turn])
        return np.asarray(qmc.LatinHypercube(dim, rng=rng).random(max(size, 1))[place:])
    return np.random.default_rng([seed, number]).random((16, dim))
