"""What a report says and shows, before it becomes a page or pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from optuna.distributions import FloatDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from neurobo.analysis.explanation import Explanation, explain
from neurobo.analysis.predictions import Contender, Slice, Surrogate, ranked, surrogate
from neurobo.analysis.tally import Tally, short
from neurobo.integrations.optuna.attributes import FAILURE
from neurobo.page.charts import digits_for
from neurobo.space.parameters import Candidate
from neurobo.space.search_space import Space
from neurobo.studies.file.study_file import StudyFile

MOST_SLICES = 12
FEW = 10
"""Results that say little about noise."""
MOST_POINTS = 1500
"""Markers in a plot; of more results, an even share is drawn and every record."""


class Influence(NamedTuple):
    """How much a parameter matters."""

    name: str
    alone: float
    """Share of the variance that it explains by itself; with `Findings.combined` they sum to 1."""
    total: float
    """The same with its interactions; these overlap."""
    speed: float
    """How fast the objective changes along it; the fastest has 1."""


@dataclass(frozen=True)
class Convergence:
    number: Float[np.ndarray, " n"]
    value: Float[np.ndarray, " n"]
    """Of results that are drawn."""
    feasible: np.ndarray
    step: Float[np.ndarray, " m"]
    best: Float[np.ndarray, " m"]
    """The best feasible value after each trial at which it changed, and at the end."""
    failed: Float[np.ndarray, " k"]
    """Numbers of failed trials."""
    noise_sd: float
    """0 if the values are exact."""


@dataclass(frozen=True)
class Findings:
    file: StudyFile
    tally: Tally
    belief: Surrogate | None

    @staticmethod
    def of(file: StudyFile, study: Study) -> Findings:
        tally = Tally.of(study)
        return Findings(file, tally, surrogate(file.space, tally, noisy=file.noisy))

    @property
    def space(self) -> Space:
        return self.file.space

    @cached_property
    def explanation(self) -> Explanation:
        return explain(self.tally, self.belief, self.file.algorithm)

    @cached_property
    def contenders(self) -> list[Contender]:
        return ranked(self.tally, self.belief, 10)

    @cached_property
    def _digits(self) -> int:
        """Significant digits that tell the results apart; outliers do not count."""
        values = np.array([t.value for t in self.tally.complete], dtype=float)
        if not len(values):
            return 6
        middle = float(np.subtract(*np.quantile(values, [0.75, 0.25])))
        return max(digits_for(float(np.median(np.abs(values))), middle), 6)

    def value(self, value: float | None) -> str:
        """A value of the objective."""
        return "" if value is None else f"{value:.{self._digits}g}"

    def setting(self, name: str, value: Any) -> str:
        """A parameter's value, with digits that tell values of its range apart."""
        known = self.space.distributions.get(name)
        if not isinstance(value, float) or not isinstance(known, FloatDistribution) or known.log:
            return shown(value)
        size, span = max(abs(known.low), abs(known.high)), known.high - known.low
        return f"{value:.{digits_for(size, span)}g}"

    @property
    def noisy(self) -> bool:
        return self.belief is not None and self.belief.noisy

    @cached_property
    def convergence(self) -> Convergence:
        tally = self.tally
        steps = tally.best_so_far()
        if steps:
            steps.append((max(t.number for t in tally.trials), steps[-1][1]))
        records = {number for number, _ in steps}
        shown = thinned(tally.complete, records)
        good = {t.number for t in tally.feasible}
        return Convergence(
            number=np.array([t.number for t in shown], dtype=float),
            value=np.array([t.value for t in shown], dtype=float),
            feasible=np.array([t.number in good for t in shown], dtype=bool),
            step=np.array([number for number, _ in steps], dtype=float),
            best=np.array([value for _, value in steps], dtype=float),
            failed=np.array([t.number for t in tally.failed], dtype=float),
            noise_sd=self.belief.noise_sd if self.belief is not None and self.noisy else 0.0,
        )

    @cached_property
    def influence(self) -> list[Influence]:
        """Of all parameters, the most important first."""
        if self.belief is None or self.space.n_parameters < 2:
            return []
        shares, scales = self.belief.influence(), self.belief.scales()
        found = [Influence(n, share.alone, share.total, scales[n]) for n, share in shares.items()]
        return sorted(found, key=lambda one: -one.total)

    @property
    def combined(self) -> float:
        """The share of the variance that no parameter explains by itself."""
        return 1 - sum(one.alone for one in self.influence)

    @cached_property
    def slices(self) -> list[Slice]:
        """Through the best point, along the parameters that matter most."""
        if self.belief is None or not self.contenders:
            return []
        order = [one.name for one in self.influence] or list(self.space.parameters)
        through = self.contenders[0].trial.params
        names = [
            name
            for name in order
            if name in through and not isinstance(self.space.parameters[name], Candidate)
        ]
        return [self.belief.slice(name, through) for name in names[:MOST_SLICES]]

    @cached_property
    def jumps(self) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """How far each point was from the best one before it, where 1 is from corner to corner."""
        numbers, distances = [], []
        best: tuple[float, np.ndarray] | None = None
        trials = [t for t in self.tally.trials if self.space.contains(t.params)]
        x = self.space.encode([t.params for t in trials])
        good = {t.number for t in self.tally.feasible}
        for trial, row in zip(trials, x, strict=True):
            if best is not None:
                numbers.append(float(trial.number))
                distances.append(float(np.sqrt(np.mean((row - best[1]) ** 2)) / 2))
            if trial.number in good and (best is None or self.tally.lower(trial) < best[0]):
                best = self.tally.lower(trial), row
        return np.array(numbers), np.array(distances)

    @cached_property
    def reasons(self) -> list[tuple[str, int, FrozenTrial]]:
        """Why trials failed, how often, and the last one of each."""
        found: dict[str, list[FrozenTrial]] = {}
        for trial in self.tally.failed:
            found.setdefault(str(trial.user_attrs.get(FAILURE, "unknown")), []).append(trial)
        common = sorted(found.items(), key=lambda item: -len(item[1]))
        return [(reason, len(trials), trials[-1]) for reason, trials in common]


def thinned(trials: Sequence[FrozenTrial], keep: set[int]) -> list[FrozenTrial]:
    """At most so many that a browser can draw them; those in `keep` always."""
    if len(trials) <= MOST_POINTS:
        return list(trials)
    some = {int(i) for i in np.linspace(0, len(trials) - 1, MOST_POINTS)}
    return [t for i, t in enumerate(trials) if i in some or t.number in keep]


def plus_minus(value: float, error: float) -> str:
    """A value with as many digits as its error allows."""
    if not 0 < error < math.inf:
        return f"{value:.6g}"
    decimals = 1 - math.floor(math.log10(error))
    if not -3 < decimals < 6:
        digits = max(math.ceil(math.log10(abs(value) / error)), 0) + 2 if value else 2
        return f"{value:.{min(digits, 15)}g} ± {error:.2g}"
    return f"{value:.{max(decimals, 0)}f} ± {error:.{max(decimals, 0)}f}"


def shown(value: Any) -> str:
    """A parameter's value in a table."""
    text = short(value)
    return text if len(text) <= 60 else text[:60] + " …"
