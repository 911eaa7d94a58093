"""Commands that begin a study and bring its results: init, check, run, ask, tell."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from neurobo.cli.shared import (
    DEFAULT,
    AsJson,
    File,
    open_file,
    out,
    plain,
    print_best,
    read_file,
    say,
)
from neurobo.errors import InvalidInput

if TYPE_CHECKING:
    from optuna.study import Study

    from neurobo.studies.tally import Tally


def init(
    path: Annotated[Path, typer.Argument(help="The study file to write.")] = DEFAULT,
    kind: Annotated[
        str, typer.Option(help="What evaluates: python (a function), command, or ask (people).")
    ] = "python",
) -> None:
    """Write a commented study file, and an example of an objective, to begin with."""
    from neurobo.studies.beginning import write_files

    for written in write_files(path, kind):
        say(f"wrote {written}")
    then = "ask" if kind == "ask" else "run"
    say(f"Change what differs in your case, then: neurobo check {path}; neurobo {then} {path}")


def check(file: File = DEFAULT, as_json: AsJson = False) -> None:
    """Explain what a study file means, and what is wrong with it. Nothing is executed."""
    from neurobo.studies.explain import doubts, meaning, parameters
    from neurobo.studies.study_file import InvalidStudyFile, read_study

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
        typer.echo(json.dumps({"valid": True, "meaning": words, "space": rows, "warnings": warned}))
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in words.items():
        table.add_row(name, plain(text))
        if name == "space":
            for row in rows:
                table.add_row("", plain(f"{row['name']}: {row['values']}"))
    out.print(table)
    for text in warned:
        out.print(f"note: {text}", style="yellow", markup=False, highlight=False)
    if not warned:
        say("All is well.")


def run(
    file: File = DEFAULT,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Evaluations at a time [default: the file's].")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a study, or go on with it. Ctrl-C once: running trials end; twice: stop now.

    Several runs of the same study work together, on one machine or, with a storage that all can
    reach, on many.
    """
    from neurobo.studies import runner
    from neurobo.studies.live import display
    from neurobo.trial_marks import INTERRUPTED

    study_file = read_file(file)
    console = Console(stderr=as_json)
    shown: list[Any] = []

    def show(study: Study) -> Any:
        shown.append(display(study_file, study, console))
        return shown[0]

    def note(text: str) -> None:
        shown[0].note(text)

    runner.check_runnable(study_file)
    study, why = runner.run(study_file, workers=workers, display=show, note=note)
    from neurobo.studies.tally import Tally, as_dict, short

    tally = Tally.of(study)
    if as_json:
        typer.echo(json.dumps({**as_dict(tally), "ended_early": why or None}))
    else:
        if why:
            say(f"{why}; `neurobo run {file}` goes on")
        for trial in tally.failed[-1:]:
            say(
                f"{len(tally.failed)} of {len(tally.trials)} evaluations failed; the last one, "
                f"trial {trial.number}: {short(str(trial.user_attrs.get('failure')))}"
            )
        _print_best_of(tally)
    if why.startswith(INTERRUPTED):
        raise typer.Exit(130)  # as shells count it
    if tally.best is None and not why:
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


def ask(
    file: File = DEFAULT,
    n: Annotated[int, typer.Option("-n", "--number", min=1, help="How many points.")] = 1,
    lease: Annotated[
        float | None, typer.Option(help="Hours they are reserved [default: the file's].")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Reserve the next points to try, for people and programs that bring the values themselves."""
    from neurobo.errors import check_number
    from neurobo.studies.ask_tell import ask_points
    from neurobo.studies.store import explained
    from neurobo.studies.tally import short

    if lease is not None:
        check_number("lease", lease, above=0)
    study_file, study = open_file(file, create=True)
    with explained(study_file):
        found = ask_points(study_file, study, n, lease)
    if as_json:
        typer.echo(json.dumps([point._asdict() for point in found]))
        return
    table = Table()
    table.add_column("id", justify="right", style="bold")
    for name in study_file.space.distributions:
        table.add_column(plain(name), justify="right", overflow="fold")
    table.add_column("until", no_wrap=True)
    for point in found:
        cells = [plain(short(value)) for value in point.params.values()]
        table.add_row(str(point.id), *cells, f"{datetime.fromtimestamp(point.until):%d %b %H:%M}")
    out.print(table)
    say(f"Then: neurobo tell {file} {found[0].id} VALUE")


def tell(
    file: File,
    trial: Annotated[int, typer.Argument(metavar="ID", help="From `neurobo ask`.")],
    value: Annotated[
        float | None, typer.Argument(help="The measured value (after -- if below 0).")
    ] = None,
    constraint: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE, once for each constraint.")
    ] = None,
    failed: Annotated[str | None, typer.Option(help="Why there is no value.")] = None,
    as_json: AsJson = False,
) -> None:
    """Bring the result of a point that was asked for."""
    from neurobo.studies.ask_tell import outcome_told, tell_result
    from neurobo.studies.store import explained

    study_file, study = open_file(file)
    names = study_file.table.constraints
    outcome = outcome_told(value, _constraints(constraint), failed, names)
    with explained(study_file):
        told = tell_result(study_file, study, trial, outcome)
    if as_json:
        typer.echo(json.dumps({"id": told.number, "state": told.state.name, "value": told.value}))
        return
    late = "" if told.number == trial else f" (it came late and counts as trial {told.number})"
    what = f"failed: {failed}" if told.value is None else f"{told.value:g}"
    say(f"trial {trial}: {what}{late}")


def _constraints(given: list[str] | None) -> dict[str, float]:
    found = {}
    for text in given or ():
        name, sign, number = text.partition("=")
        try:
            found[name] = float(number)
        except ValueError:
            sign = ""
        if not sign:
            raise InvalidInput(f"a constraint must be NAME=NUMBER, got {text!r}")
    return found
