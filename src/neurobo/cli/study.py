"""Commands for studies in files: init, check, run, ask, tell, and looking at them."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from neurobo.errors import InvalidInput, NeuroboError

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from neurobo.studies.study_file import StudyFile
    from neurobo.studies.tally import Tally

app = typer.Typer()
out = Console()

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script to read.")]
File = Annotated[Path, typer.Argument(help="The study file.", show_default=True)]
DEFAULT = Path("study.toml")


def _open(path: Path, *, create: bool = False) -> tuple[StudyFile, Study]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    from neurobo.studies.store import open_study
    from neurobo.studies.study_file import read_study

    file = read_study(path)
    return file, open_study(file, create=create)


def _say(text: str) -> None:
    out.print(text, markup=False, highlight=False, soft_wrap=True)


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="The study file to write.")] = DEFAULT,
    kind: Annotated[
        str, typer.Option(help="What evaluates: python (a function), command, or ask (people).")
    ] = "python",
) -> None:
    """Write a commented study file, and an example of an objective, to begin with."""
    from neurobo.studies.beginning import write_files

    for written in write_files(path, kind):
        _say(f"wrote {written}")
    then = "ask" if kind == "ask" else "run"
    _say(f"Change what differs in your case, then: neurobo check {path}; neurobo {then} {path}")


@app.command()
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
        table.add_row(name, _plain(text))
        if name == "space":
            for row in rows:
                table.add_row("", _plain(f"{row['name']}: {row['values']}"))
    out.print(table)
    for text in warned:
        out.print(f"note: {text}", style="yellow", markup=False, highlight=False)
    if not warned:
        _say("All is well.")


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)


@app.command()
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
    import optuna

    from neurobo.studies import runner
    from neurobo.studies.live import display
    from neurobo.studies.study_file import read_study
    from neurobo.trial_marks import INTERRUPTED

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study_file = read_study(file)
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
            _say(f"{why}; `neurobo run {file}` goes on")
        for trial in tally.failed[-1:]:
            _say(
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
        _print_best(tally.best)
    elif tally.nearest is None:
        _say("no result yet")
    else:
        _say(f"none of {len(tally.complete)} results is feasible")
        _print_best(tally.nearest, title="Nearest to feasible")


def _print_best(trial: FrozenTrial, title: str = "Best so far") -> None:
    from neurobo.studies.tally import short

    table = Table(title=f"{title}: trial {trial.number}", title_justify="left", min_width=32)
    table.add_column("parameter")
    table.add_column("value", justify="right", overflow="fold")
    for name, value in trial.params.items():
        table.add_row(_plain(name), _plain(short(value)))
    table.add_section()
    for name, value in trial.constraints.items():
        side = "<= 0" if value <= 0 else "> 0"
        table.add_row(_plain(name), _plain(f"{short(value)} ({side})"))
    table.add_row("objective", short(trial.value), style="bold")
    out.print(table)


@app.command()
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
    study_file, study = _open(file, create=True)
    with explained(study_file):
        found = ask_points(study_file, study, n, lease)
    if as_json:
        typer.echo(json.dumps([point._asdict() for point in found]))
        return
    table = Table()
    table.add_column("id", justify="right", style="bold")
    for name in study_file.space.distributions:
        table.add_column(_plain(name), justify="right", overflow="fold")
    table.add_column("until", no_wrap=True)
    for point in found:
        cells = [_plain(short(value)) for value in point.params.values()]
        table.add_row(str(point.id), *cells, f"{datetime.fromtimestamp(point.until):%d %b %H:%M}")
    out.print(table)
    _say(f"Then: neurobo tell {file} {found[0].id} VALUE")


@app.command()
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

    study_file, study = _open(file)
    names = study_file.table.constraints
    outcome = outcome_told(value, _constraints(constraint), failed, names)
    with explained(study_file):
        told = tell_result(study_file, study, trial, outcome)
    if as_json:
        typer.echo(json.dumps({"id": told.number, "state": told.state.name, "value": told.value}))
        return
    late = "" if told.number == trial else f" (it came late and counts as trial {told.number})"
    what = f"failed: {failed}" if told.value is None else f"{told.value:g}"
    _say(f"trial {trial}: {what}{late}")


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


@app.command()
def status(file: File = DEFAULT, as_json: AsJson = False) -> None:
    """How far a study is. Changes nothing."""
    from neurobo.studies.lease import is_leased, seconds_left
    from neurobo.studies.tally import Tally, as_dict, duration, elapsed, short

    study_file, study = _open(file)
    tally = Tally.of(study)
    total = study_file.table.budget.trials
    if as_json:
        typer.echo(json.dumps({"name": study_file.table.name, "budget": total, **as_dict(tally)}))
        return
    _say(f"{study_file.table.name}: {len(tally.trials)} of {total} trials")
    _say(
        f"{len(tally.complete)} complete, {len(tally.failed)} failed, "
        f"{len(tally.running)} running, {tally.waiting} waiting, "
        f"{tally.void} lost or interrupted and begun again"
    )
    if tally.constrained:
        _say(f"{len(tally.feasible)} of {len(tally.complete)} feasible")
    if tally.best is not None:
        _say(f"best {short(tally.best.value)} in trial {tally.best.number}  {tally.trend()}")
    now = datetime.now()
    for trial in tally.running:
        left = seconds_left(trial) if is_leased(trial) else None
        lease = "no lease: not begun by neurobo" if left is None else (
            f"lease for {duration(left)}" if left else "lease ran out: given up by the next run"
        )  # fmt: skip
        _say(f"  running: trial {trial.number} for {duration(elapsed(trial, now))} ({lease})")
    for trial in tally.failed[-3:]:
        reason = short(str(trial.user_attrs.get("failure", "unknown")))
        _say(f"  failed: trial {trial.number}: {reason}")


@app.command()
def best(
    file: File = DEFAULT,
    n: Annotated[int, typer.Option("-n", "--number", min=1, help="How many.")] = 1,
    as_json: AsJson = False,
) -> None:
    """The best feasible points; under noise by what the surrogate expects, not by luck."""
    from neurobo.studies.surrogate import ranked, surrogate
    from neurobo.studies.tally import Tally

    study_file, study = _open(file)
    tally = Tally.of(study)
    belief = surrogate(study_file.space, tally)
    found = ranked(tally, belief, n)
    if not found:
        raise NeuroboError(_nothing(tally))
    noisy = belief is not None and belief.noisy
    if as_json:
        points = [
            {
                "id": c.trial.number, "value": c.trial.value, "mean": c.mean, "sd": c.sd,
                "params": c.trial.params, "constraints": c.trial.constraints,
            }
            for c in found
        ]  # fmt: skip
        noise = belief.noise_sd if belief is not None and noisy else 0.0
        typer.echo(json.dumps({"noise_sd": noise, "by": "mean" if noisy else "value",
                               "best": points}))  # fmt: skip
        return
    for contender in found:
        _print_best(contender.trial, title="Best" if n == 1 else "Good")
        if noisy and contender.mean is not None and contender.sd is not None:
            _say(f"expected there: {contender.mean:.5g} ± {2 * contender.sd:.2g} (2 sd)")
    if belief is not None and noisy:
        _say(
            f"The values are noisy (sd about {belief.noise_sd:.2g}), so points are ranked by what "
            "the surrogate expects."
        )


def _nothing(tally: Tally) -> str:
    if tally.nearest is not None:
        return (
            f"a feasible result is needed, got {len(tally.complete)} that are not feasible; trial "
            f"{tally.nearest.number} is the nearest: {tally.nearest.constraints}"
        )
    return f"a result is needed, got none ({len(tally.failed)} failed)"


@app.command("import")
def import_(
    file: File,
    results: Annotated[Path, typer.Argument(help="A CSV file with a heading.")],
    value_column: Annotated[str, typer.Option(help="The column of the values.")] = "value",
    skip_bad: Annotated[bool, typer.Option(help="Leave bad rows out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Begin with earlier results. Columns are matched by name; an empty value means it failed.

    If any row is bad, all bad ones are listed and nothing is imported.
    """
    from rich.progress import track

    from neurobo.studies.store import explained, open_study
    from neurobo.studies.study_file import read_study
    from neurobo.studies.transfer import read_results, store_rows

    study_file = read_study(file)
    reading = read_results(study_file, results, value_column)
    if reading.bad and not skip_bad:
        shown = "".join(f"\n  {text}" for text in reading.bad[:50])
        more = f"\n  and {len(reading.bad) - 50} more" if len(reading.bad) > 50 else ""
        raise InvalidInput(
            f"every row of {results} must be right (or use --skip-bad), got {len(reading.bad)} bad "
            f"of {len(reading.bad) + len(reading.rows)}; nothing was imported{shown}{more}"
        )
    study = open_study(study_file)
    with explained(study_file):
        steps = store_rows(study, study_file.space, results, reading)
        total = len(reading.rows)
        console = Console(stderr=True)
        new = sum(track(steps, "importing", total=total, console=console, transient=True))
    told = {"imported": new, "known_before": total - new, "bad": reading.bad}
    if as_json:
        typer.echo(json.dumps({**told, "ignored_columns": reading.ignored}))
        return
    _say(f"imported {new} results" + (f", {total - new} were there before" * (total > new)))
    for text in reading.bad:
        _say(f"  left out: {text}")
    if reading.ignored:
        _say(f"columns that mean nothing here: {', '.join(reading.ignored)}")


@app.command()
def export(
    file: File = DEFAULT,
    form: Annotated[
        str | None, typer.Option("--format", help="csv, json or parquet [default: by --out].")
    ] = None,
    to: Annotated[Path | None, typer.Option("--out", help="A file instead of the screen.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also running trials and those begun again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """All results as a table."""
    from neurobo.studies.transfer import FORMATS, as_text, table_of, write_parquet

    chosen = "json" if as_json else form or (to.suffix.lstrip(".") if to else "") or "csv"
    if chosen not in FORMATS:
        raise InvalidInput(f"the format must be one of {list(FORMATS)}, got {chosen!r}")
    if chosen == "parquet" and to is None:
        raise InvalidInput("a Parquet file must have a name (--out), got none")
    study_file, study = _open(file)
    rows = table_of(study, study_file, everything=everything)
    if to is None:
        typer.echo(as_text(rows, chosen), nl=False)
        return
    if chosen == "parquet":
        write_parquet(rows, to)
    else:
        to.write_text(as_text(rows, chosen), encoding="utf-8")
    _say(f"wrote {to}")


@app.command()
def explain(file: File = DEFAULT, as_json: AsJson = False) -> None:
    """What the algorithm did and why, which inputs matter, and whether going on is worth it."""
    from neurobo.studies.account import account
    from neurobo.studies.findings import Findings

    found = Findings.of(*_open(file))
    told = account(found)
    if as_json:
        influence = {name: share for name, share, _ in found.influence}
        typer.echo(json.dumps({**told.as_dict(), "influence": influence}))
        return
    for sentence in [*found.summary(), *found.story(), *told.sentences()]:
        _say(f"- {sentence.replace('`', '')}")
    if told.work:
        table = Table(title="Who proposed the points", title_justify="left")
        for i, name in enumerate(("member", "points", "improvements")):
            table.add_column(name, justify="right" if i else "left")
        for w in told.work:
            table.add_row(w.member, str(w.points), str(w.improvements))
        out.print(table)
    if found.influence:
        table = Table(title="Which inputs matter", title_justify="left")
        for i, name in enumerate(("input", "share of the variance", "speed of change")):
            table.add_column(name, justify="right" if i else "left")
        for name, share, speed in found.influence:
            table.add_row(_plain(name), f"{share:.0%}", f"{speed:.2f}")
        out.print(table)


@app.command()
def report(
    file: File = DEFAULT,
    to: Annotated[
        Path | None, typer.Option("--out", help="The page [default: beside the study file].")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write one HTML page about the study: it needs nothing but a browser."""
    from neurobo.studies.report import write_report

    study_file, study = _open(file)
    target = to or study_file.path.with_suffix(".html")
    with Console(stderr=True).status("looking at the results …"):
        write_report(study_file, study, target)
    if as_json:
        typer.echo(json.dumps({"report": str(target)}))
    else:
        _say(f"wrote {target}")


@app.command()
def plot(
    file: File = DEFAULT,
    to: Annotated[
        Path | None, typer.Option("--out", help="A folder [default: NAME.plots beside the file].")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="png or svg.")] = "png",
    as_json: AsJson = False,
) -> None:
    """Write the pictures of the report as files."""
    from neurobo.studies.pictures import write_pictures

    if form not in ("png", "svg"):
        raise InvalidInput(f"the format must be 'png' or 'svg', got {form!r}")
    study_file, study = _open(file)
    target = to or study_file.path.with_suffix(".plots")
    with Console(stderr=True).status("drawing …"):
        written = write_pictures(study_file, study, target, form)
    if as_json:
        typer.echo(json.dumps({"pictures": [str(path) for path in written]}))
    else:
        for path in written:
            _say(f"wrote {path}")


@app.command()
def dashboard(
    file: File = DEFAULT,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where it listens.")] = 8080,
    host: Annotated[str, typer.Option(help="Who may connect: this machine only.")] = "127.0.0.1",
) -> None:
    """Open optuna-dashboard on the study (needs the extra `dashboard`)."""
    from neurobo.optional import require

    server = require("optuna_dashboard", extra="dashboard")
    _, study = _open(file)
    _say(f"http://{host}:{port}  (Ctrl-C ends it; constraints are not shown there)")
    server.run_server(study._storage, host=host, port=port)
