"""docs/papers.md: a section for each of the papers' experiments, from the kept runs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import finals
import numpy as np
from papers_experiments import EXPERIMENTS, PAPERS, PINN, Experiment

from neurobo.bench import stats, tables
from neurobo.bench.peers import method
from neurobo.bench.problems import images, problem
from neurobo.bench.records import Record
from neurobo.bench.report import contests, ecdf
from neurobo.bench.report.blocks import Cell, Line, Panel, Table, styles
from neurobo.bench.report.contests import Scores
from neurobo.bench.report.markdown import PANELS_PER_PICTURE, table_text
from neurobo.bench.report.pictures import draw_panels
from neurobo.bench.report.results import convergence_panel
from neurobo.bench.report.words import SIGNS, code, number, percent

PICTURES = Path("docs/pictures")
SAMPLES = {"neural-bo-sensitive": (8, 0.90), "cbo-realistic": (10, 0.85)}
"""Experiments whose samples shall detect tampered models: the paper's number of samples, and the
share that these detect."""
LEAST_SEEDS = 5
"""Common seeds of the default and a peer from which on a verdict counts their comparison."""
NEAR = 0.75
"""The share of problems on which the default must be best or not significantly worse."""

INTRO = f"""# The papers' experiments

Each table and figure of the five papers, ours beside theirs. This page is written by
`python benchmarks/papers.py --page` from the kept runs in `benchmarks/reference/finals/papers`; the
command of each section runs what is missing. "Paper's settings" are the presets such as
`neurobo.STOBNTS.paper()` ([benchmarks](benchmarks.md)), "default" is the algorithm as it is today.
Only problems and methods with runs have a row and a column.

Every method of a run begins at the same Sobol points. What a preset cannot reproduce stands at its
`paper` method.

Cells: mean ± standard error of the simple regret in the end (number of runs); the best value where
no optimum is known, re-evaluated where it is noisy; with unknown constraints the best sum of
positive regret and violation. ▲ ▼ ·: the default is significantly better than that method,
significantly worse, or neither: one-sided paired tests, corrected by Benjamini and Hochberg over
the tests of the experiment. –: the method cannot handle the problem; empty: not run yet. Bold: the
best method, and those not significantly worse, if they have at least {LEAST_SEEDS} runs. Pictures
show medians and the band between the quartiles.

Verdicts count comparisons with the peers over at least {LEAST_SEEDS} common seeds. *Better*: the
default is significantly better in at least half of them and worse in none. *Met*: it is the best or
not significantly worse on at least {percent(NEAR)} of the problems that are compared, at least half
of all, and not more often worse than better. *Refuted*: it is more often significantly worse than
better. *Not decided yet*: none of these, or too few seeds.
"""


def kept(experiment: Experiment) -> str:
    """The name that `finals` knows it by."""
    return f"papers/{experiment.name}"


def page() -> str:
    parts = [INTRO]
    for paper, source in PAPERS.items():
        parts.append(f"## {paper}\n\n{source}\n")
        parts += [section(e) for e in EXPERIMENTS.values() if e.paper == paper]
    return "\n".join(parts).rstrip() + "\n"


def section(experiment: Experiment) -> str:
    runs = Runs.of(experiment)
    command = f"`{shlex.join(['python', 'benchmarks/papers.py', '--only', experiment.name])}`"
    title, claim = f"### {experiment.title}", f"The paper: {experiment.claim}"
    if not runs.groups:
        return f"{title}\n\n{claim}\n\nNot run yet: {command}.\n"
    parts = [
        title, claim, experiment.note, command,
        coco_table(runs) if runs.coco else result_table(runs),
        missing(runs), mean_regrets(runs), solved_table(runs), detection_table(experiment),
        detection_picture(experiment), picture(runs), f"**Verdict.** {verdict(runs)}",
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


@dataclass(frozen=True)
class Runs:
    """The kept runs of an experiment."""

    experiment: Experiment
    results: tables.Results
    groups: Mapping[str, Mapping[str, tables.Runs]]
    """By problem and method, of the experiment's own budgets."""
    start: Mapping[str, tables.Group]

    @classmethod
    def of(cls, experiment: Experiment) -> Runs:
        results = finals.results(kept(experiment))
        own = {
            group: {m: runs for m, runs in methods.items() if m in experiment.methods}
            for group, methods in results.runs.items()
            if experiment.budgets.get(group.problem) == group.budget
        }
        own = {group: methods for group, methods in own.items() if methods}
        order = {name: at for at, name in enumerate(experiment.budgets)}
        groups = sorted(own, key=lambda group: order[group.problem])
        return cls(
            experiment,
            tables.Results({group: own[group] for group in groups}, ()),
            {group.problem: own[group] for group in groups},
            {group.problem: group for group in groups},
        )

    @property
    def coco(self) -> bool:
        return all(tables.bbob_dim(name) is not None for name in self.experiment.budgets)

    @property
    def methods(self) -> list[str]:
        """Those with runs, in the experiment's order."""
        return [m for m in self.experiment.methods if any(m in g for g in self.groups.values())]

    @property
    def header(self) -> list[str]:
        words = {self.experiment.preset: "paper's settings", self.experiment.ours: "default"}
        return [words.get(m, m) for m in self.methods]

    @property
    def solved(self) -> list[ecdf.Solved]:
        """Of COCO: dimensions with functions that all their methods ran on."""
        return [part for part in ecdf.solved(self.results) if part.budget] if self.coco else []

    @property
    def noun(self) -> str:
        return "dimensions" if self.coco else "problems"

    @cached_property
    def contests(self) -> dict[str, dict[str, Scores]]:
        """What tests compare, by problem, method and seed; of COCO by dimension, method and
        function. Lower is better."""
        if not self.coco:
            return {name: dict(tables.scores(methods)) for name, methods in self.groups.items()}
        return {
            f"d = {part.dim}": {
                m: dict(zip(part.functions, (-part.by_function(m)).tolist(), strict=True))
                for m in part.hits
            }
            for part in self.solved
        }

    def common(self, name: str, other: str) -> int:
        """Seeds, or functions, that the default and another method share."""
        found = self.contests[name]
        return len(found[self.experiment.ours].keys() & found[other].keys())


def comparisons(runs: Runs) -> dict[tuple[str, str], int]:
    """By problem and method: 1 if our default is significantly better, -1 if it is worse."""
    ours = runs.experiment.ours
    tests: dict[tuple[str, str], tuple[float, float]] = {}
    for name, found in runs.contests.items():
        for other in runs.methods:
            if other != ours and {other, ours} <= found.keys() and runs.common(name, other) > 1:
                mine, yours = found[ours], found[other]
                tests[name, other] = contests.lower(mine, yours).p, contests.lower(yours, mine).p
    p = stats.adjusted(np.array(list(tests.values())).ravel()).reshape(-1, 2)
    return {
        key: int(better <= stats.LEVEL) - int(worse <= stats.LEVEL)
        for key, (better, worse) in zip(tests, p, strict=True)
    }


# Tables -----------------------------------------------------------------------------------------


def result_table(runs: Runs) -> str:
    experiment, verdicts = runs.experiment, comparisons(runs)
    theirs = ["theirs"] if experiment.theirs else []
    rows: list[list[Cell | str]] = []
    for name, methods in runs.groups.items():
        row: list[Cell | str] = [name, str(experiment.budgets[name])]
        row += [experiment.theirs.get(name, "").partition(";")[0] for _ in theirs]
        near = contests.not_worse(methods) if len(methods) > 1 else set()
        for label in runs.methods:
            if label not in methods:
                row.append("" if handles(label, name) else "–")
                continue
            s = tables.summary(methods[label])
            sign = SIGNS[verdicts[name, label]] + " " if (name, label) in verdicts else ""
            error = f" ± {number(s.error, 2)}" if np.isfinite(s.error) else ""
            row.append(
                Cell(
                    f"{sign}{number(s.mean)}{error} ({s.n})",
                    bold=label in near and s.n >= LEAST_SEEDS,
                )
            )
        rows.append(row)
    caption = f"Paper's settings: `{experiment.preset}`; default: `{experiment.ours}`"
    states = sorted({row["source"] for row in finals.rows(kept(experiment)) if row["source"]})
    caption += f" (state of our source: {', '.join(states)})." if states else "."
    return table_text(Table(["problem", "T", *theirs, *runs.header], rows, caption))


def coco_table(runs: Runs) -> str:
    """Share of COCO's targets solved: 96 problems in four rows."""
    verdicts = comparisons(runs)
    rows: list[list[Cell | str]] = []
    for part in runs.solved:
        row: list[Cell | str] = [str(part.dim), str(20 * part.dim), str(len(part.functions))]
        for m in runs.methods:
            sign = verdicts.get((f"d = {part.dim}", m))
            share = percent(float(np.mean(part.by_function(m)))) if m in part.hits else ""
            row.append(share if sign is None else f"{SIGNS[sign]} {share}")
        rows.append(row)
    header = ["d", "T", "functions", *runs.header]
    caption = (
        "Share of 51 targets from 100 to 1e-8 that were reached, a mean over the functions that "
        "all methods ran on; tests compare functions."
    )
    return table_text(Table(header, rows, caption))


@cache
def handles(name: str, problem_name: str) -> bool:
    """Whether a method can be run on a problem."""
    if tables.bbob_dim(problem_name) is not None:
        return True
    about, chosen = problem(problem_name), method(name)
    return chosen.needs <= about.kinds | about.offers and about.kinds <= chosen.handles


def missing(runs: Runs) -> str:
    """Problems and methods without any run."""
    experiment = runs.experiment
    methods = [m for m in experiment.methods if m not in runs.methods]
    problems = [n for n in experiment.budgets if n not in runs.groups]
    if runs.coco and problems:
        return f"Not run yet: {len(problems)} of {len(experiment.budgets)} problems."
    return f"Not run yet: {code([*problems, *methods])}." if problems or methods else ""


def mean_regrets(runs: Runs) -> str:
    """R_T/T of the runs that have it, where the paper has it, too."""
    theirs = runs.experiment.theirs
    found: dict[tuple[str, str], list[float]] = {}
    for row in finals.rows(kept(runs.experiment)):
        if row.get("mean_regret"):
            found.setdefault((row["problem"], row["method"]), []).append(float(row["mean_regret"]))
    if not found or not any(";" in text for text in theirs.values()):
        return ""
    rows: list[list[Cell | str]] = []
    for name in runs.groups:
        cells = [
            number(float(np.mean(found[name, m]))) if (name, m) in found else ""
            for m in runs.methods
        ]
        rows.append([name, theirs.get(name, "").partition("; ")[2], *cells])
    caption = "Cumulative regret over the number of evaluations."
    return table_text(Table(["R_T/T", "theirs", *runs.header], rows, caption))


def solved_table(runs: Runs) -> str:
    """Evaluations until 95 % of the optimum, the second measure of the physics experiments."""
    if runs.experiment.paper != PINN:
        return ""
    rows: list[list[Cell | str]] = []
    for name, methods in runs.groups.items():
        optimum = problem(name).optimum
        if optimum is None:
            continue
        row: list[Cell | str] = [name]
        for label in runs.methods:
            each = [
                int(np.argmax(r.regrets() <= 0.05 * abs(optimum)) + 1)
                if r.regrets()[-1] <= 0.05 * abs(optimum)
                else len(r.values) + 1
                for r in methods.get(label, {}).values()
            ]
            row.append(f"{np.median(each):g}" if each else "")
        rows.append(row)
    caption = "Median over runs; one more than all if never."
    table = Table(["evaluations to 95 %", *runs.header], rows, caption)
    return table_text(table) if rows else ""


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
        detection_path(experiment).write_text("\n".join(lines) + "\n")


def detection_path(experiment: Experiment) -> Path:
    return finals.path(f"{kept(experiment)}-detection")


def detection_rates(experiment: Experiment) -> dict[str, dict[int, float]]:
    """By method and number of samples."""
    path = detection_path(experiment)
    rates: dict[str, dict[int, float]] = {}
    for line in path.read_text().splitlines()[1:] if path.exists() else ():
        name, k, rate = line.rsplit(",", 2)
        rates.setdefault(name.strip('"'), {})[int(k)] = float(rate)
    return rates


def detection_table(experiment: Experiment) -> str:
    rates = detection_rates(experiment)
    if not rates:
        return ""
    samples, share = SAMPLES[experiment.name]
    counts = sorted({k for of in rates.values() for k in of if k <= samples})
    rows: list[list[Cell | str]] = [
        [name, *(f"{of[k]:.0%}" if k in of else "" for k in counts)] for name, of in rates.items()
    ]
    caption = (
        "Share of 1000 tampered models found out by the best points of so many runs; the paper: "
        f"{share:.0%} by {samples}."
    )
    return table_text(Table(["samples", *map(str, counts)], rows, caption))


# Picture and verdict ----------------------------------------------------------------------------


def picture(runs: Runs) -> str:
    if runs.coco:
        return ""
    panels = [
        convergence_panel(name, runs.start[name], methods)
        for name, every in runs.groups.items()
        if len(methods := {m: found for m, found in every.items() if _have_curves(found)}) > 1
    ][:PANELS_PER_PICTURE]
    if not panels:
        return ""
    experiment = runs.experiment
    path = PICTURES / f"papers-{experiment.name}.png"
    draw_panels(path, panels, styles(experiment.methods, (experiment.preset, experiment.ours)))
    return f"![{experiment.title}](pictures/{path.name})"


def detection_picture(experiment: Experiment) -> str:
    """The paper's form: the share of tampered models found out against the number of samples."""
    rates = detection_rates(experiment)
    if not rates:
        return ""
    lines = [
        Line(name, np.array(sorted(of), dtype=float), np.array([100 * of[k] for k in sorted(of)]))
        for name, of in rates.items()
    ]
    panel = Panel(experiment.title, lines, "samples", "detected, %", y_range=(0.0, 102.0))
    path = PICTURES / f"papers-{experiment.name}-detection.png"
    draw_panels(path, [panel], styles(experiment.methods, (experiment.preset, experiment.ours)))
    return f"![Detection by {experiment.title}](pictures/{path.name})"


def _have_curves(found: tables.Runs) -> bool:
    """Whether more than the end of the runs is known."""
    return all(len(record.values) == record.job.budget for record in found.values())


def verdict(runs: Runs) -> str:
    """What the comparisons say, in a word and the figures behind it."""
    experiment, found = runs.experiment, comparisons(runs)
    counted = {
        (name, other): v
        for (name, other), v in found.items()
        if runs.common(name, other) >= LEAST_SEEDS
    }
    peers = {key: v for key, v in counted.items() if key[1] != experiment.preset}
    compared = list(dict.fromkeys(name for name, _ in peers))
    near = sum(_is_near(runs, name, peers) for name in compared)
    values = list(peers.values())
    parts = []
    if compared:
        word = _word(near, len(compared), _total(runs), values) + _where(runs, compared)
        parts.append(
            f"{word}: `{experiment.ours}` is the best or not significantly worse on {near} of "
            f"{len(compared)} {runs.noun}, against peers significantly better in {values.count(1)} "
            f"of {len(values)} comparisons and worse in {values.count(-1)}."
        )
    else:
        parts.append(f"Not decided yet: no comparison has {LEAST_SEEDS} common seeds.")
    presets = [v for (_, other), v in counted.items() if other == experiment.preset]
    if presets:
        parts.append(
            f"Against the paper's settings it is better in {presets.count(1)} of {len(presets)}, "
            f"worse in {presets.count(-1)}."
        )
    parts += [law(runs, counted), published(runs), detected(experiment)]
    return " ".join(part for part in parts if part)


def _word(near: int, compared: int, total: int, values: Sequence[int]) -> str:
    better, worse = values.count(1), values.count(-1)
    if not worse and 2 * better >= len(values):
        return "Better"
    if worse > better:
        return "Refuted"
    return "Met" if near >= NEAR * compared and 2 * compared >= total else "Not decided yet"


def _total(runs: Runs) -> int:
    """All problems of the experiment, or COCO's dimensions."""
    budgets = runs.experiment.budgets
    return len({tables.bbob_dim(name) for name in budgets}) if runs.coco else len(budgets)


def _where(runs: Runs, compared: Sequence[str]) -> str:
    total = _total(runs)
    if len(compared) == total:
        return ""
    return f", so far on {len(compared)} of {total} {runs.noun}"


def _is_near(runs: Runs, name: str, peers: Mapping[tuple[str, str], int]) -> bool:
    """Whether the default is the best, or not significantly worse than it."""
    ours, found = runs.experiment.ours, runs.contests[name]
    counted = [ours, *(m for n, m in peers if n == name)]
    best = min(counted, key=lambda m: float(np.median(list(found[m].values()))))
    others = [m for m in counted if m != best]
    p = stats.adjusted(np.array([contests.lower(found[best], found[m]).p for m in others]))
    return best == ours or bool(p[others.index(ours)] > stats.LEVEL)


def law(runs: Runs, counted: Mapping[tuple[str, str], int]) -> str:
    """On how many problems the law helps: against the same method without it."""
    found = [v for (_, other), v in counted.items() if other.endswith(":weight=0")]
    if not found:
        return ""
    return f"The law helps significantly on {found.count(1)} of {len(found)} problems."


def published(runs: Runs) -> str:
    """Our means beside those that the paper has for its own method."""
    experiment = runs.experiment
    met = {
        name: tables.summary(runs.groups[name][experiment.ours])
        for name in experiment.published
        if len(runs.groups.get(name, {}).get(experiment.ours, {})) >= LEAST_SEEDS
    }
    if not met:
        return ""
    near = sum(s.mean <= experiment.published[name] for name, s in met.items())
    few = min(s.n for s in met.values())
    return (
        f"Its mean is at least as good as the paper's own on {near} of {len(met)} problems "
        f"(at least {few} runs each)."
    )


def detected(experiment: Experiment) -> str:
    rates = detection_rates(experiment).get(experiment.ours)
    if not rates:
        return ""
    samples, share = SAMPLES[experiment.name]
    k = min(samples, max(rates))
    return f"Its best {k} samples detect {rates[k]:.0%} (the paper: {samples} detect {share:.0%})."
