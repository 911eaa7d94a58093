"""What the algorithm did in a study and why, and whether going on is worth it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from neurobo.acquisition.expected_improvement import LogExpectedImprovement
from neurobo.algorithm import Algorithm, Auto
from neurobo.algorithm.auto.members import MEMBERS
from neurobo.analysis.predictions import Surrogate
from neurobo.analysis.tally import Tally
from neurobo.errors import SpaceExhausted
from neurobo.integrations.optuna.attributes import member_of
from neurobo.search.optimiser import minimise
from neurobo.search.scoring import evaluate
from neurobo.surrogates.posterior import lowest_mean
from neurobo.training.blas_threads import one_blas_thread

LITTLE = 1e-3
"""An improvement of less than this share of the middle half of the results is hardly one."""

NAMED = 1.0
"""|t| above which a parameter counts as warped."""


@dataclass(frozen=True)
class Work:
    """What one member of a portfolio has done."""

    member: str
    points: int
    improvements: int
    """How many of them became the best so far."""


@dataclass(frozen=True)
class Explanation:
    work: list[Work]
    """Of a portfolio's members."""
    radius: float | None
    """Of the trust region: the share of each numeric range that it spans."""
    output_warping: float | None
    """κ of the logarithm through which a portfolio sees the results, below 0 if from above; 0: as
    they are."""
    input_warping: dict[str, float]
    """t of parameters that a portfolio warps, below 0 if from the upper end."""
    additive: float
    """By how much the log marginal likelihood prefers the additive kernel that a portfolio uses; 0:
    it uses the joint one."""
    gamma: tuple[float, float] | None
    noise_sd: float | None
    """In the objective's units."""
    scales: dict[str, float]
    """How fast the function changes along each parameter; the largest is 1."""
    gain: float | None
    """The expected improvement of the best next point, in the objective's units."""
    middle: float | None
    """From the lower to the upper quartile of the results."""

    @property
    def little_left(self) -> bool:
        return self.gain is not None and self.gain <= LITTLE * (self.middle or 0.0)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "little_left": self.little_left}

    def sentences(self) -> list[str]:
        """Everything in words."""
        return [*self.search(), *([self.outlook] if self.outlook else []), *self.technical()]

    def search(self) -> list[str]:
        """How the algorithm sees the results, and where it looks."""
        items = []
        if self.output_warping:
            more, fewer = ("good", "bad") if self.output_warping > 0 else ("bad", "good")
            items.append(
                "The model is fitted to the results on a logarithmic scale, which explains them "
                f"better: differences between {more} results count more than those between {fewer} "
                "ones."
            )
        if self.additive:
            items.append(
                "The parameters do not seem to interact: the model is a sum of functions of one "
                "parameter each."
            )
        for name, t in self.input_warping.items():
            advice = " For a range above 0, set `log = true` in the study file." * (t > 0)
            items.append(
                f"`{name}` matters most near its {'lower' if t > 0 else 'upper'} end: the model "
                f"sees it on a logarithmic scale, with more room there.{advice}"
            )
        if self.radius is not None:
            items.append(
                f"The local search around the best point covers {self.radius:.0%} of the range of "
                "every numeric parameter."
            )
        return items

    @property
    def outlook(self) -> str:
        """Whether another evaluation is worth it, in words; empty if unknown."""
        if self.gain is None or self.middle is None:
            return ""
        if self.gain > self.middle:
            return "Going on is likely to pay: the model is still unsure where the best values are."
        expected = (
            f"the model expects the next trial to improve the best value by {self.gain:.2g}, while "
            f"the middle half of the results spans {self.middle:.2g}"
        )
        hint = "Stopping here costs little" if self.little_left else "Going on is likely to pay"
        return f"{hint}: {expected}."

    def technical(self) -> list[str]:
        """Settings of the model, for those who know it."""
        items = []
        if self.gamma is not None:
            w, b = self.gamma
            items.append(
                "The surrogate is the Gaussian process of infinitely wide networks. The settings "
                f"with the highest marginal likelihood are σ_w = {w:.2g} and σ_b = {b:.2g}; the "
                "larger they are, the rougher the function."
            )
        if self.output_warping:
            end = (
                "the best result" if self.output_warping > 0 else "the 90 % quantile of the results"
            )
            items.append(
                f"Output warping: log(1 + κ z)/κ, where z is the distance from {end} in units of "
                f"the median's, with κ = {abs(self.output_warping):g}."
            )
        if self.additive:
            items.append(
                "Additive kernel: its log marginal likelihood is higher than the joint kernel's by "
                f"{self.additive:.1f}."
            )
        for name, t in self.input_warping.items():
            span = float(f"{np.exp(abs(t)):.1g}")
            items.append(
                f"Input warping: `{name}` as by the logarithm of a range of {span:,.0f} to 1."
            )
        return items


def explain(tally: Tally, belief: Surrogate | None, algorithm: Algorithm) -> Explanation:
    """What `algorithm` did in a study, whose results `belief` is fitted to."""
    work = _work(tally)
    values = [t.value for t in tally.complete if t.value is not None]
    middle = float(np.subtract(*np.quantile(values, [0.75, 0.25]))) if values else None
    if belief is None:
        return Explanation(work, None, None, {}, 0.0, None, None, {}, None, middle)
    radius, output_warping, input_warping, additive = None, None, dict[str, float](), 0.0
    if isinstance(algorithm, Auto) and any(w.member in MEMBERS for w in work):
        output_warping, input_warping, additive = _seen(belief, algorithm)
        if any(MEMBERS[w.member].local for w in work if w.member in MEMBERS):
            with jax.enable_x64(True), one_blas_thread():
                radius = algorithm.near(belief.data).radius
    w, b = np.asarray(belief.posterior.gamma).tolist()
    return Explanation(
        work=work,
        radius=radius,
        output_warping=output_warping,
        input_warping=input_warping,
        additive=additive,
        gamma=(w, b),
        noise_sd=belief.noise_sd,
        scales=belief.scales(),
        # Where constraints allow a point is not the surrogate's business.
        gain=None if tally.constrained else _gain(belief),
        middle=middle,
    )


def _work(tally: Tally) -> list[Work]:
    """Who brought most comes first."""
    best = {number for number, _ in tally.best_so_far()}

    def of(name: str) -> Work:
        mine = [t for t in tally.trials if member_of(t) == name]
        return Work(name, len(mine), sum(t.number in best for t in mine))

    names = sorted({member_of(t) for t in tally.trials} - {""})
    return sorted(map(of, names), key=lambda w: -w.improvements)


def _seen(belief: Surrogate, auto: Auto) -> tuple[float, dict[str, float], float]:
    """κ of `auto`'s output warping, t of the parameters that it warps, and by how much the log
    marginal likelihood prefers an additive kernel if that was chosen."""
    with jax.enable_x64(True), one_blas_thread():
        seen = auto.seen(belief.data)
    warp, input_warp = seen.warp, seen.input_warp
    one = {name: at[0] for name, at in belief.columns().items() if len(at) == 1}
    strengths = (
        {} if input_warp is None else {name: input_warp.strengths[at] for name, at in one.items()}
    )
    named = {name: t for name, t in strengths.items() if abs(t) >= NAMED}
    additive = 0.0 if seen.kernel is None else seen.kernel.gain
    return 0.0 if warp is None else warp.warp.strength, named, additive


def _gain(belief: Surrogate) -> float:
    """The largest expected improvement anywhere, in the objective's units."""
    with jax.enable_x64(True), one_blas_thread():
        best = jnp.asarray(lowest_mean(belief.function, belief.data))
        score = LogExpectedImprovement(belief.function, best)
        try:
            x = minimise(score, belief.space, belief.data, np.random.default_rng(0))
        except SpaceExhausted:
            return 0.0
        (lowest,) = evaluate(score, belief.space, x[None])
    return float(abs(belief.spread) * np.exp(-lowest))
