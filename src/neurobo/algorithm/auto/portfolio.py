"""`auto`: the default, a portfolio whose members take turns.

No surrogate and no search is best everywhere: the infinitely wide network with a scale for each
column is precise where inputs matter unequally, a finite network extrapolates bowls and valleys,
and a trust region around the best point helps both in many dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from jax import Array
from jaxtyping import Float

from neurobo.acquisition.constraints import Feasibility
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
from neurobo.algorithm.ntk_gp import NTKGP
from neurobo.algorithm.pinn_bo import PINNBO
from neurobo.algorithm.protocols import Algorithm, Decision, warm_started
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
from neurobo.surrogates.kernel_choice import KernelChoice, kernel_for
from neurobo.surrogates.marginal_likelihood import MANY
from neurobo.surrogates.output_warping import FittedWarping, output_warping_for
from neurobo.surrogates.posterior import Function, Posterior
from neurobo.surrogates.smoothed_values import smoothed


@dataclass(frozen=True, eq=False)
class Context:
    """What decides about the members besides the observations."""

    laws: Laws | None = None
    """Differential equations that the objective obeys."""
    middle: Float[np.ndarray, " columns"] | None = None
    """The middle of the box, if nothing was tried near it."""
    proposers: tuple[str, ...] = ()
    """Which member proposed each observation; empty if unknown."""


class Team(NamedTuple):
    members: dict[str, Member]
    warped: bool
    """Whether they see warped observations. Laws hold for the original values, and images have no
    closed-form kernel here to compare warpings by."""


class Seen(NamedTuple):
    """Observations as members see them, and the warpings; None: not warped."""

    data: Data
    warp: FittedWarping | None
    input_warp: InputWarping | None
    kernel: KernelChoice | None = None
    """Of the NTK Gaussian process, if it is not the default."""

    @property
    def start(self) -> Logarithms | None:
        """Where the search for hyper-parameters begins: the last warping came with some."""
        warping = self.input_warp or self.warp
        return None if warping is None else warping.start


class View(NamedTuple):
    """What one member sees, and the algorithm it uses."""

    data: Data
    algorithm: Algorithm
    input_warp: InputWarping | None


@options
class Auto:
    """`auto`, the default: a portfolio of the NTK Gaussian process (global and in a trust region)
    and Neural Greedy, with input and output warping chosen by marginal likelihood.

    Members take turns. If `physics` is given, PINN-BO makes all suggestions; pools of images use a
    convolutional network. Most users set `noisy` and nothing else.
    """

    members: str = "wide+wide-local+network-local"
    """The members in the order of their turns, separated by a plus; a name may occur more than
    once. "wide": NTK Gaussian process; "wide-local": the same in a trust region; "network-local":
    Neural Greedy in a trust region; "network": Neural Greedy in the whole box."""
    credit: bool = False
    """Whether members whose suggestions improve the best value get more turns. False: rotation."""
    middle: bool = True
    """Whether the middle of the box is evaluated after the initial design, if no point of the
    design is near it."""
    warp: bool = True
    """Output warping: whether values of the objective and of constraints are warped by a logarithm
    if the marginal likelihood prefers it."""
    input_warping: bool = True
    """Whether a parameter is warped by a logarithm if the marginal likelihood prefers it, which
    compensates for a forgotten `log=True`. The old name `stretch` is accepted, too."""
    kernel: bool = True
    """Whether the kernel becomes a sum of kernels of one parameter each if the marginal likelihood
    clearly prefers it: parameters do not interact."""
    noisy: bool = False
    """Whether the same point is known to give different values. True: noise is expected from the
    start, trust regions follow expected values, and noisy expected improvement is averaged over
    posterior samples. False means unknown: the noise variance is estimated from the results. The
    members for laws and images estimate it in any case."""

    context: Context = given_later(default=Context())

    requires_physics = False
    renamed: ClassVar = {"stretch": "input_warping"}

    def __post_init__(self) -> None:
        if not set(self._names) <= set(MEMBERS):
            raise InvalidInput(
                f"members must be some of {list(MEMBERS)} with a plus between them, got "
                f"{self.members!r}"
            )
        for name in ("credit", "middle", "warp", "input_warping", "kernel", "noisy"):
            check_flag(name, getattr(self, name))

    @property
    def feasibility(self) -> Feasibility:
        return Feasibility(warp=self.warp)

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
        view = self._view(member.algorithm, data, seen)
        decision = view.algorithm.decide(key, view.data, number)
        score = decision.score if view.input_warp is None else view.input_warp.of(decision.score)
        region = self._near(data, seen) if member.local and data.n else decision.region
        return Decision(score, region, name)

    def _view(self, algorithm: Algorithm, data: Data, seen: Seen) -> View:
        if seen.kernel is None or not isinstance(algorithm, NTKGP):
            return View(seen.data, warm_started(algorithm, seen.start), seen.input_warp)
        wide = seen.kernel.wide
        chosen = replace(algorithm, activation=wide.activation, additive=wide.additive)
        # Original values: warping them would make parameters interact.
        given = self._with_noise_option(data)
        return View(
            given if seen.input_warp is None else seen.input_warp(given), chosen, seen.input_warp
        )

    def posterior(self, key: Array, data: Data) -> Posterior:
        """The posterior of the members that have one, in original units: for plots."""
        view = self._closed_form(data)
        assert isinstance(view.algorithm, NTKGP | PINNBO)
        found = view.algorithm.posterior(key, view.data)
        return found if view.input_warp is None else view.input_warp.posterior(found)

    def sample(self, key: Array, data: Data, number: int) -> Function:
        view = self._closed_form(data)
        assert isinstance(view.algorithm, NTKGP | PINNBO)
        found = view.algorithm.sample(key, view.data, number)
        return found if view.input_warp is None else view.input_warp.of(found)

    def _closed_form(self, data: Data) -> View:
        """The closed-form surrogate of the original values."""
        if self.context.laws is not None:
            return View(data, PINNBO().with_laws(self.context.laws), None)
        seen = self.seen(data)
        if seen.kernel is None:
            seen = self._with_input_warp(self._with_noise_option(data))
        return self._view(self._wide(data), data, seen)

    def _wide(self, data: Data) -> NTKGP:
        return NTKGP(ard=data.x.shape[1] <= MANY)

    def near(self, data: Data) -> Region:
        """The trust region of local members."""
        return self._near(data, self.seen(data))

    def _near(self, data: Data, seen: Seen) -> Region:
        view = self._view(self._wide(data), data, seen)
        assert isinstance(view.algorithm, NTKGP)
        means = smoothed(view.data, view.algorithm.wide, view.algorithm.hyper(view.data))
        # Lucky values would be successes, and what follows them failures.
        noisy = view.data.noisy
        return Region(int(means.order[0]), trust.radius(means if noisy else seen.data))

    def seen(self, data: Data) -> Seen:
        """What members see."""
        return self._seen(self._team(data), data)

    def _seen(self, team: Team, data: Data) -> Seen:
        if not team.warped:
            return Seen(data, None, None)
        given = self._with_noise_option(data)
        warp = output_warping_for(given, WIDE) if self.warp else None
        seen = self._with_input_warp(given, warp)
        if warp is not None and warp.warp.strength < 0:
            # A parameter that matters by its logarithm makes low values rare, as narrow wells do.
            plain = self._with_input_warp(given)
            seen = seen if plain.input_warp is None else plain
        return seen._replace(kernel=self._kernel(data, seen))

    def _with_noise_option(self, data: Data) -> Data:
        return replace(data, noisy=True) if self.noisy else data

    def _with_input_warp(self, data: Data, warp: FittedWarping | None = None) -> Seen:
        plain = not self.input_warping or self.context.laws is not None or data.image is not None
        input_warp = None if plain else input_warping_for(data, WIDE, warp)
        seen = data if warp is None else warp(data)
        return Seen(seen if input_warp is None else input_warp(seen), warp, input_warp)

    def _kernel(self, data: Data, seen: Seen) -> KernelChoice | None:
        plain = not self.kernel or self.context.laws is not None or data.image is not None
        strength = 0.0 if seen.warp is None else seen.warp.warp.strength
        given = self._with_noise_option(data)
        return None if plain else kernel_for(given, strength, seen.input_warp)

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
    "auto",
    Auto,
    "The default: a portfolio of the NTK Gaussian process and Neural Greedy, global and local.",
)
