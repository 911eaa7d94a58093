"""Commands for people and programs that bring the values themselves: ask, tell."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from typer.core import TyperCommand

from neurobo.cli.shared import (
    DEFAULT,
    AsJson,
    File,
    Set,
    out,
    plain,
    read_file,
    say,
    trial_number,
)
from neurobo.errors import InvalidInput, check_number

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


def ask(
    file: File = DEFAULT,
    n: Annotated[int, typer.Option("-n", "--number", min=1, help="How many points.")] = 1,
    lease: Annotated[
        float | None,
        typer.Option(help="Hours they are reserved.", show_default="as in the file"),
    ] = None,
    fixed: Set = None,
    as_json: AsJson = False,
) -> None:
    """Reserve the next points to try, for people and programs that report the values themselves.

    With `--set temperature=20` all other parameters are chosen for this temperature, from the
    results at all temperatures.
    """
    from neurobo.analysis.tally import short
    from neurobo.studies.file.settings import settings
    from neurobo.studies.runner.ask_tell import ask_points
    from neurobo.studies.runner.store import explained, open_study

    if lease is not None:
        check_number("lease", lease, above=0)
    study_file = read_file(file)
    held = settings(study_file.space, fixed or ())
    study = open_study(study_file)
    with explained(study_file):
        found = ask_points(study_file, study, n, lease, held)
    if as_json:
        typer.echo(json.dumps([point._asdict() for point in found]))
        return
    table = Table()
    table.add_column("id", justify="right", style="bold")
    for name in study_file.space.distributions:
        table.add_column(plain(name), justify="right", overflow="fold")
    table.add_column("until", no_wrap=True)
    for point in found:
        shown = [point.params.get(name, "") for name in study_file.space.distributions]
        cells = [plain(short(value)) for value in shown]
        table.add_row(str(point.id), *cells, f"{datetime.fromtimestamp(point.until):%d %b %H:%M}")
    out.print(table)
    say(f"Then: neurobo tell {file} {found[0].id} VALUE")


class NumbersBelowZero(TyperCommand):
    """A command whose arguments may be numbers below 0, which otherwise look like options."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        number = re.compile(r"-(\.?\d|inf|nan).*", re.I)
        # With a blank in front it is no option any more, and still the same number.
        return super().parse_args(ctx, [f" {a}" if number.fullmatch(a) else a for a in args])


def tell(
    file: File,
    trial: Annotated[str, typer.Argument(metavar="ID", help="From `neurobo ask`.")],
    value: Annotated[str | None, typer.Argument(help="The measured value.")] = None,
    constraint: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE, once for each constraint.")
    ] = None,
    failed: Annotated[str | None, typer.Option(help="Why there is no value.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a result that was reported before.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Report the result of a point from `neurobo ask`.

    A corrected result is a new trial with the same parameters. The old trial stays in the study,
    but the algorithm, the budget, `best` and the report leave it out.
    """
    from neurobo.running.results import correct_result, tell_result
    from neurobo.studies.runner.ask_tell import outcome_told
    from neurobo.studies.runner.store import explained, open_study

    study_file = read_file(file)  # first: who forgets the file has its place taken by the ID
    number = trial_number(trial)
    measured = None if value is None else _number("the value", value)
    study = open_study(study_file, create=False)
    names = study_file.table.constraints
    outcome = outcome_told(measured, _constraints(constraint), failed, names)
    with explained(study_file):
        if replace:
            told = correct_result(study, number, outcome)
        else:
            told = tell_result(study, number, outcome)
    if as_json:
        typer.echo(json.dumps({"id": told.number, "state": told.state.name, "value": told.value}))
        return
    what = f"failed: {failed}" if told.value is None else f"{told.value:g}"
    say(f"trial {number}: {what}{_kept_as(told, number, replace=replace)}")


def _kept_as(told: FrozenTrial, number: int, *, replace: bool) -> str:
    if told.number == number:
        return ""
    how = "corrected; the new result is" if replace else "it came late and counts as"
    return f" ({how} trial {told.number})"


def _constraints(given: list[str] | None) -> dict[str, float]:
    found = {}
    for text in given or ():
        name, sign, number = text.partition("=")
        if not sign:
            raise InvalidInput(f"a constraint must be NAME=NUMBER, got {text!r}")
        found[name] = _number(f"the constraint {name!r}", number)
    return found


def _number(what: str, text: str) -> float:
    text = text.strip()
    try:
        return float(text)
    except ValueError:
        hint = f"; write {text.replace(',', '.')}" * bool(re.fullmatch(r"[+-]?\d+,\d+", text))
        raise InvalidInput(f"{what} must be a number, got {text!r}{hint}") from None
