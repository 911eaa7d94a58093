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
from optuna.trial import FrozenTrial, TrialState

from neurobo.analysis.predictions import Contender, Slice, Surrogate, ranked, surrogate
from neurobo.analysis.tally import Tally, duration, short
from neurobo.integrations.optuna.attributes import FAILURE
from neurobo.page.charts import digits_for
from neurobo.space.encoders import Candidate
from neurobo.space.search_space import Space
from neurobo.studies.study_file import StudyFile
from neurobo.studies.transfer import SOURCE

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
        names = [n for n in order if not isinstance(self.space.parameters[n], Candidate)]
        through = self.contenders[0].trial.params
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

    # In words -----------------------------------------------------------------------------------

    def summary(self) -> list[str]:
        tally, table = self.tally, self.file.table
        total = len(tally.trials)
        parts = [f"{total} of {table.budget.trials} trials have ended"]
        if tally.failed:
            parts.append(f"{len(tally.failed)} of them failed")
        if tally.running:
            parts.append(f"{len(tally.running)} are running")
        items = [_sentence(", ".join(parts))]
        if tally.constrained:
            items.append(
                f"{len(tally.feasible)} of {len(tally.complete)} results are feasible "
                f"({_names(table.constraints)} at most 0)."
            )
        items += self._about_the_best()
        if self.noisy and self.belief is not None:
            items.append(
                f"The values are noisy: evaluations of the same point scatter by about "
                f"{self.belief.noise_sd:.2g} (standard deviation), "
                f"{self.belief.noise_share:.0%} of the spread of all values. Points are therefore "
                "ranked by their expected value, not by their luckiest result."
            )
        elif self.belief is not None:
            few = ", but they are few" * (self.belief.fitted < FEW)
            items.append(f"{self.belief.fitted} results show no sign of noise{few}.")
        if self.influence:
            items += self._about_parameters()
        return items

    def _about_the_best(self) -> list[str]:
        if not self.contenders:
            return [self._about_the_nearest()]
        best = self.contenders[0]
        trial, tally = best.trial, self.tally
        value = self.value(trial.value)
        expected = ""
        if self.noisy and best.mean is not None and best.sd is not None:
            expected = f" (expected {plus_minus(best.mean, 2 * best.sd)})"
        word = "highest" if tally.maximize else "lowest"
        items = [f"The {word} value is {value}{expected}, found in trial {trial.number}."]
        if self.noisy:
            items = [f"The best point is that of trial {trial.number}: {value}{expected}."]
        steps = tally.best_so_far()
        if len(steps) > 1 and not self.noisy:
            since = len([t for t in tally.trials if t.number > steps[-1][0]])
            ended = "trial has ended" if since == 1 else "trials have ended"
            often = f"{len(steps) - 1} time{'s' * (len(steps) != 2)}"
            items.append(
                f"The best value improved {often}, from {self.value(steps[0][1])} in trial "
                f"{steps[0][0]}; {since} {ended} since the last improvement."
            )
        return items

    def _about_the_nearest(self) -> str:
        nearest = self.tally.nearest
        if nearest is None:
            return "There is no result yet."
        broken = {name: c for name, c in nearest.constraints.items() if c > 0}
        by = ", ".join(f"{name} = {c:.4g}" for name, c in broken.items())
        return (
            "No result is feasible yet. Trial "
            f"{nearest.number} breaks the constraints least: {by}, where 0 is the most allowed."
        )

    def _about_parameters(self) -> list[str]:
        strong = [one.name for one in self.influence if one.total >= 0.1]
        weak = [one.name for one in self.influence if one.total < 0.02]
        text = f"{_names(strong or [self.influence[0].name])} matter{'s' * (len(strong) < 2)} most"
        if weak:
            text += f"; {_names(weak)} hardly matter{'s' * (len(weak) == 1)}"
        count = self.belief.fitted if self.belief is not None else 0
        return [
            f"Of the parameters, as far as {count} results can tell, {text}.",
            f"{1 - self.combined:.0%} of the objective's variation comes from single parameters, "
            f"{self.combined:.0%} from combinations of several.",
        ]

    def story(self) -> list[str]:
        """What the algorithm did."""
        from neurobo.algorithm import describe

        table, trials = self.file.table, self.tally.trials
        imported = sum(SOURCE in t.user_attrs for t in trials)
        # The design goes on until an evaluation has succeeded.
        vain = next(
            (i for i, t in enumerate(trials) if t.state == TrialState.COMPLETE), len(trials)
        )
        start = min(max(self.file.n_start - imported, vain, 0), len(trials) - imported)
        options = ", ".join(f"{name} = {value!r}" for name, value in table.options.items())
        items = [
            f"Algorithm `{table.algorithm}`{f' with {options}' if options else ''}: "
            f"{describe(table.algorithm)}",
            f"{len(trials) - imported - start} points were chosen by the model after {start} of a "
            f"start design (Sobol, seed {table.seed})"
            + (f" and {imported} imported results." if imported else "."),
        ]
        if self.tally.void or self.tally.retried:
            items.append(
                f"{self.tally.void} trials were lost or interrupted and retried as new trials. "
                "They do not count."
            )
        if self.tally.replaced:
            items.append(
                f"Replaced by other trials, because their result was corrected or they were "
                f"retried: {self.tally.replaced}. They do not count."
            )
        spans = [
            (t.datetime_complete - t.datetime_start).total_seconds()
            for t in trials
            if t.datetime_complete and t.datetime_start and SOURCE not in t.user_attrs
        ]
        if spans:
            items.append(
                f"From choosing a point to its result took {duration(float(np.median(spans)))} "
                f"(median), {duration(max(spans))} at most; {duration(sum(spans))} in total."
            )
        return items


SHARES = (
    "Shares of the objective's variation over the whole search space. The shares `alone` and the "
    "combinations of parameters sum to 100 %. A share `with combinations` adds those in which the "
    "parameter takes part; a combination counts for each of its parameters, so these shares can "
    "sum to more than 100 %."
)
"""What the shares of `Influence` mean."""


def thinned(trials: Sequence[FrozenTrial], keep: set[int]) -> list[FrozenTrial]:
    """At most so many that a browser can draw them; those in `keep` always."""
    if len(trials) <= MOST_POINTS:
        return list(trials)
    some = {int(i) for i in np.linspace(0, len(trials) - 1, MOST_POINTS)}
    return [t for i, t in enumerate(trials) if i in some or t.number in keep]


def _names(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    if len(quoted) < 2:
        return "".join(quoted)
    return ", ".join(quoted[:-1]) + f" and {quoted[-1]}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


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
