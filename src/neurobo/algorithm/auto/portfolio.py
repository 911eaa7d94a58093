"""`auto`: the default, for those who do not want to choose.

No surrogate and no way to search is best everywhere: the wide limit with a scale for each column is
precise where inputs matter unequally, a network extrapolates bowls and valleys, and near the best
point a small region helps both in many dimensions. So members take turns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.algorithm.auto import credit
from neurobo.algorithm.auto.members import (
    MEMBERS,
    MEMBERS_OF_MANY,
    PICTURES,
    WIDE,
    Member,
    first_member,
    physics_member,
)
from neurobo.algorithm.auto.middle import untried_middle
from neurobo.algorithm.drawing import smoothed
from neurobo.algorithm.ntk_gp import NTKGP
from neurobo.algorithm.pinn_bo import PINNBO
from neurobo.algorithm.protocols import Decision, warm_started
from neurobo.algorithm.registry import given_later, options, register
from neurobo.data.observations import Data
from neurobo.data.trials import Trials
from neurobo.errors import InvalidInput, check_flag
from neurobo.physics.laws import Laws
from neurobo.search import trust_region as trust
from neurobo.search.trust_region import Region
from neurobo.space.search_space import Space
from neurobo.surrogates.hyperparameters import Logarithms
from neurobo.surrogates.input_warping import InputWarping, input_warping_for
from neurobo.surrogates.marginal_likelihood import MANY
from neurobo.surrogates.output_warping import FittedWarping, output_warping_for
from neurobo.surrogates.posterior import Function, Posterior


@dataclass(frozen=True, eq=False)
class Context:
    """What decides about the members besides the observations."""

    laws: Laws | None = None
    """Differential equations that the objective obeys."""
    middle: Float[np.ndarray, " columns"] | None = None
    """The middle of the box, if nothing was tried near it."""
    proposers: tuple[str, ...] = ()
    """Which member proposed each observation; empty if nobody knows."""


class Team(NamedTuple):
    members: dict[str, Member]
    warped: bool
    """Whether they see observations warped. Laws are about values as they are, and images have no
    wide limit here to judge a warping by."""


class Seen(NamedTuple):
    """Observations as members see them, and by which warping; None: as they are."""

    data: Data
    warp: FittedWarping | None
    stretch: InputWarping | None

    @property
    def start(self) -> Logarithms | None:
        """Where the search for hyper-parameters begins: the last warping came with some."""
        warping = self.stretch or self.warp
        return None if warping is None else warping.start


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

    context: Context = given_later(default=Context())

    requires_physics = False

    def __post_init__(self) -> None:
        if not set(self._names) <= set(MEMBERS):
            raise InvalidInput(
                f"members must be some of {list(MEMBERS)} with a plus between them, got "
                f"{self.members!r}"
            )
        for name in ("credit", "middle", "warp", "stretch", "noisy"):
            check_flag(name, getattr(self, name))

    def with_laws(self, laws: Laws) -> Auto:
        return replace(self, context=replace(self.context, laws=laws))

    def with_history(self, space: Space, trials: Trials) -> Auto:
        middle = untried_middle(space, trials) if self.middle else None
        good = np.isfinite(np.asarray(trials.values, dtype=float))
        proposers = tuple(np.array(trials.members)[good].tolist()) if trials.members else ()
        return replace(self, context=replace(self.context, middle=middle, proposers=proposers))

    def decide(self, key: Array, data: Data, number: int) -> Decision:
        team = self._team(data)
        name = self._turn(team, data, number)
        member, seen = team.members[name], self._seen(team, data)
        algorithm = warm_started(member.algorithm, seen.start)
        decision = algorithm.decide(key, seen.data, number)
        score = decision.score if seen.stretch is None else seen.stretch.of(decision.score)
        region = self._near(seen) if member.local and data.n else decision.region
        return Decision(score, region, name)

    def posterior(self, key: Array, data: Data) -> Posterior:
        """What the members that have one believe, of values as they are: for plots."""
        seen = self._stretched(self._told(data))
        found = self._believer(seen).posterior(key, seen.data)
        return found if seen.stretch is None else seen.stretch.believed(found)

    def sample(self, key: Array, data: Data, number: int) -> Function:
        seen = self._stretched(self._told(data))
        found = self._believer(seen).sample(key, seen.data, number)
        return found if seen.stretch is None else seen.stretch.of(found)

    def _believer(self, seen: Seen) -> NTKGP | PINNBO:
        if self.context.laws is not None:
            return PINNBO().with_laws(self.context.laws)
        return NTKGP(ard=seen.data.x.shape[1] <= MANY, start=seen.start)

    def near(self, data: Data) -> Region:
        """Where local members look."""
        return self._near(self.seen(data))

    def _near(self, seen: Seen) -> Region:
        data, wide = seen.data, self._believer(seen)
        assert isinstance(wide, NTKGP)  # no member for laws is local
        means = smoothed(data, wide.wide, wide.hyper(data))
        # Lucky values would be successes, and what follows them failures.
        return Region(int(means.order[0]), trust.radius(means if data.noisy else data))

    def seen(self, data: Data) -> Seen:
        """What members see."""
        return self._seen(self._team(data), data)

    def _seen(self, team: Team, data: Data) -> Seen:
        if not team.warped:
            return Seen(data, None, None)
        told = self._told(data)
        warp = output_warping_for(told, WIDE) if self.warp else None
        return self._stretched(told if warp is None else warp(told), warp)

    def _told(self, data: Data) -> Data:
        return replace(data, noisy=True) if self.noisy else data

    def _stretched(self, data: Data, warp: FittedWarping | None = None) -> Seen:
        plain = not self.stretch or self.context.laws is not None or data.image is not None
        start = None if warp is None else warp.start
        stretch = None if plain else input_warping_for(data, WIDE, start)
        return Seen(data if stretch is None else stretch(data), warp, stretch)

    def _team(self, data: Data) -> Team:
        if self.context.laws is not None:
            return Team(physics_member(self.context.laws), warped=False)
        if data.image is not None:
            return Team(PICTURES, warped=False)
        if self.context.middle is not None and not data.constraints:
            return Team(first_member(self.context.middle), warped=False)
        every = MEMBERS if data.x.shape[1] <= MANY else MEMBERS_OF_MANY
        return Team({name: every[name] for name in self._names}, warped=True)

    def _turn(self, team: Team, data: Data, number: int) -> str:
        if self.credit:
            return credit.turn(data, self.context.proposers, list(team.members), number)
        turns = [name for name in self._names if name in team.members] or list(team.members)
        return turns[number % len(turns)]

    @property
    def _names(self) -> list[str]:
        return str(self.members).split("+")


register(
    "auto", Auto, "Picks for you: wide and finite networks in turn, everywhere and near the best."
)
