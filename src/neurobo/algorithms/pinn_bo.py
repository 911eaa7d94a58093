"""PINN-BO (Phan-Trong, chapter 5 of the thesis, Algorithm 4): the objective obeys known laws.

Rows for the laws join those of the observations in one training problem; the next point is the
minimum of a function drawn from the posterior given both.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal
from weakref import WeakSet

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from neurobo.acquire import LogExpectedImprovement, expected, expected_best
from neurobo.algorithms.base import options, register
from neurobo.data import Data
from neurobo.errors import InvalidInput, NeuroboWarning, check_choice, check_number
from neurobo.law_evidence import CLEARLY, TRUSTED, Settings, affordable, scheduled
from neurobo.law_model import Hyper, Known, LawPosterior, condition, draws, posterior, trained
from neurobo.laws import Laws
from neurobo.maximise import Region, Score
from neurobo.networks import MLP, Additive, Architecture
from neurobo.ntk import information_gain, interaction_information
from neurobo.physics import PDE
from neurobo.posterior import SURROGATES
from neurobo.schedules import pinn_nu

MANY = 4
"""Columns above which sums of functions of one column are considered."""


@options
class PINNBO:
    """Options of PINN-BO; symbols are the paper's."""

    surrogate: Literal["linear", "posterior", "simple"] = "linear"
    """The tangent of a network, for which Lemma 5.3.4 holds at any width; or a trained network as
    in PosteriorSMB; or as in SimpleSMB, which is the paper's."""
    acquisition: Literal["ts", "ei"] = "ts"
    """One drawn function (Thompson sampling), or log expected improvement."""
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
        check_choice("acquisition", self.acquisition, ("ts", "ei"))
        if self.activation == "relu":
            raise InvalidInput(
                "activation must have derivatives of every order, such as tanh, got 'relu'"
            )

    def score(self, key: Array, data: Data, number: int) -> Score:
        return self.scores(key, data, [number])[0]

    def scores(self, key: Array, data: Data, numbers: Sequence[int]) -> list[Score]:
        """A batch: one draw for each number."""
        if self.acquisition == "ei" and data.n:
            return [self._improvement(key, data, number) for number in numbers]
        if _moves(data):
            return [self._draw(key, data, number) for number in numbers]
        return self._draws(key, data, numbers)

    def sample(self, key: Array, data: Data, number: int) -> Score:
        return self._draw(key, data, number)

    def posterior(self, key: Array, data: Data, number: int = 0) -> LawPosterior:
        """Mean and standard deviation of Lemma 5.3.4."""
        state = self._state(key, data, number)
        return posterior(state, self._nu(state))

    def region(self, data: Data, number: int) -> Region | None:
        return None

    @property
    def _network(self) -> MLP:
        return MLP(self.width, self.depth, self.activation)

    def _networks(self, data: Data) -> tuple[Architecture, ...]:
        columns = data.x.shape[1]
        network = affordable(self._network, columns)
        many = columns > MANY if self.additive == "auto" else self.additive
        return (network, Additive(self.width, self.activation)) if many else (network,)

    def _draw(self, key: Array, data: Data, number: int) -> Score:
        return self._draws(key, data, [number])[0]

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
            found = self.posterior(key, data.believing(expected(found, data)), number)
        return LogExpectedImprovement(found, jnp.asarray(expected_best(found, data)))

    def _state(self, key: Array, data: Data, number: int) -> Known:
        laws = _laws(data, number)
        # One network throughout a run, as in Algorithm 4: what laws say is computed once.
        name = jax.random.fold_in(key, 2**31)
        weight = None if self.weight == "evidence" else self.weight
        gamma = None if self.gamma == "evidence" else self.gamma
        settings = Settings(self._networks(data), gamma, self.noise, weight)
        hyper = scheduled(name, data, laws, settings)
        _warn_about_doubts(laws, hyper)
        return condition(name, data, laws, hyper)

    def _nu(self, state: Known) -> float:
        if self.nu != "theory":
            return self.nu
        n, kappa = state.data.n, state.found.typical
        gram = np.asarray(state.rows.values_only.gram(None))[:n, :n] / kappa
        good = np.isfinite(state.law_ridge)
        cross = state.found.cross(state.data.x[:n])[:, good] / kappa
        among = state.found.among[np.ix_(good, good)] / kappa
        values, mixed, laws = (jnp.asarray(v) for v in (gram, cross, among))
        told = good.any()
        shared = float(interaction_information(values, mixed, laws, 1.0, 1.0)) if told else 0.0
        law_sd = np.sqrt(np.min(state.hyper.trust)) if told else 0.0
        gain = float(information_gain(values, 1.0))
        return pinn_nu(gain, shared, float(np.sqrt(state.hyper.noise)), float(law_sd))


def _laws(data: Data, number: int) -> Laws:
    assert data.laws is not None  # `check_physics` has seen to it
    best = data.x[data.order[0]] if data.n else None
    return data.laws.at(number, best)


def _moves(data: Data) -> bool:
    """Whether the points of a law are others in each suggestion."""
    return data.laws is not None and any(law.pde.refresh for law in data.laws.laws)


_warned: WeakSet[PDE] = WeakSet()


def _warn_about_doubts(laws: Laws, hyper: Hyper) -> None:
    """Once for each law."""
    for i, (law, doubt) in enumerate(zip(laws.laws, hyper.doubt, strict=False)):
        if doubt > CLEARLY and hyper.trust[i] > TRUSTED and law.pde not in _warned:
            _warned.add(law.pde)
            size = np.sqrt(hyper.trust[i])
            how = f"with an error of {size:.0%} of its usual size" if size < 10 else "not at all"
            warnings.warn(
                f"law {i + 1} of {len(laws.laws)} does not fit the observations, which are "
                f"e^{doubt:.1f} times as likely if it need not hold; it now counts {how} (it may "
                "be wrong, or the objective too abrupt for the points at which it is asked for)",
                NeuroboWarning,
                stacklevel=2,
            )


register("pinn-bo", PINNBO, "Draws that obey your differential equation: needs physics=PDE(...).")
