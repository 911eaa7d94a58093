"""What a report says: the findings in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from optuna.trial import TrialState

from neurobo.algorithm import describe
from neurobo.analysis.tally import duration
from neurobo.integrations.optuna.attributes import SOURCE
from neurobo.studies.reporting.findings import FEW, Findings, plus_minus

SHARES = (
    "Shares of the objective's variation over the whole search space. The shares `alone` and the "
    "combinations of parameters sum to 100 %. A share `with combinations` adds those in which the "
    "parameter takes part; a combination counts for each of its parameters, so these shares can "
    "sum to more than 100 %."
)
"""What the shares of `Influence` mean."""


def summary(found: Findings) -> list[str]:
    """What was found."""
    tally, table = found.tally, found.file.table
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
    items += _about_the_best(found)
    if found.noisy and found.belief is not None:
        items.append(
            f"The values are noisy: evaluations of the same point scatter by about "
            f"{found.belief.noise_sd:.2g} (standard deviation), "
            f"{found.belief.noise_share:.0%} of the spread of all values. Points are therefore "
            "ranked by their expected value, not by their luckiest result."
        )
    elif found.belief is not None:
        few = ", but they are few" * (found.belief.fitted < FEW)
        items.append(f"{found.belief.fitted} results show no sign of noise{few}.")
    if found.influence:
        items += _about_parameters(found)
    return items


def _about_the_best(found: Findings) -> list[str]:
    if not found.contenders:
        return [_about_the_nearest(found)]
    best = found.contenders[0]
    trial, tally = best.trial, found.tally
    value = found.value(trial.value)
    expected = ""
    if found.noisy and best.mean is not None and best.sd is not None:
        expected = f" (expected {plus_minus(best.mean, 2 * best.sd)})"
    word = "highest" if tally.maximize else "lowest"
    items = [f"The {word} value is {value}{expected}, found in trial {trial.number}."]
    if found.noisy:
        items = [f"The best point is that of trial {trial.number}: {value}{expected}."]
    steps = tally.best_so_far()
    if len(steps) > 1 and not found.noisy:
        since = len([t for t in tally.trials if t.number > steps[-1][0]])
        ended = "trial has ended" if since == 1 else "trials have ended"
        often = f"{len(steps) - 1} time{'s' * (len(steps) != 2)}"
        items.append(
            f"The best value improved {often}, from {found.value(steps[0][1])} in trial "
            f"{steps[0][0]}; {since} {ended} since the last improvement."
        )
    return items


def _about_the_nearest(found: Findings) -> str:
    nearest = found.tally.nearest
    if nearest is None:
        return "There is no result yet."
    broken = {name: c for name, c in nearest.constraints.items() if c > 0}
    by = ", ".join(f"{name} = {c:.4g}" for name, c in broken.items())
    return (
        "No result is feasible yet. Trial "
        f"{nearest.number} breaks the constraints least: {by}, where 0 is the most allowed."
    )


def _about_parameters(found: Findings) -> list[str]:
    strong = [one.name for one in found.influence if one.total >= 0.1]
    weak = [one.name for one in found.influence if one.total < 0.02]
    text = f"{_names(strong or [found.influence[0].name])} matter{'s' * (len(strong) < 2)} most"
    if weak:
        text += f"; {_names(weak)} hardly matter{'s' * (len(weak) == 1)}"
    count = found.belief.fitted if found.belief is not None else 0
    return [
        f"Of the parameters, as far as {count} results can tell, {text}.",
        f"{1 - found.combined:.0%} of the objective's variation comes from single parameters, "
        f"{found.combined:.0%} from combinations of several.",
    ]


def story(found: Findings) -> list[str]:
    """What the algorithm did."""
    table, trials = found.file.table, found.tally.trials
    imported = sum(SOURCE in t.user_attrs for t in trials)
    # The design goes on until an evaluation has succeeded.
    vain = next((i for i, t in enumerate(trials) if t.state == TrialState.COMPLETE), len(trials))
    start = min(max(found.file.n_start - imported, vain, 0), len(trials) - imported)
    options = ", ".join(f"{name} = {value!r}" for name, value in table.options.items())
    items = [
        f"Algorithm `{table.algorithm}`{f' with {options}' if options else ''}: "
        f"{describe(table.algorithm)}",
        f"{len(trials) - imported - start} points were chosen by the model after {start} of an "
        f"initial design (Sobol, seed {table.seed})"
        + (f" and {imported} imported results." if imported else "."),
    ]
    if found.tally.void or found.tally.retried:
        items.append(
            f"{found.tally.void} trials do not count: they were lost or interrupted, or failed by "
            "an error of the program."
        )
    if found.tally.replaced:
        items.append(
            f"Replaced by other trials, because their result was corrected or they were "
            f"retried: {found.tally.replaced}. They do not count."
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


def _names(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    if len(quoted) < 2:
        return "".join(quoted)
    return ", ".join(quoted[:-1]) + f" and {quoted[-1]}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
