"""Where may a point be feasible? Unknown constraints, learned beside the objective.

Each constraint has a surrogate of its own: the NTK GP with a scale for each column as soon as
the observations suffice for its hyper-parameters, a network before. A point is allowed where every
constraint's lower confidence bound permits feasibility (Neural-CBO, Algorithm 3); any algorithm's
score is searched there. While nothing feasible is known, the likeliest place to be feasible is
searched instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.acquisition.exploration import cbo_beta
from neurobo.acquisition.normal_tails import log_probability
from neurobo.acquisition.score import Score
from neurobo.compilation import compiled
from neurobo.data.observations import CRASH, Constraint, Data
from neurobo.errors import check_number
from neurobo.networks.architectures import Architecture
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.keys import fold_in
from neurobo.networks.mlp import MLP
from neurobo.networks.selection import network_for
from neurobo.surrogates import multi_output, wide_outputs
from neurobo.surrogates.constraint_warping import warped_constraint
from neurobo.surrogates.multi_output import FixedHyper, MultiOutput
from neurobo.surrogates.wide_outputs import WideOutputs


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Bounds:
    """Lower confidence bounds of all constraints, above their thresholds."""

    groups: tuple[MultiOutput | WideOutputs, ...]
    """Constraints that were observed at the same points are one group."""
    thresholds: Float[Array, " k"]
    deviations: Float[Array, " k"]
    """How many standard deviations the bounds are below the means."""

    def moments(self, x: Float[Array, "n d"]) -> tuple[Float[Array, "k n"], Float[Array, "k n"]]:
        """How far each constraint's mean is above its threshold, and its standard deviation."""
        found = [group.mean_and_sd(x) for group in self.groups]
        mean = jnp.concatenate([mean for mean, _ in found])
        return mean - self.thresholds[:, None], jnp.concatenate([sd for _, sd in found])

    def lower(self, x: Float[Array, "n d"]) -> Float[Array, "k n"]:
        """Allowed where none is above 0."""
        above, sd = self.moments(x)
        return above - self.deviations[:, None] * sd


CEILING = 1e6
"""Above every score of an allowed point."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Within:
    """x -> the score where the bounds allow it, else how far they are from allowing it."""

    score: Score
    bounds: Bounds

    def limits(self, x: Float[Array, "n d"]) -> Float[Array, "k n"]:
        return self.bounds.lower(x)

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        over = jnp.sum(jnp.maximum(self.limits(x), 0.0), axis=0)
        inside = jnp.minimum(self.score(x), CEILING)
        # Added, not multiplied: descents remember how steep it was, and would stand still inside.
        return jnp.where(over > 0, CEILING + over, inside)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Reaching:
    """x -> -log of the probability that every constraint holds, with the score as tie-breaker."""

    score: Score
    bounds: Bounds

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        above, sd = self.bounds.moments(x)
        unlikely = -jnp.sum(log_probability(-above / sd), axis=0)
        return unlikely + TIE * jnp.tanh(self.score(x))


TIE = 1e-3


def check_bounds(beta: float | str, caution: float | None) -> None:
    """Refuse options that would let the cautious bound lie below the optimistic one."""
    check_number("beta", beta, least=0, unless=("theory",))
    if caution is not None:
        least = 1.0 if isinstance(beta, str) else float(np.sqrt(beta))
        check_number("caution", caution, least=-least)


@dataclass(frozen=True)
class Feasibility:
    """How constraints are handled."""

    beta: float | Literal["theory"] = 1.0
    """At every other suggestion a point is allowed where each constraint's mean minus √β standard
    deviations permits it, as in Neural-CBO. "theory": as many as its Lemma 4.1.5 asks for."""
    caution: float | None = 1.0
    """At the others, where the mean plus so many standard deviations does: bounds that are always
    optimistic approach the feasible region from outside, and may never be inside. None: always
    optimistic."""
    crash_caution: tuple[float, float] = (1.5, 2.5)
    """The same for failed evaluations, at even and odd suggestions. Optimistic bounds lead to
    another failure nearly every time: success and failure are a step, which shows nothing before it
    comes.
    """
    width: int = 256
    depth: int = 1
    activation: str = "erf"
    solver: str = "gauss-newton"
    sphere: bool = True
    """Whether networks see inputs on a sphere."""
    fixed: FixedHyper | None = None
    """Hyper-parameters; None: by evidence."""
    warp: bool = True
    """Whether constraints are warped around their thresholds if the marginal likelihood prefers
    it."""
    ard: bool = True
    """Whether each constraint has the NTK GP as its surrogate, with a scale for each column, as
    soon as the observations suffice for that. False: always networks."""

    def learn(self, key: Array, data: Data, number: int) -> tuple[Bounds, Data]:
        """What is known of the constraints, and the data with each observation judged by it."""
        groups: dict[tuple[bytes, bool], list[Constraint]] = {}
        for c in self._warped(data):
            alike = c.data.x[: c.data.n].tobytes(), self._has_ntk_gp(c)
            groups.setdefault(alike, []).append(c)
        constraints = [c for group in groups.values() for c in group]
        known = [replace(c.data, pending=data.pending) for c in constraints]
        sizes = [len(group) for group in groups.values()]
        bounds = self._bounds(key, data, known, constraints, sizes, number)
        violation = _violation(bounds, data, constraints)
        if len(data.pending) and not np.any(violation <= 0):
            # Points are on their way to where feasibility is likeliest: look elsewhere.
            mean, sd = _at(bounds, data.pending)
            above = mean + np.asarray(bounds.thresholds)[:, None] + sd
            known = [d.with_fantasies(row) for d, row in zip(known, above, strict=True)]
            bounds = self._bounds(key, data, known, constraints, sizes, number)
        return bounds, replace(data, violation=violation)

    def _bounds(
        self,
        key: Array,
        data: Data,
        known: Sequence[Data],
        constraints: Sequence[Constraint],
        sizes: Sequence[int],
        number: int,
    ) -> Bounds:
        found: list[MultiOutput | WideOutputs] = []
        first = 0
        for i, size in enumerate(sizes):
            network = self.network(data, constraints[first].name)
            wide = self._has_ntk_gp(constraints[first])
            group, first = known[first : first + size], first + size
            # A fresh start whenever there is something new to learn from.
            name = fold_in(fold_in(key, 2**30 + i), group[0].n)
            found.append(self._surrogates(name, group, network, wide=wide))
        thresholds = np.array([c.threshold for c in constraints])
        if number % 2 and self.caution is not None:
            deviations = np.full(len(constraints), -self.caution)
        else:
            deviations = self._optimistic(found)
        crash = np.array([c.name == CRASH for c in constraints])
        deviations = np.where(crash, -self.crash_caution[number % 2], deviations)
        return Bounds(tuple(found), jnp.asarray(thresholds), jnp.asarray(deviations))

    def _surrogates(
        self, key: Array, known: Sequence[Data], network: Architecture, *, wide: bool
    ) -> MultiOutput | WideOutputs:
        if not wide:
            hyper = None if self.fixed is None else self.fixed.of(len(known))
            return multi_output.learn(key, known, network, solver=self.solver, hyper=hyper)
        assert isinstance(network, MLP)
        return wide_outputs.learn(key, known, InfiniteWidthMLP.of(network))

    def _has_ntk_gp(self, constraint: Constraint) -> bool:
        """Whether its surrogate is the NTK GP. Success and failure are a step, which needs no
        more than a network, and the theory's β is that of networks."""
        evidence = self.fixed is None and self.beta != "theory" and constraint.name != CRASH
        return self.ard and evidence and wide_outputs.data_suffice(constraint.data)

    def _warped(self, data: Data) -> tuple[Constraint, ...]:
        if not self.warp:
            return data.constraints
        return tuple(
            warped_constraint(c, self.network(data, c.name), ard=self._has_ntk_gp(c))
            for c in data.constraints
        )

    def network(self, data: Data, name: str) -> Architecture:
        """The surrogate of a constraint."""
        # Success and failure are a step, which a network that foresees bowls bends too far.
        sphere = self.sphere and name != CRASH
        return network_for(data.image, self.width, self.depth, self.activation, sphere=sphere)

    def _optimistic(self, found: Sequence[MultiOutput | WideOutputs]) -> Float[np.ndarray, " k"]:
        if self.beta != "theory":
            return np.full(sum(len(group.noise) for group in found), np.sqrt(self.beta))
        networks = [group for group in found if isinstance(group, MultiOutput)]
        known = [(np.asarray(group.information), np.asarray(group.noise)) for group in networks]
        gains, noises = (np.concatenate(column) for column in zip(*known, strict=True))
        pairs = zip(gains.tolist(), noises.tolist(), strict=True)
        return np.array([cbo_beta(gain, np.sqrt(noise), ridge=noise) for gain, noise in pairs])


@compiled
def _moments(bounds: Bounds, x: Float[Array, "n d"]) -> tuple[Array, Array]:
    return bounds.moments(x)


def _at(bounds: Bounds, x: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
    padded = Data.pad(x, np.zeros(len(x))).x
    mean, sd = _moments(bounds, padded)
    return np.asarray(mean)[:, : len(x)], np.asarray(sd)[:, : len(x)]


def _violation(
    bounds: Bounds, data: Data, constraints: Sequence[Constraint]
) -> Float[np.ndarray, " n"]:
    """By how much each observation of the objective breaks the constraints: as was observed, or as
    is expected where that is not known or full of noise."""
    expected, _ = _at(bounds, data.x[: data.n])
    known = np.array([c.known - c.threshold for c in constraints])
    noises = np.concatenate([np.asarray(group.noise) for group in bounds.groups])
    certain = (noises < CLEAR) | np.array([c.name == CRASH for c in constraints])
    trusted = ~np.isnan(known) & certain[:, None]
    return np.sum(np.maximum(np.where(trusted, known, expected), 0.0), axis=0)


CLEAR = 1e-3
"""Variance of a constraint's noise, in units of its values', up to which it is taken as observed:
3 % of their spread."""


def constrained(score: Score, bounds: Bounds, data: Data) -> Within | Reaching:
    """What to minimise, given what one would minimise without constraints."""
    assert data.violation is not None
    return (Within if np.any(data.violation <= 0) else Reaching)(score, bounds)
