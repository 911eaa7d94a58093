"""The papers' experiments, ours beside theirs: run what is not done, and write docs/papers.md.

    python benchmarks/papers.py --list                 # how far they are, and what is left to do
    python benchmarks/papers.py --only cbo --only pinn # run these (days for all); stop at any time
    python benchmarks/papers.py --only cbo --problem "simionescu*" --method neural-cbo --seeds 5
    python benchmarks/papers.py --page                 # only write the page
    python benchmarks/papers.py --only cbo --trial     # one seed of at most 12 evaluations, apart

The chosen experiments advance together, seed by seed, so that what is done at a stop can be
compared. Whole records are in results/papers/NAME, what each run reached is kept in
benchmarks/reference/finals/papers/NAME.csv, from which the page is made: runs of several machines
can be put together. Runs that are kept are not repeated.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from statistics import median

import finals
import papers_page
from papers_experiments import EXPERIMENTS, Experiment
from prose import wrapped

from neurobo.bench import harness
from neurobo.bench.records import Job, Store, listed
from neurobo.bench.watch import watching
from neurobo.errors import InvalidInput, MissingPackage, did_you_mean

PAGE = Path("docs/papers.md")
TRIAL = 12
"""Evaluations of a trial run."""


def chosen_jobs(
    experiments: Sequence[Experiment],
    *,
    problems: Sequence[str] = (),
    methods: Sequence[str] = (),
    seeds: int | None = None,
    budget: int | None = None,
) -> list[tuple[Experiment, Job]]:
    """Seed by seed, in each of them experiment by experiment; `problems` are patterns."""
    for name in methods:
        known = sorted({m for e in experiments for m in e.methods})
        if name not in known:
            hint = did_you_mean(name, known)
            raise InvalidInput(f"--method must be one of {known}, got {name!r}{hint}")
    found = [
        (experiment, job)
        for experiment in experiments
        for job in _jobs(experiment, seeds, budget)
        if (not methods or job.method in methods)
        and (not problems or any(fnmatchcase(job.problem, pattern) for pattern in problems))
    ]
    return sorted(found, key=lambda pair: pair[1].seed)


def _jobs(experiment: Experiment, seeds: int | None, budget: int | None) -> list[Job]:
    try:
        return experiment.jobs(seeds, budget)
    except MissingPackage as error:
        print(f"{experiment.name} is left out: {error}", flush=True)
        return []


def run(
    jobs: Sequence[tuple[Experiment, Job]],
    processes: int,
    *,
    trial: bool = False,
    retry: bool = False,
) -> None:
    for experiment, pairs in groupby(jobs, key=lambda pair: pair[0]):
        store = Store(Path("results/papers-trial" if trial else "results/papers") / experiment.name)
        with store.locked():
            kept = set() if trial else kept_jobs(experiment)
            wanted = [job for _, job in pairs]
            todo = [job for job in harness.missing(wanted, store, retry=retry) if job not in kept]
            if todo:
                print(f"{experiment.name}: {len(todo)} of {len(wanted)} runs to do", flush=True)
                with watching(todo) as display:
                    harness.run_all(todo, store, processes=processes, display=display)
        if not trial:
            keep(experiment)


def keep(experiment: Experiment) -> None:
    """Take over what results/papers has."""
    records = Store(finals.RESULTS / papers_page.kept(experiment)).read()
    if any(not record.error for record in records):
        finals.update(papers_page.kept(experiment))
        papers_page.keep_detection(experiment, records)


def kept_jobs(experiment: Experiment) -> set[Job]:
    path = finals.path(papers_page.kept(experiment))
    return {job for job, _ in listed(path)} if path.exists() else set()


def listing() -> None:
    rates = seconds_per_evaluation()
    for e in EXPERIMENTS.values():
        kept = kept_jobs(e)
        try:
            jobs = e.jobs()
        except MissingPackage as error:
            print(f"{e.name:22} {e.paper:14} {str(error).partition(';')[0]}")
            continue
        left = [job for job in jobs if job not in kept]
        hours = sum(rates.get(_base(job.method), 0.0) * job.budget for job in left) / 3600
        unknown = sorted({_base(job.method) for job in left} - rates.keys())
        rest = f", without {', '.join(unknown)}" if unknown else ""
        done = f"{len(jobs) - len(left):5} of {len(jobs):5} runs, {hours:6.1f} CPU hours left{rest}"
        print(f"{e.name:22} {e.paper:14} {done}  {e.title}")


PRESETS = {
    "sto-bnts:paper": 2.8, "sto-bnts-linear:paper": 0.07, "neural-greedy:paper": 2.6,
    "neural-greedy-posterior:paper": 2.6, "neural-bo:paper": 0.5, "neural-cbo:paper": 0.15,
    "pinn-bo:paper": 0.6,
}  # fmt: skip
"""Processor seconds of a suggestion, measured once with 25 to 150 observations."""


def seconds_per_evaluation() -> dict[str, float]:
    """Processor seconds by method, whatever its options: the median of all kept runs."""
    found: dict[str, list[float]] = {}
    for path in finals.KEPT.rglob("*.csv"):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                if row.get("cpu"):
                    rate = float(row["cpu"]) / int(row["budget"])
                    found.setdefault(_base(row["method"]), []).append(rate)
    return PRESETS | {name: median(rates) for name, rates in found.items()}


def _base(method: str) -> str:
    """The method without options, but whether it has the paper's settings."""
    name, _, options = method.partition(":")
    return f"{name}:paper" if options.split(",")[0] == "paper" else name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--list", action="store_true", help="show the experiments")
    parser.add_argument("--only", action="append", metavar="NAME", help="these experiments")
    parser.add_argument("--problem", action="append", metavar="PATTERN", help="these problems")
    parser.add_argument("--method", action="append", metavar="NAME", help="these methods")
    parser.add_argument("--seeds", type=int, metavar="N", help="at most so many of each method")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, one thread each")
    parser.add_argument("--page", action="store_true", help="only write docs/papers.md")
    parser.add_argument("--retry", action="store_true", help="run again what broke off")
    parser.add_argument("--trial", action="store_true", help="one seed, few evaluations, not kept")
    given = parser.parse_args()
    for name in given.only or ():
        if name not in EXPERIMENTS:
            hint = did_you_mean(name, EXPERIMENTS)
            raise InvalidInput(f"--only must be one of {list(EXPERIMENTS)}, got {name!r}{hint}")
    if given.list:
        listing()
        return
    chosen = [EXPERIMENTS[name] for name in given.only or EXPERIMENTS]
    if given.page:
        for experiment in chosen:
            keep(experiment)
    else:
        jobs = chosen_jobs(
            chosen, problems=given.problem or (), methods=given.method or (),
            seeds=1 if given.trial else given.seeds, budget=TRIAL if given.trial else None,
        )  # fmt: skip
        run(jobs, given.jobs, trial=given.trial, retry=given.retry)
    if not given.trial:
        PAGE.write_text(wrapped(papers_page.page()))


if __name__ == "__main__":
    main()
