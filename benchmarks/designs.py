"""`auto` on constrained designs and on functions with many wells: docs/designs.md.

    python benchmarks/designs.py          # from benchmarks/reference/finals
    python benchmarks/designs.py --run    # first run what is missing (a day)

A stopped run goes on where it was. Runs are made seed by seed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import finals
import measured
import scoreboard
from prose import wrapped

from neurobo.bench import suites

PAGE = Path("docs/designs.md")
LAST = {"neural-cbo"}
"""Run when all others are done."""
SUITES = {"designs": "Constrained designs", "rugged": "Many wells"}


def order(name: str) -> measured.Order:
    """`auto` and its peers in one group: every seed is comparable as soon as it is done."""
    found = {job.method for job in suites.jobs(suites.suite(name), suites.Choice())}
    return tuple(sorted(found - LAST)), tuple(sorted(found & LAST))


def page() -> str:
    written = [
        "# Constraints and many wells: measured",
        "`python benchmarks/designs.py` writes this page from [the runs that are kept]"
        "(../benchmarks/reference/finals); with `--run` it first runs what is missing. A seed has "
        "the same initial design for all methods. Lower is better: regret, of feasible points "
        "where there are constraints. Tests pair the runs of a problem and a seed, corrected by "
        "Benjamini and Hochberg. In the tables of medians ≈ is what is not significantly worse "
        "than the best, which is bold. Settings were chosen on "
        "[other problems](lab-notes.md), but for the additive kernel on `schwefel-3` and for "
        "constraints on `tension-spring-3` (with seeds 0 to 5), which therefore prove less.",
    ]
    every = {name: scoreboard.kept(name) for name in SUITES}
    missing = [f"`{name}`" for name, results in every.items() if not results.runs]
    if missing:
        written += [f"Not run yet: {', '.join(missing)}."]
    for name, title in SUITES.items():
        results = every[name]
        if results.runs:
            runs = f"{len(results.records)} runs; {scoreboard.states(results)}"
            written += [f"## {title}", f"Suite `{name}`: {suites.suite(name).summary}. {runs}."]
            written += [measured.versus(results), measured.losses(results)]
            written += [*measured.ranks(results), scoreboard.medians(results)]
    return "\n\n".join(written) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--seeds", type=int, help="how many, the suites' own number if not given")
    parser.add_argument("--only", choices=SUITES, action="append")
    given = parser.parse_args()
    for name in given.only or SUITES:
        if given.run:
            measured.run([name], order(name), given.seeds)
        if (finals.RESULTS / name / "runs.jsonl").exists():
            finals.update(name)
    PAGE.write_text(wrapped(page()))


if __name__ == "__main__":
    main()
