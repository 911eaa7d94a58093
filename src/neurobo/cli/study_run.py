"""Commands that begin a study and run it: init, check, run, retry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from neurobo.cli.shared import (
    DEFAULT,
    AsJson,
    File,
    out,
    plain,
    print_best,
    read_file,
    say,
    trial_number,
)
from neurobo.errors import InvalidInput, NeuroboError

if TYPE_CHECKING:
    from optuna.study import Study

    from neurobo.analysis.tally import Tally


ROWS = 200
"""Parameters that `check` lists on a terminal."""


def init(
    path: Annotated[Path, typer.Argument(help="The study file to write.")] = DEFAULT,
    kind: Annotated[
        str, typer.Option(help="What evaluates: python (a function), command, or ask (people).")
    ] = "python",
) -> None:
    """Write a commented study file and an example of an objective."""
    from neurobo.studies.file.beginning import write_files

    for written in write_files(path, kind):
        say(f"wrote {written}")
    then = "ask" if kind == "ask" else "run"
    say(f"Change what differs in your case, then: neurobo check {path}; neurobo {then} {path}")


def check(file: File = DEFAULT, as_json: AsJson = False) -> None:
    """Explain what a study file means and what is wrong with it. Nothing of it is executed.

    Checks that the program, the files and the Python functions that it names exist.
    """
    from neurobo.studies.file.executes import doubts, executed
    from neurobo.studies.file.meaning import meaning, parameters
    from neurobo.studies.file.mistakes import InvalidStudyFile
    from neurobo.studies.file.reader import read_study

    try:
        study = read_study(file)
    except InvalidStudyFile as error:
        if as_json:
            mistakes = [{"line": m.line or None, "message": m.message} for m in error.mistakes]
            typer.echo(json.dumps({"valid": False, "mistakes": mistakes}))
            raise typer.Exit(2) from None
        raise
    words, rows, warned = meaning(study), parameters(study), doubts(study)
    if as_json:
        told = {"meaning": words, "space": rows, "executes": executed(study), "warnings": warned}
        typer.echo(json.dumps({"valid": True, **told}))
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in words.items():
        table.add_row(name, plain(text))
        if name == "space":
            for row in rows[:ROWS]:
                table.add_row("", plain(f"{row['name']}: {row['values']}"))
            if len(rows) > ROWS:
                table.add_row("", f"and {len(rows) - ROWS} more (--json lists all)")
    out.print(table)
    found = executed(study)
    say(f"Running this study will execute: {'; '.join(found) or 'nothing of this file'}.")
    for text in warned:
        out.print(f"note: {text}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if not warned:
        say("No problems found.")


def run(
    file: File = DEFAULT,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Evaluations at a time.", show_default="as in the file"),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Where evaluations run: processes, threads, ray, dask or slurm.",
            show_default="as in the file",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a study, or continue it. Ctrl-C once: running trials end first; twice: stop now.

    Several runs of the same study share its budget, on one machine or, with a storage that all can
    reach, on many.
    """
    from neurobo.integrations.optuna.attributes import INTERRUPTED
    from neurobo.studies.runner import shared_run as runner
    from neurobo.studies.runner.live import display
    from neurobo.studies.runner.shared_run import STOPPED
    from neurobo.studies.runner.store import explained

    study_file = read_file(file)
    console = Console(stderr=as_json)
    shown: list[Any] = []

    def show(study: Study) -> Any:
        shown.append(display(study_file, study, console))
        return shown[0]

    def note(text: str) -> None:
        if shown:
            shown[0].note(text)
        else:  # the storage went away while the display was being made
            console.print(text, markup=False, highlight=False, soft_wrap=True)

    runner.check_runnable(study_file)
    study, why = runner.run(study_file, workers=workers, engine=engine, display=show, note=note)
    from neurobo.analysis.tally import Tally, as_dict, short

    try:
        with explained(study_file):
            tally = Tally.of(study)
    except NeuroboError:  # the storage is still away
        say(why)
        raise
    if as_json:
        typer.echo(json.dumps({**as_dict(tally), "ended_early": why or None}))
    else:
        if why:
            say(f"{why}; `neurobo run {file}` continues")
        for trial in tally.failed[-1:]:
            say(
                f"{len(tally.failed)} of {len(tally.trials)} evaluations failed; the last one, "
                f"trial {trial.number}: {short(str(trial.user_attrs.get('failure')))}"
            )
        if 2 * len(tally.failed) >= len(tally.trials) > 0:
            say(
                f"Once the cause is repaired, `neurobo retry {file} --failed` queues the failed "
                f"trials again and `neurobo run {file}` evaluates them."
            )
        _print_best_of(tally)
    if why.startswith(INTERRUPTED):
        raise typer.Exit(130)  # as shells count it
    if tally.best is None and not why.startswith(STOPPED):
        raise typer.Exit(1)


def _print_best_of(tally: Tally) -> None:
    """The best feasible point, or what comes nearest to feasible."""
    if tally.best is not None:
        print_best(tally.best)
    elif tally.nearest is None:
        say("no result yet")
    else:
        say(f"none of {len(tally.complete)} results is feasible")
        print_best(tally.nearest, title="Nearest to feasible")


def retry(
    file: File = DEFAULT,
    trials: Annotated[
        list[str] | None, typer.Argument(metavar="[TRIAL]...", help="Numbers of failed trials.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="All trials that failed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Queue failed trials again, as new trials with the same parameters.

    The next `neurobo run` or `neurobo ask` starts with them. The old trials stay in the study, but
    the algorithm, the budget, `best` and the report leave them out.
    """
    from neurobo.studies.runner import lease
    from neurobo.studies.runner.store import explained, open_study

    study_file = read_file(file)
    numbers = [trial_number(text) for text in trials or ()]
    if bool(numbers) == failed:
        got = "both" if failed else "neither"
        raise InvalidInput(f"`retry` needs either numbers of trials or --failed, got {got}")
    study = open_study(study_file, create=False)
    with explained(study_file):
        queued = lease.retry(study, study_file.space, None if failed else numbers)
    if as_json:
        typer.echo(json.dumps([{"id": new, "retry_of": old} for old, new in queued.items()]))
        return
    if not queued:
        say("no trial has failed: nothing to retry")
        return
    say(f"queued again: {', '.join(f'trial {old} as {new}' for old, new in queued.items())}")
    then = "ask" if study_file.table.objective is None else "run"
    say(f"Then: neurobo {then} {file}")
