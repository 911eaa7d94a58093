"""What the pages of measurements share: runs that are made in a comparable order, and tables of
`auto` against the others."""

from __future__ import annotations

from collections.abc import Sequence

import finals
import numpy as np
import scoreboard

from neurobo.bench import harness, stats, suites
from neurobo.bench.peers import method
from neurobo.bench.records import Job, Store
from neurobo.bench.report import contests
from neurobo.bench.report.blocks import Cell, Table
from neurobo.bench.report.markdown import table_text
from neurobo.bench.report.words import count, number, p_value
from neurobo.bench.source import latest, source
from neurobo.bench.tables import Results
from neurobo.bench.watch import watching

Order = Sequence[tuple[str, ...]]
"""Methods that are run seed by seed, one group after the other."""


def ordered(names: Sequence[str], order: Order, seeds: int | None = None) -> list[tuple[str, Job]]:
    """All runs of these suites in the order in which they are made."""
    found = []
    for group in order:
        each = {
            name: suites.jobs(suites.suite(name), suites.Choice(methods=group, seeds=seeds))
            for name in names
        }
        for seed in sorted({job.seed for jobs in each.values() for job in jobs}):
            found += [(name, job) for name in names for job in each[name] if job.seed == seed]
    return found


def run(names: Sequence[str], order: Order, seeds: int | None) -> None:
    """What is neither in results/SUITE nor kept, one run at a time."""
    now = latest(source())
    for name, job in ordered(names, order, seeds):
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


def ranks(results: Results) -> list[str]:
    """Mean ranks over the problems that all methods ran on, and if some methods ran on fewer,
    over those of the others."""
    found = []
    for ranking in scoreboard.rankings(results):
        words = f"Over the {count(ranking.problems, 'problem')} that all of these ran on:"
        found += [words, scoreboard.rank_table(ranking)]
    return found
