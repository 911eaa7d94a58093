"""The papers' experiments, ours beside theirs: run what is not done, and write docs/papers.md.

    python benchmarks/papers.py --list                 # the experiments, and how far they are
    python benchmarks/papers.py --only cbo --only pinn # run these (days for all); stop at any time
    python benchmarks/papers.py --page                 # only write the page
    python benchmarks/papers.py --only cbo --trial     # one seed of at most 12 evaluations, apart

Whole records are in results/papers/NAME, what each run reached is kept in
benchmarks/reference/finals/papers/NAME.csv, from which the page is made: runs of several machines
can be put together. Runs that are kept are not repeated.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import finals
import numpy as np
from papers_experiments import EXPERIMENTS, PAPERS, PINN, Experiment
from prose import wrapped

from neurobo.bench import harness, stats, tables
from neurobo.bench.peers import method
from neurobo.bench.problems import images, problem
from neurobo.bench.records import Job, Record, Store, listed
from neurobo.bench.report import contests, ecdf
from neurobo.bench.report.blocks import Cell, Table, styles
from neurobo.bench.report.markdown import PANELS_PER_PICTURE, table_text
from neurobo.bench.report.pictures import draw_panels
from neurobo.bench.report.results import convergence_panel
from neurobo.bench.report.words import SIGNS, number, percent
from neurobo.bench.watch import watching
from neurobo.errors import InvalidInput, MissingPackage, did_you_mean

PAGE, PICTURES = Path("docs/papers.md"), Path("docs/pictures")
TRIAL = 12
"""Evaluations of a trial run."""
NOT_RUN = "not run yet"
SAMPLES = {"neural-bo-sensitive": 8, "cbo-realistic": 10}
"""Experiments whose samples shall detect tampered models, and the paper's number of samples."""


def kept(experiment: Experiment) -> str:
    """The name that `finals` knows it by."""
    return f"papers/{experiment.name}"


def run(
    experiment: Experiment, processes: int, *, trial: bool = False, retry: bool = False
) -> None:
    jobs = experiment.jobs(1, TRIAL) if trial else experiment.jobs()
    folder = Path("results/papers-trial" if trial else "results/papers") / experiment.name
    store = Store(folder)
    with store.locked():
        known = set() if trial else _kept_jobs(experiment)
        todo = [job for job in harness.missing(jobs, store, retry=retry) if job not in known]
        print(f"{experiment.name}: {len(todo)} of {len(jobs)} runs to do", flush=True)
        with watching(todo) as display:
            harness.run_all(todo, store, processes=processes, display=display)
    if not trial:
        finals.update(kept(experiment))
        keep_detection(experiment, store.read())


def _kept_jobs(experiment: Experiment) -> set[Job]:
    path = finals.path(kept(experiment))
    return {job for job, _ in listed(path)} if path.exists() else set()


# Detection of tampered models -------------------------------------------------------------------


def keep_detection(experiment: Experiment, records: Sequence[Record]) -> None:
    """The share of tampered models that the best points of 1, 2, … runs find out, by method."""
    if experiment.name not in SAMPLES:
        return
    lines = ["method,samples,rate"]
    for name in experiment.methods:
        found = [r for r in records if r.job.method == name and r.best is not None]
        points = [problem(r.job.problem).space.point(r.best) for r in found if r.best is not None]
        for k in range(1, len(points) + 1):
            pictures = np.concatenate([images.sample(x) for x in points[:k]])
            lines.append(f'"{name}",{k},{images.detection_rate(pictures):.4f}')
    if len(lines) > 1:
        _detection(experiment).write_text("\n".join(lines) + "\n")


def _detection(experiment: Experiment) -> Path:
    return finals.path(f"{kept(experiment)}-detection")


def detection_table(experiment: Experiment) -> str:
    path = _detection(experiment)
    if experiment.name not in SAMPLES or not path.exists():
        return ""
    rates: dict[str, dict[int, float]] = {}
    for line in path.read_text().splitlines()[1:]:
        name, k, rate = line.rsplit(",", 2)
        rates.setdefault(name.strip('"'), {})[int(k)] = float(rate)
    counts = (1, 2, 4, SAMPLES[experiment.name])
    rows: list[list[Cell | str]] = [
        [name, *(f"{of[k]:.0%}" if k in of else NOT_RUN for k in counts)]
        for name, of in rates.items()
    ]
    caption = "Share of 1000 tampered models found out by the best points of so many runs."
    return table_text(Table(["samples", *map(str, counts)], rows, caption))


# The page ---------------------------------------------------------------------------------------

INTRO = """# The papers' experiments

Each table and figure of the five papers, ours beside theirs. This page is written by
`python benchmarks/papers.py --page` from the kept runs in `benchmarks/reference/finals/papers`; the
command under each title runs what is missing. "Paper's settings" are the presets such as
`neurobo.STOBNTS.paper()` ([benchmarks](benchmarks.md)), "default" is the algorithm as it is today.

Cells: mean ± standard error of the simple regret in the end over so many runs; the best value where
no optimum is known, re-evaluated where it is noisy; with unknown constraints the best sum of
positive regret and violation. ▲ ▼ ·: the default is significantly better than that method,
significantly worse, or neither: one-sided paired tests, corrected by Benjamini and Hochberg over
the tests of the experiment. –: the method cannot handle the problem.
"""


def page() -> str:
    parts = [INTRO]
    for paper, source in PAPERS.items():
        parts.append(f"## {paper}\n\n{source}\n")
        parts += [section(e) for e in EXPERIMENTS.values() if e.paper == paper]
    return "\n".join(parts).rstrip() + "\n"


def section(experiment: Experiment) -> str:
    results = finals.results(kept(experiment))
    command = shlex.join(["python", "benchmarks/papers.py", "--only", experiment.name])
    parts = [f"### {experiment.title}", f"`{command}`", f"The paper: {experiment.claim}"]
    if experiment.note:
        parts.append(experiment.note)
    parts += [
        result_table(experiment, results),
        mean_regrets(experiment),
        solved_table(experiment, results),
        detection_table(experiment),
        picture(experiment, results),
        f"**Verdict.** {verdict(experiment, results)}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _groups(experiment: Experiment, results: tables.Results) -> dict[str, Mapping[str, Any]]:
    return {
        group.problem: methods
        for group, methods in results.runs.items()
        if experiment.budgets.get(group.problem) == group.budget
    }


def comparisons(experiment: Experiment, results: tables.Results) -> dict[tuple[str, str], int]:
    """By problem and method: 1 if our default is significantly better, -1 if it is worse."""
    tests: dict[tuple[str, str], tuple[float, float]] = {}
    for name, methods in _groups(experiment, results).items():
        found = tables.scores(methods)
        for other in experiment.methods:
            if other != experiment.ours and {other, experiment.ours} <= found.keys():
                mine, yours = found[experiment.ours], found[other]
                tests[name, other] = contests.lower(mine, yours).p, contests.lower(yours, mine).p
    p = stats.adjusted(np.array(list(tests.values())).ravel()).reshape(-1, 2)
    return {
        key: int(better <= stats.LEVEL) - int(worse <= stats.LEVEL)
        for key, (better, worse) in zip(tests, p, strict=True)
    }


def result_table(experiment: Experiment, results: tables.Results) -> str:
    if all(tables.bbob_dim(name) is not None for name in experiment.budgets):
        return coco_table(experiment, results)
    groups, verdicts = _groups(experiment, results), comparisons(experiment, results)
    rows: list[list[Cell | str]] = []
    for name, budget in experiment.budgets.items():
        row: list[Cell | str] = [name, str(budget), experiment.theirs.get(name, "")]
        methods = groups.get(name, {})
        near = contests.not_worse(methods) if len(methods) > 1 else set()
        for label in experiment.methods:
            if label not in methods:
                row.append(NOT_RUN if handles(label, name) else "–")
                continue
            s = tables.summary(methods[label])
            sign = SIGNS[verdicts[name, label]] + " " if (name, label) in verdicts else ""
            error = f" ± {number(s.error, 2)}" if np.isfinite(s.error) else ""
            row.append(Cell(f"{sign}{number(s.mean)}{error} ({s.n})", bold=label in near))
        rows.append(row)
    header = ["problem", "T", "theirs", "paper's settings", "default", *experiment.peers]
    names = f"Paper's settings: `{experiment.preset}`; default: `{experiment.ours}`. "
    caption = names + "Bold: the best method, and those not significantly worse."
    return table_text(Table(header, rows, caption))


def coco_table(experiment: Experiment, results: tables.Results) -> str:
    """Share of COCO's targets solved: 96 problems in four rows."""
    parts = {part.dim: part for part in ecdf.solved(results)}
    dims = sorted({dim for name in experiment.budgets if (dim := tables.bbob_dim(name))})
    rows: list[list[Cell | str]] = []
    for dim in dims:
        hits = parts[dim].hits if dim in parts else {}
        cells = [
            percent(float(np.mean(parts[dim].by_function(m)))) if m in hits else NOT_RUN
            for m in experiment.methods
        ]
        rows.append([str(dim), str(20 * dim), *cells])
    header = ["d", "T", "paper's settings", "default", *experiment.peers]
    caption = "Share of 51 targets from 100 to 1e-8 that were reached, a mean over functions."
    return table_text(Table(header, rows, caption))


@cache
def handles(name: str, problem_name: str) -> bool:
    """Whether a method can be run on a problem."""
    if tables.bbob_dim(problem_name) is not None:
        return True
    about, chosen = problem(problem_name), method(name)
    return chosen.needs <= about.kinds | about.offers and about.kinds <= chosen.handles


def mean_regrets(experiment: Experiment) -> str:
    """R_T/T of the runs that have it, where the paper has it, too."""
    if not any(";" in text for text in experiment.theirs.values()):
        return ""
    found: dict[tuple[str, str], list[float]] = {}
    for row in finals.rows(kept(experiment)):
        if row.get("mean_regret"):
            found.setdefault((row["problem"], row["method"]), []).append(float(row["mean_regret"]))
    rows: list[list[Cell | str]] = []
    for name in experiment.budgets:
        cells = [
            number(float(np.mean(found[name, m]))) if (name, m) in found else NOT_RUN
            for m in experiment.methods
        ]
        rows.append([name, experiment.theirs.get(name, "").partition("; ")[2], *cells])
    header = ["R_T/T", "theirs", "paper's settings", "default", *experiment.peers]
    return table_text(Table(header, rows, "Cumulative regret over the number of evaluations."))


def solved_table(experiment: Experiment, results: tables.Results) -> str:
    """Evaluations until 95 % of the optimum, the second measure of the physics experiments."""
    if experiment.paper != PINN:
        return ""
    rows: list[list[Cell | str]] = []
    for name, methods in _groups(experiment, results).items():
        optimum = problem(name).optimum
        if optimum is None:
            continue
        row: list[Cell | str] = [name]
        for label in experiment.methods:
            each = [
                int(np.argmax(r.regrets() <= 0.05 * abs(optimum)) + 1)
                if r.regrets()[-1] <= 0.05 * abs(optimum)
                else len(r.values) + 1
                for r in methods.get(label, {}).values()
            ]
            row.append(f"{np.median(each):g}" if each else NOT_RUN)
        rows.append(row)
    header = ["evaluations to 95 %", "paper's settings", "default", *experiment.peers]
    caption = "Median over runs; one more than all if never."
    return table_text(Table(header, rows, caption)) if rows else ""


def picture(experiment: Experiment, results: tables.Results) -> str:
    panels = [
        convergence_panel(group.problem, group, methods)
        for group, methods in results.runs.items()
        if group.problem in experiment.budgets and tables.bbob_dim(group.problem) is None
    ][:PANELS_PER_PICTURE]
    if not panels:
        return ""
    path = PICTURES / f"papers-{experiment.name}.svg"
    draw_panels(path, panels, styles(experiment.methods, (experiment.preset, experiment.ours)))
    return f"![{experiment.title}](pictures/{path.name})"


def verdict(experiment: Experiment, results: tables.Results) -> str:
    """What the same tests as in the benchmark reports say, in a sentence."""
    groups, found = _groups(experiment, results), comparisons(experiment, results)
    compared = [m for m in groups.values() if experiment.ours in m and len(m) > 1]
    total = len(experiment.budgets)
    if not compared:
        return f"Not run yet: 0 of {total} problems."
    near = sum(experiment.ours in contests.not_worse(m) for m in compared)
    peers = [v for (_, other), v in found.items() if other != experiment.preset]
    presets = [v for (_, other), v in found.items() if other == experiment.preset]
    rest = "" if len(compared) == total else f" {total - len(compared)} of {total} not run yet."
    mine = f"`{experiment.ours}`"
    return (
        f"{mine} is the best method or not significantly worse on {near} of {len(compared)} "
        f"problems; against the others it is significantly better in {peers.count(1)} of "
        f"{len(peers)} comparisons, worse in {peers.count(-1)}; against the paper's settings "
        f"better in {presets.count(1)} of {len(presets)}, worse in {presets.count(-1)}.{rest}"
    )


def listing() -> None:
    for e in EXPERIMENTS.values():
        done = len(_kept_jobs(e))
        try:
            wanted = f"{len(e.jobs()):5} runs"
        except MissingPackage as error:
            wanted = str(error).partition(";")[0]
        print(f"{e.name:22} {e.paper:14} {done:5} of {wanted}  {e.title}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--list", action="store_true", help="show the experiments")
    parser.add_argument("--only", action="append", metavar="NAME", help="these experiments")
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
    if not given.page:
        for name in given.only or EXPERIMENTS:
            run(EXPERIMENTS[name], given.jobs, trial=given.trial, retry=given.retry)
    if not given.trial:
        PAGE.write_text(wrapped(page()))


if __name__ == "__main__":
    main()
