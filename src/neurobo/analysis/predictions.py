"""What the results say about the objective: a Gaussian process with the networks' own kernel.

Reports and `neurobo best` use it whatever algorithm made the suggestions: it is exact, needs no
chance, and its marginal likelihood shows how noisy the values are and which inputs matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from optuna.trial import FrozenTrial

from neurobo.algorithm import NTKGP
from neurobo.analysis.tally import Tally
from neurobo.compilation import compiled
from neurobo.data.observations import Data
from neurobo.data.scaling import units
from neurobo.data.trials import Trials
from neurobo.space.encoders import Category, Matrix, Ordered
from neurobo.space.parameters import Candidate
from neurobo.space.search_space import Space
from neurobo.space.sobol import sobol
from neurobo.surrogates.gaussian_process import GP
from neurobo.surrogates.input_warping import input_warping_for
from neurobo.surrogates.posterior import Posterior
from neurobo.training.blas_threads import one_blas_thread

MOST = 400
"""Results that the process is fitted to: more would cost minutes and change little."""
NOISY = 0.02
"""Noise counts if its standard deviation is more than this share of the values' own."""
ROWS = 256
"""Points that are computed together: one compilation for any number of them."""
SAMPLES = 1024
"""Points at which the influence of a parameter is measured."""


@dataclass(frozen=True)
class Slice:
    """The objective along one parameter, through a point, in the user's units."""

    name: str
    x: Sequence[Any]
    mean: Float[np.ndarray, " n"]
    sd: Float[np.ndarray, " n"]
    log: bool
    numeric: bool


@dataclass(frozen=True)
class Share:
    """Of the objective's variance over the whole space, how much comes from one parameter."""

    alone: float
    """First-order Sobol index: from the parameter by itself."""
    total: float
    """Total Sobol index: also from its interactions, which count for each of their parameters."""


@compiled
def _mean_and_sd(posterior: Posterior, x: Array) -> Float[Array, "2 n"]:
    return jnp.stack(posterior.mean_and_sd(x))


@dataclass(frozen=True)
class Surrogate:
    space: Space
    data: Data
    posterior: GP
    """Of the objective as a function of parameters that may be warped."""
    function: Posterior
    """The same of parameters as they are."""
    location: float
    spread: float
    """What a standardised 0 and a step of 1 mean; the spread is below 0 to turn maximise back."""
    fitted: int
    """How many results it knows."""

    @property
    def noise_sd(self) -> float:
        return float(abs(self.spread) * np.sqrt(self.posterior.noise))

    @property
    def noise_share(self) -> float:
        """The noise's standard deviation as a share of the results'."""
        return float(np.sqrt(self.posterior.noise))

    @property
    def noisy(self) -> bool:
        return self.noise_share > NOISY

    def at(
        self, points: Sequence[Mapping[str, Any]]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Mean and standard deviation of the noiseless objective."""
        return self._at(self.space.encode(points))

    def _at(self, x: Matrix) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        inputs = self.space.inputs(x)
        parts = [np.zeros((2, 0))]
        with jax.enable_x64(True), one_blas_thread():
            for at in range(0, len(inputs), ROWS):
                part = inputs[at : at + ROWS]
                padded = np.pad(part, ((0, ROWS - len(part)), (0, 0)))
                found = _mean_and_sd(self.function, jnp.asarray(padded))
                parts.append(np.asarray(found)[:, : len(part)])
        mean, sd = np.concatenate(parts, axis=1)
        return self.location + self.spread * mean, abs(self.spread) * sd

    def slice(self, name: str, through: Mapping[str, Any], points: int = 61) -> Slice:
        parameter = self.space.parameters[name]
        if isinstance(parameter, Category | Ordered):
            values = list(parameter.distribution.choices)
        else:
            column = np.linspace(-1, 1, points)[:, None]
            # With the point's own value: a valley may be narrower than the grid.
            values = sorted({*parameter.decode(column), through[name]})
        mean, sd = self.at([{**through, name: value} for value in values])
        log = bool(getattr(self.space.distributions[name], "log", False))
        return Slice(name, values, mean, sd, log, not isinstance(parameter, Category | Ordered))

    def scales(self) -> dict[str, float]:
        """How fast the function changes along each parameter, by the evidence; the largest is 1."""
        scales = np.asarray(self.posterior.scales)
        found = {n: float(np.sqrt(np.mean(scales[at] ** 2))) for n, at in self.columns().items()}
        largest = max(found.values(), default=1.0)
        return {name: value / largest for name, value in found.items()}

    def columns(self) -> dict[str, range]:
        """Which of the inputs are each parameter's."""
        found, at = {}, 0
        for name, parameter in self.space.parameters.items():
            width = parameter.pool.columns if isinstance(parameter, Candidate) else parameter.width
            found[name] = range(at, at + width)
            at += width
        return found

    def influence(self) -> dict[str, Share]:
        """Sobol indices of the surrogate's mean, by Jansen's estimators on Sobol points."""
        names = list(self.space.parameters)
        unit = sobol(2 * len(names), SAMPLES, np.random.default_rng(0))
        base, other = unit[:, : len(names)], unit[:, len(names) :]
        at_base, at_other = (self._at(self.space.from_unit(u))[0] for u in (base, other))
        variance = float(np.var(np.concatenate([at_base, at_other])))
        if not variance > 0:
            return dict.fromkeys(names, Share(0.0, 0.0))
        alone, total = [], []
        for i in range(len(names)):
            moved = base.copy()
            moved[:, i] = other[:, i]
            at_moved, _ = self._at(self.space.from_unit(moved))
            alone.append(1 - float(np.mean((at_other - at_moved) ** 2)) / (2 * variance))
            total.append(float(np.mean((at_base - at_moved) ** 2)) / (2 * variance))
        # Estimates may leave the bounds that the indices keep.
        alone = [min(max(a, 0.0), t) for a, t in zip(alone, total, strict=True)]
        most = max(sum(alone), 1.0)
        return {n: Share(a / most, t) for n, a, t in zip(names, alone, total, strict=True)}


def surrogate(space: Space, tally: Tally, *, noisy: bool = False) -> Surrogate | None:
    """None if there are too few results to say anything. `noisy`: if values are known to be."""
    trials = some_inside(space, tally)
    if len(trials) < 3 or not space.n_parameters:
        return None
    values = np.array([tally.lower(t) for t in trials], dtype=float)
    if not np.ptp(values) > 0:
        return None
    data = Data.of(space, Trials([t.params for t in trials], values.tolist()))
    data = replace(data, noisy=noisy)
    with jax.enable_x64(True), one_blas_thread():
        wide = NTKGP()
        input_warp = input_warping_for(data, wide.wide)
        seen, start = (data, None) if input_warp is None else (input_warp(data), input_warp.start)
        posterior = replace(wide, start=start).posterior(jax.random.key(0), seen)
        function = posterior if input_warp is None else input_warp.posterior(posterior)
    location, spread = units(values)
    location, spread = tally.sign * location, tally.sign * spread
    return Surrogate(space, data, posterior, function, location, spread, len(trials))


def some_inside(space: Space, tally: Tally) -> list[FrozenTrial]:
    """The results that a surrogate is fitted to."""
    return [t for t in some(tally, MOST) if space.contains(t.params)]


def some(tally: Tally, most: int) -> list[FrozenTrial]:
    """All results, or the better half of `most` and an even share of the others, by number."""
    trials = tally.complete
    if len(trials) <= most:
        return trials
    ranked = sorted(trials, key=tally.lower)
    rest = ranked[most // 2 :]
    even = [rest[round(i)] for i in np.linspace(0, len(rest) - 1, most - most // 2)]
    return sorted([*ranked[: most // 2], *even], key=lambda t: t.number)


@dataclass(frozen=True)
class Contender:
    """A trial that may be the best, and what the surrogate thinks of its point."""

    trial: FrozenTrial
    mean: float | None
    sd: float | None


def ranked(tally: Tally, belief: Surrogate | None, most: int) -> list[Contender]:
    """The best feasible trials: by value, or under noise by the surrogate's mean."""
    trials = sorted(tally.feasible, key=tally.lower)
    if belief is None:
        return [Contender(t, None, None) for t in trials[:most]]
    trials = trials[: max(most, MOST) if belief.noisy else most]
    inside = [t for t in trials if belief.space.contains(t.params)]
    mean, sd = belief.at([t.params for t in inside])
    found = [Contender(t, float(m), float(s)) for t, m, s in zip(inside, mean, sd, strict=True)]
    if belief.noisy:
        order = np.argsort(tally.sign * mean, kind="stable")
        found = [found[i] for i in order]
    return found[:most]
