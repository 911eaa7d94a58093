"""Commands that look at a study: status, best, explain, report, plot, dashboard."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from neurobo.cli.shared import (
    DEFAULT,
    AsJson,
    File,
    Set,
    check_target,
    open_file,
    out,
    plain,
    print_best,
    say,
)
from neurobo.errors import NeuroboError, check_choice, require

if TYPE_CHECKING:
    from optuna.study import Study

    from neurobo.analysis.predictions import Surrogate
    from neurobo.analysis.tally import Tally
    from neurobo.analysis.theory import Theory
    from neurobo.studies.file.study_file import StudyFile


def _tallied(file: Path) -> tuple[StudyFile, Tally]:
    """A study file, and how its trials stand."""
    from neurobo.analysis.tally import Tally

    study_file, study = open_file(file, read_only=True)
    return study_file, Tally.of(study)


def status(file: File = DEFAULT, as_json: AsJson = False) -> None:
    """Show the progress of a study. Changes nothing."""
    from neurobo.analysis.tally import as_dict, duration, elapsed, short
    from neurobo.integrations.optuna.leases import is_leased, seconds_left

    study_file, tally = _tallied(file)
    total = study_file.table.budget.trials
    if as_json:
        typer.echo(json.dumps({"name": study_file.table.name, "budget": total, **as_dict(tally)}))
        return
    say(f"{study_file.table.name}: {len(tally.trials)} of {total} trials")
    say(
        f"{len(tally.complete)} complete, {len(tally.failed)} failed, "
        f"{len(tally.running)} running, {tally.waiting} waiting"
        + f", {tally.void} not counted (lost, interrupted, or an error of the program)"
        * bool(tally.void)
        + f", {tally.replaced} replaced (corrected or retried)" * bool(tally.replaced)
    )
    if tally.constrained:
        say(f"{len(tally.feasible)} of {len(tally.complete)} feasible")
    if tally.best is not None:
        say(f"best {short(tally.best.value)} in trial {tally.best.number}  {tally.trend()}")
    now = datetime.now()
    for trial in tally.running:
        left = seconds_left(trial) if is_leased(trial) else None
        lease = "no lease: not started by neurobo" if left is None else (
            f"lease for {duration(left)}" if left else "lease expired: the next run reclaims it"
        )  # fmt: skip
        say(f"  running: trial {trial.number} for {duration(elapsed(trial, now))} ({lease})")
    for trial in tally.failed[-3:]:
        reason = short(str(trial.user_attrs.get("failure", "unknown")))
        say(f"  failed: trial {trial.number}: {reason}")
    if tally.failed:
        say(f"  `neurobo retry {file} --failed` queues failed trials again")


def best(
    file: File = DEFAULT,
    n: Annotated[int, typer.Option("-n", "--number", min=1, help="How many.")] = 1,
    fixed: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show the best feasible points; under noise ranked by expected value.

    With `--set temperature=20` the point with the best expected value at this temperature,
    evaluated or not.
    """
    from neurobo.analysis.predictions import ranked, surrogate

    study_file, tally = _tallied(file)
    belief = surrogate(study_file.space, tally, noisy=study_file.noisy)
    if fixed:
        _best_rest(study_file, tally, belief, fixed, as_json=as_json)
        return
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
        print_best(contender.trial, title="Best" if n == 1 else "Good")
        if noisy and contender.mean is not None and contender.sd is not None:
            say(f"expected there: {contender.mean:.5g} ± {2 * contender.sd:.2g} (2 sd)")
    if belief is not None and noisy:
        say(
            f"The values are noisy (sd about {belief.noise_sd:.2g}), so points are ranked by their "
            "expected value."
        )
    if tally.replaced:
        say(f"Left out: {tally.replaced} replaced (corrected or retried).")


def _best_rest(
    file: StudyFile, tally: Tally, belief: Surrogate | None, fixed: list[str], *, as_json: bool
) -> None:
    """The best point for some values, as far as the surrogate can tell."""
    from neurobo.analysis.recommendation import best_rest
    from neurobo.analysis.tally import short
    from neurobo.studies.file.settings import settings

    space = file.space.holding(settings(file.space, fixed))
    found = best_rest(space, tally, belief)
    if as_json:
        about = {"params": found.params, "mean": found.value, "sd": found.sd,
                 "noise_sd": found.noise_sd, "nearest": found.trial.number}  # fmt: skip
        typer.echo(json.dumps(about))
        return
    table = Table(title="Best for these values", title_justify="left", min_width=32)
    table.add_column("parameter")
    table.add_column("value", justify="right", overflow="fold")
    for name, value in found.params.items():
        held = " (set)" if name in space.fixed else ""
        table.add_row(plain(name), plain(short(value) + held))
    table.add_section()
    expected = f"{found.value:.5g} ± {2 * found.sd:.2g}"
    table.add_row("expected (± 2 sd)", expected, style="bold")
    out.print(table)
    say(f"the nearest evaluated point is that of trial {found.trial.number}")


def _nothing(tally: Tally) -> str:
    if tally.nearest is not None:
        return (
            f"a feasible result is needed, got {len(tally.complete)} that are not feasible; trial "
            f"{tally.nearest.number} is the nearest: {tally.nearest.constraints}"
        )
    return f"a result is needed, got none ({len(tally.failed)} failed)"


def explain(
    file: File = DEFAULT,
    theory: Annotated[
        bool,
        typer.Option(
            "--theory",
            help="Also the terms of the papers' regret bounds, such as the information gain.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Explain what the algorithm did, which inputs matter, and the expected improvement."""
    from neurobo.studies.reporting.findings import Findings
    from neurobo.studies.reporting.sentences import SHARES, story, summary

    found = Findings.of(*open_file(file, read_only=True))
    told = found.explanation
    bounds = _theory(found.belief) if theory and found.belief is not None else None
    if as_json:
        shares = {"influence": {one.name: one.total for one in found.influence},
                  "influence_alone": {one.name: one.alone for one in found.influence}}  # fmt: skip
        more = {} if bounds is None else {"theory": bounds.as_dict()}
        typer.echo(json.dumps({**told.as_dict(), **shares, **more}))
        return
    for sentence in [*summary(found), *story(found), *told.sentences()]:
        say(f"- {sentence.replace('`', '')}")
    if told.work:
        table = Table(title="Which member proposed the points", title_justify="left")
        for i, name in enumerate(("member", "points", "improvements")):
            table.add_column(name, justify="right" if i else "left")
        for w in told.work:
            table.add_row(w.member, str(w.points), str(w.improvements))
        out.print(table)
    if found.influence:
        table = Table(title="Which parameters matter", title_justify="left")
        for i, name in enumerate(("parameter", "alone", "with combinations", "speed of change")):
            table.add_column(name, justify="right" if i else "left")
        for one in found.influence:
            cells = (f"{one.alone:.0%}", f"{one.total:.0%}", f"{one.speed:.2f}")
            table.add_row(plain(one.name), *cells)
        table.add_row("combinations", f"{found.combined:.0%}", "", "", style="dim")
        out.print(table)
        say(SHARES.replace("`", '"'))
    if bounds is not None:
        say("In terms of the regret bounds:")
        for sentence in bounds.sentences():
            say(f"- {sentence}")
    elif theory:
        say("The regret bounds need at least three different results.")


def _theory(belief: Surrogate) -> Theory:
    from neurobo.analysis.theory import theory_of

    return theory_of(belief)


def _open_to_write(file: Path, to: Path | None, ending: str) -> tuple[StudyFile, Study, Path]:
    """A study, and where to write about it: beside its file, unless the user says where."""
    study_file, study = open_file(file, read_only=True)
    return study_file, study, to or study_file.path.with_suffix(ending)


def report(
    file: File = DEFAULT,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="The page.", show_default="beside the study file"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report of the study as one HTML page without external resources."""
    from neurobo.studies.reporting.report import write_report

    check_target(to)
    study_file, study, target = _open_to_write(file, to, ".html")
    with Console(stderr=True).status("looking at the results …"):
        write_report(study_file, study, target)
    if as_json:
        typer.echo(json.dumps({"report": str(target)}))
    else:
        say(f"wrote {target}")


def plot(
    file: File = DEFAULT,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="A folder.", show_default="NAME.plots beside the file"),
    ] = None,
    form: Annotated[str, typer.Option("--format", help="png or svg.")] = "png",
    as_json: AsJson = False,
) -> None:
    """Write the pictures of the report as files."""
    from neurobo.studies.reporting.pictures import write_pictures

    check_choice("the format", form, ("png", "svg"))
    study_file, study, target = _open_to_write(file, to, ".plots")
    with Console(stderr=True).status("drawing …"):
        written = write_pictures(study_file, study, target, form)
    if as_json:
        typer.echo(json.dumps({"pictures": [str(path) for path in written]}))
    else:
        for path in written:
            say(f"wrote {path}")


def dashboard(
    file: File = DEFAULT,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the server.")] = 8080,
    host: Annotated[
        str, typer.Option(help="Address to listen on; the default accepts only this machine.")
    ] = "127.0.0.1",
) -> None:
    """Open optuna-dashboard on the study (needs the extra `dashboard`)."""
    from neurobo.integrations.optuna.compat import storage_of

    server = require("optuna_dashboard", extra="dashboard")
    _, study = open_file(file)
    say(f"http://{host}:{port}  (Ctrl-C ends it; constraints are not shown there)")
    server.run_server(storage_of(study), host=host, port=port)
