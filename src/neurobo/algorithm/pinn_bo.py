"""PINN-BO (Phan-Trong, chapter 5 of the thesis, Algorithm 4): the objective obeys known laws.

Rows for the laws join those of the observations in one training problem; the next point is the
minimum of a function drawn from the posterior given both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

from neurobo.acquisition.functions import LogExpectedImprovement, expected, expected_best
from neurobo.acquisition.physics_exploration import theory_nu
from neurobo.algorithm.registry import options, register
from neurobo.data.observations import Data
from neurobo.errors import InvalidInput, check_choice, check_number
from neurobo.networks.mlp import MLP
from neurobo.physics.conditioning import Known, condition
from neurobo.physics.hyperparameters import Settings, scheduled
from neurobo.physics.laws import Laws
from neurobo.physics.networks import candidates, uncertainty_is_cheap
from neurobo.physics.surrogate import LawPosterior, draws, posterior, trained
from neurobo.physics.warnings import warn_of_misfits
from neurobo.search.optimiser import Region, Score
from neurobo.surrogates.draws import SURROGATES


@options
class PINNBO:
    """Options of PINN-BO; symbols are the paper's."""

    surrogate: Literal["linear", "posterior", "simple"] = "linear"
    """The tangent of a network, for which Lemma 5.3.4 holds at any width; or a trained network as
    in PosteriorSMB; or as in SimpleSMB, which is the paper's."""
    acquisition: Literal["auto", "ts", "ei"] = "auto"
    """One drawn function (Thompson sampling), as in the text, or log expected improvement. "auto":
    the latter at every other suggestion up to 4 columns, unless network and laws are so large that
    it would take seconds; draws also go where a wrong law is found out."""
    nu: float | Literal["theory"] = 1.0
    """ν, the factor of the standard deviation. "theory" is Algorithm 4's, which grows with what is
    learnt beyond the laws."""
    weight: float | Literal["evidence"] = "evidence"
    """λ1/λ2: how much a point of a law counts in comparison with an observation, for laws that do
    not say. "evidence": as much as the observations agree with it. 0: no law counts."""
    gamma: float | Literal["evidence"] = "evidence"
    """σ_w = σ_b; larger means less smooth."""
    noise: float | None = None
    """Variance of the noise, in units of the standardised objective. None: by evidence."""
    width: int = 1024
    """At most: a single layer has fewer units if there are many columns."""
    depth: int = 1
    activation: str = "sin"
    """The paper has tanh in two to four layers."""
    additive: bool | Literal["auto"] = "auto"
    """Whether the evidence may also choose a network that is a sum of functions of one column each.
    "auto": above 4 columns, where a law at some hundred points says little to other networks."""

    needs_physics = True

    def __post_init__(self) -> None:
        self._network  # noqa: B018  # refuses bad sizes
        for name in ("nu", "gamma"):
            if getattr(self, name) not in ("theory", "evidence"):
                check_number(name, getattr(self, name), above=0)
        if self.weight != "evidence":
            check_number("weight", self.weight, least=0)
        if self.additive not in (True, False, "auto"):
            raise InvalidInput(f'additive must be true, false or "auto", got {self.additive!r}')
        if self.noise is not None:
            check_number("noise", self.noise, least=0)
        check_choice("surrogate", self.surrogate, SURROGATES)
        check_choice("acquisition", self.acquisition, ("auto", "ts", "ei"))
        if self.activation == "relu":
            raise InvalidInput(
                "activation must have derivatives of every order, such as tanh, got 'relu'"
            )

    def score(self, key: Array, data: Data, number: int) -> Score:
        return self.scores(key, data, [number])[0]

    def scores(self, key: Array, data: Data, numbers: Sequence[int]) -> list[Score]:
        """The first of a batch, and as many more as do not depend on it: draws do not."""
        if self._improves(data, numbers[0]):
            return [self._improvement(key, data, numbers[0])]
        drawn = list(takewhile(lambda number: not self._improves(data, number), numbers))
        if data.laws is not None and data.laws.moving:
            return [self.sample(key, data, number) for number in drawn]
        return self._draws(key, data, drawn)

    def _improves(self, data: Data, number: int) -> bool:
        """Whether expected improvement chooses."""
        if self.acquisition != "auto" or not data.n or number % 2:
            return self.acquisition == "ei" and data.n > 0
        rows = len(data.y) + _laws(data, number).rows
        return uncertainty_is_cheap(self._network, data.x.shape[1], rows)

    def sample(self, key: Array, data: Data, number: int) -> Score:
        return self._draws(key, data, [number])[0]

    def posterior(self, key: Array, data: Data, number: int = 0) -> LawPosterior:
        """Mean and standard deviation of Lemma 5.3.4."""
        state = self._state(key, data, number)
        return posterior(state, self._nu(state))

    def region(self, data: Data, number: int) -> Region | None:
        return None

    @property
    def _network(self) -> MLP:
        return MLP(self.width, self.depth, self.activation)

    def _draws(self, key: Array, data: Data, numbers: Sequence[int]) -> list[Score]:
        state = self._state(key, data, numbers[0])
        keys = [jax.random.fold_in(key, number) for number in numbers]
        if self.surrogate == "linear":
            return list(draws(keys, state, self._nu(state)))
        laws = _laws(data, numbers[0])
        return list(trained(keys, state, laws, self.surrogate, self._nu(state)))

    def _improvement(self, key: Array, data: Data, number: int) -> Score:
        found = self.posterior(key, data, number)
        if len(data.pending):  # as if they had turned out as expected
            believed = replace(data.believing(expected(found, data)), excess=None)
            found = self.posterior(key, believed, number)
        return LogExpectedImprovement(found, jnp.asarray(expected_best(found, data)))

    def _state(self, key: Array, data: Data, number: int) -> Known:
        laws = _laws(data, number)
        # One network throughout a run, as in Algorithm 4: what laws say is computed once.
        name = jax.random.fold_in(key, 2**31)
        weight = None if self.weight == "evidence" else self.weight
        gamma = None if self.gamma == "evidence" else self.gamma
        networks = candidates(self._network, data.x.shape[1], self.additive)
        hyper = scheduled(name, data, laws, Settings(networks, gamma, self.noise, weight))
        warn_of_misfits(laws, hyper, data)
        return condition(name, data, laws, hyper)

    def _nu(self, state: Known) -> float:
        return theory_nu(state) if self.nu == "theory" else self.nu


def _laws(data: Data, number: int) -> Laws:
    assert data.laws is not None  # `check_physics` has seen to it
    best = data.x[data.order[0]] if data.n else None
    return data.laws.at(number, best)


register("pinn-bo", PINNBO, "Draws that obey your differential equation: needs physics=PDE(...).")
