"""Hyper-parameters by evidence where there are laws, and how far each law is to be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.data.content_cache import cached
from neurobo.data.observations import Data
from neurobo.networks.additive import Additive
from neurobo.networks.architectures import Architecture
from neurobo.physics.conditioning import (
    ROUNDS,
    Known,
    PhysicsHyper,
    Units,
    known,
    law_targets,
    mean_of,
)
from neurobo.physics.features import ExpansionPoint, Features, features
from neurobo.physics.laws import Laws
from neurobo.physics.marginal_likelihood import PhysicsKernels, cost
from neurobo.physics.networks import ample
from neurobo.surrogates.linearised import tangent_kernel
from neurobo.surrogates.refit_schedule import even_share, update_sizes

GAMMAS = tuple((w, b) for w in (0.7, 1.3, 2.5, 4.5, 8.0, 16.0, 32.0, 64.0) for b in (1.0, 3.0))
"""σ_w and σ_b that the evidence chooses from; with several networks only where σ_b = 1."""
LEVELS = (1e-6, 1e-5, 1e-4, 1e-2, 1e-1, 1.0, 10.0, 1e4)
"""λ2 in units of κ. At the last one a law says nothing."""
TRUSTED = 1e-4
"""A law with a larger λ2 is doubted, if the observations speak for it clearly."""
CLEARLY = 3.0
"""The logarithm of how much likelier the observations must be."""
MOST = 256
"""Observations that the evidence looks at."""
GROWTH = 1.15
"""By how much observations must have grown before the evidence is asked again."""
ALONE = 6
"""Up to so many laws each gets a λ2 of its own."""
RESOLVED = 0.25
"""A network is too rough for the points of the laws if what a law says at one of them is open to
more than this share of its variance after the others. It can obey any law there and do as it likes
between; a wrong law would drive the evidence to such networks."""
_GAMMA = np.log([2.0, 1.0]), np.array([1.5, 0.8])


def _level_prior(level: np.ndarray) -> Float[np.ndarray, " laws"]:
    """The prior trusts a given law, within limits."""
    return np.minimum((np.log10(level) + 5) ** 2 / 8, 3.0)


@dataclass(frozen=True)
class Settings:
    """What the user has fixed, as opposed to what the evidence shall find."""

    networks: tuple[Architecture, ...]
    """To choose from."""
    gamma: tuple[float, float] | None = None
    noise: float | None = None
    weight: float | None = None
    """λ1/λ2 for laws that do not say."""


def scheduled(key: Array, data: Data, laws: Laws, settings: Settings) -> PhysicsHyper:
    """Hyper-parameters from the first observations only, so that most suggestions find them in
    the cache; they depend on the history alone."""
    count = update_sizes(data.n, GROWTH)[-1] if data.n else 0
    early, all_units = Units.of(data, laws.sign, count), Units.of(data, laws.sign)
    step = early.spread / all_units.spread
    known_noise = None if settings.noise is None else settings.noise / step**2
    fixed = replace(settings, noise=known_noise)
    found = _searched(key, data.x[:count], data.values[:count], laws, fixed)
    noise = found.noise * step**2 if settings.noise is None else settings.noise
    return replace(found, scale=found.scale * step, noise=noise)


@cached
def _searched(
    key: Array,
    x: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, " n"],
    laws: Laws,
    settings: Settings,
) -> PhysicsHyper:
    chosen = even_share(len(values), MOST)
    data = Data.pad(x[chosen], values[chosen])
    search = Search(key, data, laws, settings)
    if laws.affine:
        return search.over(search.choices)
    found, around = search.over(search.choices, without=True), None
    for _ in range(ROUNDS):
        around = mean_of(search.state(found, around))
        found = search.over([(found.network, found.gamma)], around)
    return found


Choice = tuple[Architecture, tuple[float, float]]
"""A network and γ."""


@dataclass(frozen=True)
class Search:
    """The search for the best hyper-parameters of some observations."""

    key: Array
    data: Data
    laws: Laws
    settings: Settings

    @property
    def choices(self) -> list[Choice]:
        given = self.settings.gamma
        networks, gammas = self.settings.networks, GAMMAS
        if len(networks) > 1:
            gammas = tuple(gamma for gamma in GAMMAS if gamma[1] == 1.0)
        if given is not None:
            gammas = (given,)
        return [(network, gamma) for network in networks for gamma in gammas]

    @property
    def fixed(self) -> bool:
        """Whether nothing is left to find out about any λ2."""
        if self.settings.weight is not None:
            return True
        laws = (law.pde for law in self.laws.laws)
        return all(pde.weight is not None or pde.noise is not None for pde in laws)

    def state(self, hyper: PhysicsHyper, around: ExpansionPoint | None) -> Known:
        given = self.judge(hyper.network, hyper.gamma, around)
        return known(given.found, hyper, self.data, given.laws, around)

    def judge(
        self, network: Architecture, gamma: tuple[float, float], around: ExpansionPoint | None
    ) -> _Given:
        """By a few points of the laws; but sums of functions of one column take in many."""
        laws = self.laws if isinstance(network, Additive) else self.laws.few
        return _Given(self, laws, features(laws, network, gamma, self.key, around), around)

    def over(
        self,
        choices: Sequence[Choice],
        around: ExpansionPoint | None = None,
        *,
        without: bool = False,
    ) -> PhysicsHyper:
        """The best over some networks and γ, and all λ2 that are not given; or without any law."""
        levels = (LEVELS[-1],) if without or self.fixed else LEVELS
        best: dict[float, tuple[float, PhysicsHyper]] = {}
        for network, gamma in choices:
            given = self.judge(network, gamma, around)
            # A single choice is one that was made before.
            free = levels if len(choices) == 1 or given.resolved else levels[-1:]
            for level in free:
                one = given.at(np.full(len(self.laws.laws), level))
                if level not in best or one[0] < best[level][0]:
                    best[level] = one
        trusted = min((best[level] for level in best if level <= TRUSTED), default=None,
                      key=lambda one: one[0])  # fmt: skip
        value, hyper = min(best.values(), key=lambda one: one[0])
        misfit = 0.0 if trusted is None else trusted[0] - value
        count = len(self.laws.laws)
        hyper = replace(hyper, misfit=(misfit,) * count)
        if without or self.fixed or not 1 < count <= ALONE:
            return hyper
        given = self.judge(hyper.network, hyper.gamma, around)
        return _one_by_one(given, hyper) if len(choices) == 1 or given.resolved else hyper


def _one_by_one(given: _Given, hyper: PhysicsHyper) -> PhysicsHyper:
    """Each law's λ2 on its own, beginning where all had the same."""
    trust, misfit = np.array(hyper.trust), np.zeros(len(hyper.trust))
    trust = np.clip(trust, LEVELS[0], LEVELS[-1])
    for _ in range(2):
        for i in range(len(trust)):
            costs = []
            for level in LEVELS:
                changed = trust.copy()
                changed[i] = level
                costs.append((given.at(changed)[0], level))
            value, trust[i] = min(costs)
            misfit[i] = min(c for c, level in costs if level <= TRUSTED) - value
    _, found = given.at(trust)
    return replace(found, misfit=tuple(misfit.tolist()))


class _Given:
    """The cost of λ2 for one γ."""

    def __init__(
        self, search: Search, laws: Laws, found: Features, around: ExpansionPoint | None
    ) -> None:
        self.search, self.laws, self.found, self.around = search, laws, found, around
        self.spoken = Units.of(search.data, laws.sign)
        data, kappa = search.data, found.typical
        x = data.x[: data.n]
        at = jnp.asarray(data.x)
        gamma = jnp.asarray(found.gamma)
        seen = np.asarray(tangent_kernel(found.network, gamma, found.theta0, at, at))
        self.kernels = PhysicsKernels(
            seen[: data.n, : data.n] / kappa, found.cross(x) / kappa, found.among / kappa
        )
        self.targets = law_targets(found, laws, self.spoken, around)

    @property
    def resolved(self) -> bool:
        """A question of γ, not of the width: a network of a hundred units has too few gradients to
        do as it likes between some hundred points, however rough it is."""
        search, found = self.search, self.found
        wide = ample(found.network, search.data.x.shape[1])
        if wide != found.network:
            found = features(self.laws, wide, found.gamma, search.key, self.around)
        good = found.good > 0
        among = found.among[np.ix_(good, good)]
        among = among + 1e-5 * np.trace(among) / len(among) * np.eye(len(among))
        left = 1 / np.diag(np.linalg.inv(among)) / np.diag(among)  # leaving one out
        return bool(np.mean(left) < RESOLVED)

    def at(self, levels: Float[np.ndarray, " laws"]) -> tuple[float, PhysicsHyper]:
        """The cost, and all that goes with it."""
        settings, kappa, found = self.search.settings, self.found.typical, self.found
        free, scale, noise = levels.copy(), 1.0, 1e-6
        fixed = False
        for _ in range(3):  # λ2 may be given in units that depend on ν and λ1
            for i, law in enumerate(self.search.laws.laws):
                weight = settings.weight if law.pde.weight is None else law.pde.weight
                if law.pde.noise is not None:
                    size = np.median(found.sizes[found.law == i]) * abs(self.spoken.spread)
                    free[i], fixed = (law.pde.noise / (size * scale)) ** 2, True
                elif weight is not None:
                    ratio = noise / scale**2
                    free[i], fixed = (ratio / weight if weight else LEVELS[-1]), True
            free = np.clip(free, 1e-8, LEVELS[-1])
            rows = np.where(found.good > 0, free[found.law], LEVELS[-1])
            best = cost(self.kernels, self.spoken.y, self.targets, rows, settings.noise)
            scale, noise = best.scale, best.noise
            if not fixed:
                break
        w, b = found.gamma
        prior = 0.0  # of a given γ, whose σ_b may be 0
        if settings.gamma is None:
            prior = np.sum(((np.log([w, b]) - _GAMMA[0]) / _GAMMA[1]) ** 2) / 2
        trust = tuple(np.where(free >= LEVELS[-1], np.inf, free).tolist())
        total = best.cost + float(prior + _level_prior(free).sum() / len(free))
        return total, PhysicsHyper(found.network, found.gamma, scale / np.sqrt(kappa), noise, trust)
