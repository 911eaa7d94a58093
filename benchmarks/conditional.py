"""`auto` on conditional spaces and on YAHPO Gym: docs/conditional.md.

    python benchmarks/conditional.py                       # from benchmarks/reference/finals
    python benchmarks/conditional.py --run --data FOLDER   # first run what is missing (hours)

A stopped run goes on where it was. Runs are made in an order in which what is done is comparable:
seed by seed, SMAC last. FOLDER has the data of YAHPO Gym; without it only the suite `conditional`
is run. The page needs no data.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

import finals
import measured
import scoreboard
from prose import wrapped

from neurobo.bench import suites, tables
from neurobo.bench.problems import yahpo
from neurobo.bench.report.words import code
from neurobo.bench.tables import Results

PAGE = Path("docs/conditional.md")
SUITES = {"conditional": "Conditional problems", "yahpo": "YAHPO Gym"}
BUDGETS = (50, 100)
"""Evaluations after which the runs are compared: no method is told how many there will be."""
TPE = "optuna-tpe:multivariate=true,group=true"
ORDER = (("auto", TPE, "random", "optuna-gp"), ("smac-forest",))


def after(results: Results, budget: int) -> Results:
    """The same runs as they were after so many evaluations."""
    return tables.gather(
        replace(
            record,
            job=replace(record.job, budget=min(budget, record.job.budget)),
            values=record.values[:budget],
            cpu_seconds=record.cpu_seconds[:budget],
        )
        for record in results.records
    )


def part(results: Results, budget: int) -> list[str]:
    """One suite after so many evaluations."""
    some = after(results, budget)
    found = [f"### After {budget} evaluations", measured.versus(some), measured.losses(some)]
    found += measured.ranks(some)
    return [*found, scoreboard.medians(some)]


def page() -> str:
    written = [
        "# Conditional spaces: measured",
        "`python benchmarks/conditional.py` writes this page from [the runs that are kept]"
        "(../benchmarks/reference/finals); with `--run --data FOLDER` it first runs what is "
        "missing, where FOLDER has [the data of YAHPO Gym](benchmarks.md#problems). A run has "
        f"{yahpo.BUDGET} evaluations, and its first {BUDGETS[0]} are the result after "
        f"{BUDGETS[0]}: no method uses the budget. A seed has the same initial design for all "
        "methods. Optuna's samplers, `auto` among them, are not told the conditions; SMAC is. "
        "Lower is better: regret (`conditional-tree-9`), log loss (the other conditional "
        "problems), normalised regret (YAHPO Gym, where a little below 0 is possible). Tests "
        "pair the runs of a problem and a seed, corrected by Benjamini and Hochberg. In the "
        "tables of medians ≈ is what is not significantly worse than the best, which is bold. "
        f"What concerns conditional spaces was chosen on {code(yahpo.TUNING)} only.",
    ]
    every = {name: scoreboard.kept(name) for name in SUITES}
    for name, results in every.items():
        if results.runs:
            runs = f"{len(results.records)} runs; {scoreboard.states(results)}"
            about = suites.suite(name).summary
            written += [f"## {SUITES[name]}", f"Suite `{name}`: {about}. {runs}."]
            for budget in BUDGETS:
                written += part(results, budget)
    both = tables.gather(record for results in every.values() for record in results.records)
    if all(results.runs for results in every.values()):
        written += ["## Mean ranks over both"]
        for budget in BUDGETS:
            written += [
                f"### Both after {budget} evaluations",
                *measured.ranks(after(both, budget)),
            ]
    return "\n\n".join(written) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--data", type=Path, help="the data of YAHPO Gym")
    parser.add_argument("--seeds", type=int, help="how many, the suites' own number if not given")
    given = parser.parse_args()
    if given.data is not None:
        os.environ[yahpo.DATA] = str(given.data.absolute())
    if given.run:
        measured.run(
            [n for n in SUITES if n != "yahpo" or yahpo.DATA in os.environ], ORDER, given.seeds
        )
    for name in SUITES:
        if (finals.RESULTS / name / "runs.jsonl").exists():
            finals.update(name)
    PAGE.write_text(wrapped(page()))


if __name__ == "__main__":
    main()
