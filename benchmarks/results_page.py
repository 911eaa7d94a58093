"""Run the experiments of docs/results.md, as far as they are not done, and write its tables again.

    make bench-results                             # hours; stop it at any time, run it again
    python benchmarks/results_page.py --no-run     # only write the page from the records there are

Records are kept in results/SUITE. The parts of the page between `<!-- NAME -->` and
`<!-- /NAME -->` are written by this script, the words around them by people; only suites whose
part the page has are run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import finals
import numpy as np
from prose import wrapped

from neurobo.bench import report, tables
from neurobo.bench.report.blocks import Cell, Items, Table
from neurobo.bench.report.markdown import escape, table_text
from neurobo.bench.suites import GAMMAS

KEPT = ("cbo-literal", "noisy-literal")
"""Suites whose last figures are kept in benchmarks/reference/finals, whole records or not."""
PAGE = Path("docs/results.md")
RESULTS = Path("results")

GREEDY = ("branin-2", "hartmann-6", "styblinski-tang-10", "levy-15", "ackley-20")
RUNS = {
    "greedy": ["--problems", " ".join([*GREEDY, *(f"{name}+noise=0.1" for name in GREEDY)]),
               "--algorithms", "neural-greedy", "--peers", "optuna-gp"],
    "gamma": ["--algorithms", " ".join(f"neural-greedy:gamma={g}" for g in ("evidence", *GAMMAS))],
    "bbob": [],
    "mixed": [],
    "noisy-literal": [],
    "cbo-literal": [],
}  # fmt: skip

# Means of 10 runs of GP-EI and of Neural Greedy, without and with noise: the Neural Greedy thesis
# ("Neural zeroth-order optimisation"), tables 5.1 and 5.2.
THESIS = {
    "branin-2": (0.052, 0.130),
    "hartmann-6": (0.051, 0.121),
    "styblinski-tang-10": (94.9, 74.2),
    "levy-15": (9.9, 4.1),
    "ackley-20": (16.7, 13.8),
    "branin-2+noise=0.1": (11.9, 13.0),
    "hartmann-6+noise=0.1": (0.303, 0.458),
    "styblinski-tang-10+noise=0.1": (97.4, 78.1),
    "levy-15+noise=0.1": (9.99, 0.27),
    "ackley-20+noise=0.1": (17.3, 17.7),
}


def greedy() -> str:
    results = tables.read(RESULTS / "greedy")
    rows: list[list[Cell | str]] = []
    for group, methods in sorted(results.runs.items(), key=lambda g: list(THESIS).index(g[0][0])):
        thesis = THESIS[group.problem]
        cells: list[Cell | str] = [group.problem, str(group.budget), *map(str, thesis)]
        for name in ("optuna-gp", "neural-greedy"):
            s = tables.summary(methods[name]) if name in methods else None
            if s is None:
                cells += ["", ""]
                continue
            cells.append(f"{s.mean:.3g} ± {s.error:.2g} ({s.median:.3g}; {s.n})")
            cells.append(f"{s.cpu_seconds:.0f}")
        rows.append(cells)
    header = ["problem", "T", "GP-EI, thesis", "Neural Greedy, thesis"]
    header += ["`optuna-gp`: mean ± se (median; runs)", "CPU s"]
    header += ["`neural-greedy`: mean ± se (median; runs)", "CPU s"]
    return table_text(Table(header, rows))


def gamma() -> str:
    """Median regrets of fixed values of γ, and how γ by evidence compares with them."""
    rows: list[list[Cell | str]] = []
    for group, methods in tables.read(RESULTS / "gamma").runs.items():
        medians = {name.partition("=")[2]: tables.summary(m).median for name, m in methods.items()}
        fixed = [medians[str(g)] for g in GAMMAS if str(g) in medians]
        shown = [*(medians.get(str(g)) for g in GAMMAS), float(np.median(fixed))]
        cells = [f"{v:.3g}" if v is not None else "" for v in (*shown, medians.get("evidence"))]
        seeds = max(len(m) for m in methods.values())
        rows.append([group.problem, str(group.budget), str(seeds), *cells])
    header = ["problem", "T", "seeds", *(f"γ = {g}" for g in GAMMAS)]
    return table_text(Table([*header, "median of these", "**evidence**"], rows))


def chosen(suite: str, *sections: str) -> str:
    """Parts of the report of a suite, without its pictures."""
    results = finals.results(suite) if suite in KEPT else tables.read(RESULTS / suite)
    parts = []
    for section in report.build(results, suite).sections:
        for block in section.blocks if section.title in sections else ():
            match block:
                case Table():
                    parts.append(table_text(block))
                case Items():
                    parts.append("\n".join(f"- {escape(item)}" for item in block.items))
    return "\n\n".join(parts)


PARTS: dict[str, Callable[[], str]] = {
    "greedy": greedy,
    "gamma": gamma,
    "bbob": lambda: chosen("bbob", "In short", "What was run", "COCO bbob"),
    "mixed": lambda: chosen("mixed", "In short", "What was run", "Results"),
    "cbo-literal": lambda: chosen("cbo-literal", "Regret plus violation"),
    "noisy-literal": lambda: chosen("noisy-literal", "Results", "Tests"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--no-run", action="store_true", help="only write the page")
    parser.add_argument("--jobs", default="2")
    options = parser.parse_args()
    text = PAGE.read_text()
    shown = {name for name in PARTS if f"<!-- {name} -->" in text}
    for suite, arguments in RUNS.items() if not options.no_run else ():
        if suite not in shown:
            continue
        command = [str(Path(sys.executable).parent / "neurobo"), "bench", "run", suite]
        if suite in KEPT and finals.path(suite).exists():
            command += ["--known", str(finals.path(suite))]
        subprocess.run([*command, *arguments, "--jobs", options.jobs], check=False)
    for name in KEPT:
        finals.update(name)
    for name in shown:
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if name in KEPT or (RESULTS / name / "runs.jsonl").exists():
            before, _, rest = text.partition(start)
            text = f"{before}{start}\n\n{PARTS[name]()}\n\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(wrapped(text))


if __name__ == "__main__":
    main()
