"""`auto`: the choice for those who do not want to choose.

No surrogate and no way to search is best everywhere: the wide limit with a scale for each column is
precise where inputs matter unequally, a network extrapolates bowls and valleys, and near the best
point a small region helps both in many dimensions. So members take turns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from jax import Array

from neurobo.acquisition.functions import Posterior
from neurobo.algorithm.auto import credit
from neurobo.algorithm.auto.members import (
    FIRST,
    LAWFUL,
    MEMBERS,
    MEMBERS_OF_MANY,
    PICTURES,
    PLAIN,
    WIDE,
    Member,
)
from neurobo.algorithm.drawing import smoothed
from neurobo.algorithm.ntk_gp import NTKGP
from neurobo.algorithm.pinn_bo import PINNBO
from neurobo.algorithm.registry import options, register
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput, check_flag
from neurobo.search import trust_region as trust
from neurobo.search.optimiser import Region, Score
from neurobo.surrogates.input_warping import InputWarping, input_warping_for
from neurobo.surrogates.marginal_likelihood import MANY
from neurobo.surrogates.output_warping import FittedWarping, output_warping_for


class Seen(NamedTuple):
    """Observations, and how their values and points got there; None: they stayed as they are."""

    data: Data
    warp: FittedWarping | None
    stretch: InputWarping | None


@options
class Auto:
    """A portfolio: the wide limit everywhere and near the best point, and Neural Greedy near it;
    PINN-BO where a law is known."""

    members: str = "wide+wide-local+network-local"
    """Whose turn it is, again and again, with a plus between them; there is also "network", which
    looks everywhere."""
    credit: bool = False
    """Whether members that do well get more turns, instead of one after the other."""
    middle: bool = True
    """Whether the middle of the box is tried first, if no point of the start is near it."""
    warp: bool = True
    """Whether values are bent if that makes them easier to explain, as far as the evidence says."""
    stretch: bool = True
    """Whether parameters are stretched at one end if that makes values easier to explain: a
    logarithm that nobody asked for."""
    noisy: bool = False
    """Say so if you know that the same point would give different values. Noise is then looked
    for, and expected from the start; without, it is found if it cannot be overlooked. Members for
    laws and images go by what they find themselves."""

    needs_physics = False

    def __post_init__(self) -> None:
        if not set(self._names) <= set(MEMBERS):
            raise InvalidInput(
                f"members must be some of {list(MEMBERS)} with a plus between them, got "
                f"{self.members!r}"
            )
        for name in ("credit", "middle", "warp", "stretch", "noisy"):
            check_flag(name, getattr(self, name))

    def member(self, data: Data, number: int) -> str:
        team = self._team(data)
        if self.credit:
            return credit.turn(data, list(team), number)
        turns = [name for name in self._names if name in team] or list(team)
        return turns[number % len(turns)]

    def score(self, key: Array, data: Data, number: int) -> Score:
        seen = self.seen(data)
        score = self._chosen(data, number).algorithm.score(key, seen.data, number)
        return score if seen.stretch is None else seen.stretch.of(score)

    def posterior(self, key: Array, data: Data) -> Posterior:
        """What the members that have one believe, of values as they are: for plots."""
        seen, stretch = self._stretched(self._told(data))
        found = self._believer(data).posterior(key, seen)
        return found if stretch is None else stretch.believed(found)

    def sample(self, key: Array, data: Data, number: int) -> Score:
        seen, stretch = self._stretched(self._told(data))
        found = self._believer(data).sample(key, seen, number)
        return found if stretch is None else stretch.of(found)

    def _believer(self, data: Data) -> NTKGP | PINNBO:
        if data.laws is not None:
            return PINNBO()
        return NTKGP(ard=data.x.shape[1] <= MANY)

    def region(self, data: Data, number: int) -> Region | None:
        chosen = self._chosen(data, number)
        if not chosen.local or not data.n:
            return chosen.algorithm.region(data, number)
        return self.near(data)

    def near(self, data: Data) -> Region:
        """Where local members look."""
        wide, bent = self._believer(data), self.seen(data).data
        assert isinstance(wide, NTKGP)  # no member for laws is local
        means = smoothed(bent, wide.wide, wide.hyper(bent))
        # Lucky values would be successes, and what follows them failures.
        return Region(int(means.order[0]), trust.radius(means if bent.noisy else bent))

    def seen(self, data: Data) -> Seen:
        """What members see."""
        if any(self._team(data) is team for team in PLAIN):
            return Seen(data, None, None)
        told = self._told(data)
        warp = output_warping_for(told, WIDE) if self.warp else None
        bent, stretch = self._stretched(told if warp is None else warp(told))
        return Seen(bent, warp, stretch)

    def _told(self, data: Data) -> Data:
        return replace(data, noisy=True) if self.noisy else data

    def _stretched(self, data: Data) -> tuple[Data, InputWarping | None]:
        plain = not self.stretch or data.laws is not None or data.image is not None
        stretch = None if plain else input_warping_for(data, WIDE)
        return (data, None) if stretch is None else (stretch(data), stretch)

    def _chosen(self, data: Data, number: int) -> Member:
        return self._team(data)[self.member(data, number)]

    def _team(self, data: Data) -> dict[str, Member]:
        if data.laws is not None:
            return LAWFUL
        if data.image is not None:
            return PICTURES
        if self.middle and data.middle is not None and not data.limits:
            return FIRST
        every = MEMBERS if data.x.shape[1] <= MANY else MEMBERS_OF_MANY
        return {name: every[name] for name in self._names}

    @property
    def _names(self) -> list[str]:
        return str(self.members).split("+")


register(
    "auto", Auto, "Picks for you: wide and finite networks in turn, everywhere and near the best."
)
