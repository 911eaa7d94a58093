"""`neurobo bench`: run an experiment, report it, compare two."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from neurobo.cli import interruptible

if TYPE_CHECKING:
    from neurobo.bench.records import Job, Store

app = typer.Typer(no_args_is_help=True, help="Compare optimisers on problems, with statistics.")
out = Console()

Names = Annotated[list[str] | None, typer.Option(help="Repeat it, or separate names by blanks.")]


@app.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a script.")] = False,
) -> None:
    """List the suites and the methods."""
    from neurobo.bench.peers import method, methods
    from neurobo.bench.suites import SUITES

    if as_json:
        suites = {s.name: {"summary": s.summary, "seeds": s.seeds} for s in SUITES.values()}
        found = {name: method(name).summary for name in methods()}
        typer.echo(json.dumps({"suites": suites, "methods": found}))
        return
    table = Table(title="Suites", title_justify="left", box=None)
    for heading in ("name", "problems", "methods", "seeds", "what it shows"):
        table.add_column(heading, style="bold" if heading == "name" else "")
    for s in SUITES.values():
        table.add_row(s.name, str(len(s.problems)), str(len(s.methods)), str(s.seeds), s.summary)
    out.print(table)
    out.print()
    table = Table(title="Methods", title_justify="left", box=None)
    for heading in ("name", "handles", "what it is"):
        table.add_column(heading, style="bold" if heading == "name" else "", no_wrap=False)
    for name in methods():
        m = method(name)
        table.add_row(name, ", ".join(sorted(m.handles)) or "boxes only", m.summary)
    out.print(table)


@app.command()
def run(
    suite: Annotated[str, typer.Argument(help="See `neurobo bench list`.")],
    folder: Annotated[
        Path | None,
        typer.Option(help="Where the records go.", show_default="results/SUITE"),
    ] = None,
    problems: Names = None,
    peers: Names = None,
    algorithms: Names = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many.")] = None,
    scale: Annotated[
        float, typer.Option(help="Shrink seeds and budgets, for example 0.5; the output says so.")
    ] = 1.0,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time, one thread each.")] = 1,
    timeout: Annotated[float | None, typer.Option(min=1, help="Seconds a run may take.")] = None,
    retry: Annotated[bool, typer.Option(help="Repeat runs that ended with an error.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The folder of YAHPO Gym's data, for the suite `yahpo`.",
            envvar="NEUROBO_YAHPO",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(help="A CSV file of runs made elsewhere, which are left out."),
    ] = None,
) -> None:
    """Run a suite. Finished runs are kept: the same command continues after a stop.

    Without --peers and --algorithms the suite's own methods run; with either, only those named
    (`ours` stands for all our algorithms). Options follow a name: `neural-greedy:gamma=1.5`.
    """
    from neurobo.bench import harness, suites
    from neurobo.bench.problems import yahpo
    from neurobo.bench.records import Store
    from neurobo.bench.watch import watching

    if data is not None:  # for this process and those of the runs
        os.environ[yahpo.DATA] = str(data.absolute())
    chosen = suites.suite(suite)
    choice = suites.Choice(
        problems=_names(problems),
        methods=_names(algorithms) + _names(peers),
        seeds=seeds,
        scale=scale,
    )
    wanted = suites.jobs(chosen, choice)
    store = Store(folder or Path("results") / suite)
    with store.locked():
        todo = harness.missing(wanted, store, retry=retry)
        if known is not None:
            elsewhere = _made_elsewhere(known)
            todo = [job for job in todo if job not in elsewhere]
        out.print(_plan(suite, wanted, todo, scale, store))
        if old := _made_otherwise(store, set(wanted) - set(todo)):
            out.print(
                f"Note: {old} of the finished runs were made with other versions of their "
                "packages; another --folder keeps them apart."
            )
        with watching(todo) as display, interruptible():
            harness.run_all(todo, store, processes=jobs, timeout=timeout, display=display)
    broken = [r for r in store.read() if r.error and r.job in set(todo)]
    for record in broken:
        out.print(
            f"broke off: {record.job.method} on {record.job.problem}: {record.error}",
            style="red",
            markup=False,
        )
    out.print(f"Now: neurobo bench report {store.folder}")
    if broken:
        raise typer.Exit(1)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A folder that `bench run` wrote.")],
    to: Annotated[
        Path | None, typer.Option("--out", help="Where to.", show_default="FOLDER")
    ] = None,
) -> None:
    """Write report.md and report.html: tables, tests, ranks, curves, times."""
    from neurobo.bench.report import write

    for path in write(folder, to):
        typer.echo(path)


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(help="The folder before.")],
    b: Annotated[Path, typer.Argument(help="The folder after.")],
    level: Annotated[float, typer.Option(help="Significance level of the tests.")] = 0.05,
) -> None:
    """Compare two folders run by run; exit code 1 if B is significantly worse than A."""
    from neurobo.bench.compare import compare as compare_folders

    found = compare_folders(a, b, level)
    typer.echo(found.to_markdown())
    if found.worse:
        raise typer.Exit(1)


def list_problems(as_json: bool) -> None:
    from neurobo.bench.problem import Problem
    from neurobo.bench.problems import GROUPS

    def about(p: Problem) -> dict[str, Any]:
        return {
            "parameters": p.dim,
            "budget": p.budget,
            "optimum": p.optimum,
            "constraints": list(p.constraints),
            "conditional": sorted(p.space.conditions.when),
            "laws": len(p.laws),
            "pool": p.pool is not None,
            "noisy": p.noisy,
            "centred": p.centred,
            "summary": p.summary,
            "source": p.source,
        }

    if as_json:
        typer.echo(json.dumps({g: {p.name: about(p) for p in ps} for g, ps in GROUPS.items()}))
        return
    for group, members in GROUPS.items():
        table = Table(title=group, title_justify="left", box=None, title_style="bold")
        for heading in ("name", "parameters", "budget", "optimum", "notes", "what it is"):
            table.add_column(heading, no_wrap=heading == "name")
        for p in members:
            notes = [
                f"{len(p.constraints)} constraints" if p.constraints else "",
                "conditional" if p.space.conditions.when else "",
                f"{len(p.laws)} laws" if p.laws else "",
                "pool" if p.pool is not None else "",
                "noisy" if p.noisy else "",
                "optimum at the centre" if p.centred else "",
            ]
            optimum = "" if p.optimum is None else f"{p.optimum:.6g}"
            row = (str(p.dim), str(p.budget), optimum, ", ".join(filter(None, notes)), p.summary)
            table.add_row(p.name, *row)
        out.print(table)
        out.print()
    out.print(
        "Also bbob-fF-dD-iI (COCO's function F in D dimensions, instance I), needles-D-I (narrow\n"
        "wells in D dimensions, instance I) and yahpo-SCENARIO-TASK (tuning tasks of YAHPO Gym).\n"
        "Wrappers: +shift +rotate +noise=S +variance=S +spread=S +failures=P +delay=S +batch=N"
    )


def _names(given: list[str] | None) -> tuple[str, ...]:
    return tuple(name for text in given or [] for name in text.split())


def _made_elsewhere(path: Path) -> set[Job]:
    """The listed runs; of our own algorithms only those of a source with the same suggestions."""
    from neurobo.bench.peers import method
    from neurobo.bench.records import listed
    from neurobo.bench.source import latest, source

    now = latest(source())
    return {job for job, made in listed(path) if latest(made) == now or not method(job.method).ours}


def _made_otherwise(store: Store, done: set[Job]) -> int:
    from neurobo.bench.peers import method
    from neurobo.bench.run_one import comparable, versions

    now = {name: comparable(versions(method(name))) for name in {job.method for job in done}}
    return sum(
        comparable(record.versions) != now[record.job.method]
        for record in store.read()
        if record.job in done and not record.error
    )


def _plan(suite: str, wanted: list[Job], todo: list[Job], scale: float, store: Store) -> str:
    methods = list(dict.fromkeys(job.method for job in wanted))
    seeds = sorted({job.seed for job in wanted})
    lines = [
        f"Suite {suite}: {len({job.problem for job in wanted})} problems, {len(methods)} methods, "
        f"seeds {seeds[0]} to {seeds[-1]}; {len(wanted)} runs, {len(wanted) - len(todo)} done.",
        f"Methods: {', '.join(methods)}",
        f"Records: {store.path}",
    ]
    if scale != 1:
        lines.insert(1, f"Scaled by {scale:g}: fewer seeds and smaller budgets than the suite's.")
    return "\n".join(lines)
