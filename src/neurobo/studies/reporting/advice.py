"""The recommended setting of a study and what to do next, for the top of its report."""

from __future__ import annotations

import json
from collections.abc import Iterator

from optuna.distributions import BaseDistribution, CategoricalDistribution

from neurobo.analysis.explanation import Explanation
from neurobo.page import Block, Box, Cell, Code, Details, Fact, Facts, Items, Table
from neurobo.space.encoders import Numeric
from neurobo.studies.reporting.findings import FEW, Findings, plus_minus, shown

EDGE = 0.01
"""A value this near to an end of its range, as a share of the range, is at that end."""
STEPS = 5
"""A range of fewer values has no inside to speak of."""


def recommended(found: Findings, told: Explanation) -> Block:
    """Like `neurobo.recommend`: under noise the point of the best expected value."""
    steps = Items(list(next_steps(found, told)), "What to do next")
    if not found.contenders:
        return Box("No recommended setting yet", [Facts([_trials(found)]), steps])
    trial = found.contenders[0].trial
    rows: list[list[Cell | str]] = [
        [name, Cell(found.setting(name, trial.params[name]), bold=True), _range(distribution)]
        for name, distribution in found.space.distributions.items()
        if name in trial.params
    ]
    return Box(
        "Recommended setting",
        [
            Facts(list(_facts(found))),
            Table(["parameter", "value", "searched"], rows, words=True),
            Details(
                "The exact values as JSON", [Code(json.dumps(trial.params, indent=2, default=str))]
            ),
            steps,
        ],
    )


def _facts(found: Findings) -> Iterator[Fact]:
    best, tally, belief = found.contenders[0], found.tally, found.belief
    if found.noisy and belief is not None and best.mean is not None and best.sd is not None:
        yield Fact(
            "Expected value",
            plus_minus(best.mean, 2 * best.sd),
            f"95 % interval of the mean; one evaluation scatters by ± {2 * belief.noise_sd:.2g}",
        )
    else:
        few = belief is None or belief.fitted < FEW
        why = "too few results to estimate the noise" if few else "no noise was found"
        yield Fact("Expected value", found.value(best.trial.value), f"as observed: {why}")
    record = tally.best
    assert record is not None
    where = f"in trial {record.number}"
    if record.number != best.trial.number:
        where += f"; the recommended setting is that of trial {best.trial.number}"
    yield Fact("Best observed value", found.value(record.value), where)
    if best.trial.constraints:
        values = ", ".join(f"{name} = {c:.3g}" for name, c in best.trial.constraints.items())
        yield Fact("Constraints", "all met", f"{values} (at most 0)")
    yield _trials(found)


def _trials(found: Findings) -> Fact:
    tally = found.tally
    about = [f"{len(tally.failed)} failed" if tally.failed else "none failed"]
    if tally.constrained:
        about.append(f"{len(tally.feasible)} feasible")
    total = found.file.table.budget.trials
    return Fact("Trials", f"{len(tally.trials)} of {total}", ", ".join(about))


def next_steps(found: Findings, told: Explanation) -> Iterator[str]:
    tally = found.tally
    if tally.complete and not tally.feasible:
        yield (
            "Go on: no result meets all constraints yet. If none ever does, check the constraints' "
            "signs and limits."
        )
    elif not tally.complete:
        yield "Go on: there is no result yet."
    elif found.belief is None:
        yield "Go on: the results are too few, or too much alike, to say more."
    elif told.outlook:
        yield told.outlook
    else:
        steps = tally.best_so_far()
        since = sum(t.number > steps[-1][0] for t in tally.trials)
        yield (
            f"The best feasible value last improved {since} trial{'s' * (since != 1)} ago. The "
            "expected improvement of the next trial is not estimated for studies with constraints."
        )
    if found.noisy and told.little_left:
        yield "Evaluate the recommended setting a few more times to confirm its value."
    yield from _at_an_end(found)
    yield _how_to_go_on(found)


def _at_an_end(found: Findings) -> Iterator[str]:
    """Where the best point stands at the end of a range, a wider one may hold a better point."""
    if not found.contenders:
        return
    params = found.contenders[0].trial.params
    for name, parameter in found.space.parameters.items():
        if not (isinstance(parameter, Numeric) and parameter.ordered and name in params):
            continue
        place = float(parameter.encode([params[name]])[0, 0])
        if parameter.count >= STEPS and 1 - abs(place) < 2 * EDGE:
            end = "upper" if place > 0 else "lower"
            yield (
                f"`{name}` = {found.setting(name, params[name])} is at the {end} end of its range. "
                "If values beyond it are possible, try a wider range in a new study."
            )


def _how_to_go_on(found: Findings) -> str:
    name = found.file.path.name
    command = "run" if found.file.table.objective is not None else "ask"
    left = found.file.table.budget.trials - len(found.tally.trials)
    if left > 0:
        trials = f"{left} trial{'s' * (left != 1)}"
        return f"To go on: `neurobo {command} {name}` ({trials} left in the budget)."
    return (
        "The budget is used up. To go on, raise `trials` under `[budget]`, then "
        f"`neurobo {command} {name}`."
    )


def _range(distribution: BaseDistribution) -> str:
    if isinstance(distribution, CategoricalDistribution):
        choices = ", ".join(map(shown, distribution.choices))
        return choices if len(choices) <= 80 else f"{len(distribution.choices)} choices"
    low, high = getattr(distribution, "low", None), getattr(distribution, "high", None)
    log = ", logarithmic" * bool(getattr(distribution, "log", False))
    return f"{shown(low)} to {shown(high)}{log}"
