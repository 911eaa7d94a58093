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
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import finals
import numpy as np
import scoreboard
from prose import wrapped

from neurobo.bench import harness, stats, suites, tables
from neurobo.bench.peers import method
from neurobo.bench.problems import yahpo
from neurobo.bench.records import Job, Store
from neurobo.bench.report import contests
from neurobo.bench.report.blocks import Cell, Table
from neurobo.bench.report.markdown import table_text
from neurobo.bench.report.words import code, count, number, p_value
from neurobo.bench.source import latest, source
from neurobo.bench.tables import Results
from neurobo.bench.watch import watching

PAGE = Path("docs/conditional.md")
SUITES = {"conditional": "Conditional problems", "yahpo": "YAHPO Gym"}
BUDGETS = (50, 100)
"""Evaluations after which the runs are compared: no method is told how many there will be."""
TPE = "optuna-tpe:multivariate=true,group=true"
ORDER = (("auto", TPE, "random", "optuna-gp"), ("smac-forest",))
"""Methods that are run seed by seed, one group after the other."""


def ordered(names: Sequence[str], seeds: int | None = None) -> list[tuple[str, Job]]:
    """All runs of these suites in the order in which they are made."""
    found = []
    for group in ORDER:
        each = {
            name: suites.jobs(suites.suite(name), suites.Choice(methods=group, seeds=seeds))
            for name in names
        }
        for seed in sorted({job.seed for jobs in each.values() for job in jobs}):
            found += [(name, job) for name in names for job in each[name] if job.seed == seed]
    return found


def run(names: Sequence[str], seeds: int | None) -> None:
    """What is neither in results/SUITE nor kept, one run at a time."""
    now = latest(source())
    for name, job in ordered(names, seeds):
        kept = zip(finals.jobs(name), finals.rows(name), strict=True)
        states = {about: row["source"] for about, row in kept}
        ours = method(job.method).ours
        if job in states and not (ours and latest(states[job]) != now):
            continue
        store = Store(finals.RESULTS / name)
        with store.locked():
            todo = harness.missing([job], store)
            with watching(todo) as display:
                harness.run_all(todo, store, display=display)


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


def versus(results: Results) -> str:
    """`auto` against each other method over all problems and seeds that both have."""
    found = [
        (name, scoreboard.pairs(results, scoreboard.AUTO, name))
        for name in results.methods
        if name != scoreboard.AUTO
    ]
    found = [(name, both) for name, both in found if both.shape[1]]
    tests = [p for _, (a, b) in found for p in (stats.lower(a, b).p, stats.lower(b, a).p)]
    corrected = stats.adjusted(np.array(tests)).reshape(-1, 2)
    rows: list[list[Cell | str]] = []
    for (name, (mine, theirs)), (better, worse) in zip(found, corrected, strict=True):
        word = "open"
        if min(better, worse) <= stats.LEVEL:
            word = "significantly better" if better < worse else "significantly worse"
        won, lost = int(np.sum(mine < theirs)), int(np.sum(mine > theirs))
        rows.append(
            [
                f"`{name}`",
                f"{won} / {lost} of {len(mine)}",
                f"{number(float(np.mean(theirs - mine)))}",
                f"{word}, p {p_value(min(better, worse))}",
            ]
        )
    header = ["`auto` against", "better / worse runs", "mean advantage", "`auto` is"]
    return table_text(Table(header, rows))


def losses(results: Results) -> str:
    """Problems on which a peer is significantly better than `auto`."""
    worse = [d for d in contests.duels(results) if d.ours == scoreboard.AUTO and d.verdict < 0]
    if not worse:
        return "On no single problem is a method significantly better than `auto`."
    words = [f"`{d.peer}` on `{d.group.problem}`" for d in worse]
    return f"Significantly better than `auto`: {'; '.join(words)}."


def part(results: Results, budget: int) -> list[str]:
    """One suite after so many evaluations."""
    some = after(results, budget)
    found = [f"### After {budget} evaluations", versus(some), losses(some)]
    found += ranks(some)
    return [*found, scoreboard.medians(some)]


def ranks(results: Results) -> list[str]:
    """Mean ranks over the problems that all methods ran on, and if some methods ran on fewer,
    over those of the others."""
    found = []
    for ranking in scoreboard.rankings(results):
        words = f"Over the {count(ranking.problems, 'problem')} that all of these ran on:"
        found += [words, scoreboard.rank_table(ranking)]
    return found


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
            written += [f"### Both after {budget} evaluations", *ranks(after(both, budget))]
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
        run([n for n in SUITES if n != "yahpo" or yahpo.DATA in os.environ], given.seeds)
    for name in SUITES:
        if (finals.RESULTS / name / "runs.jsonl").exists():
            finals.update(name)
    PAGE.write_text(wrapped(page()))


if __name__ == "__main__":
    main()
