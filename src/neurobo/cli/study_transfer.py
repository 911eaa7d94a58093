"""Commands that move results into a study and out of it: import, export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from neurobo.cli.shared import DEFAULT, AsJson, File, check_target, open_file, read_file, say
from neurobo.errors import InvalidInput, check_choice


def import_(
    file: File,
    results: Annotated[Path, typer.Argument(help="A CSV file with a heading.")],
    value_column: Annotated[str, typer.Option(help="The column of the values.")] = "value",
    skip_bad: Annotated[bool, typer.Option(help="Leave bad rows out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import earlier results. Columns are matched by name; an empty value means it failed.

    Columns may be separated by commas, semicolons or tabs, and numbers may have decimal commas
    where columns have not: what the file has is guessed and said.
    If any row is bad, all bad ones are listed and nothing is imported.
    """
    from rich.progress import track

    from neurobo.studies.runner.store import explained, open_study
    from neurobo.studies.transfer import read_results, store_rows

    study_file = read_file(file)
    reading = read_results(study_file, results, value_column)
    if reading.bad and not skip_bad:
        shown = "".join(f"\n  {text}" for text in reading.bad[:50])
        more = f"\n  and {len(reading.bad) - 50} more" if len(reading.bad) > 50 else ""
        how = f" (read with {reading.read_with})" if reading.read_with else ""
        raise InvalidInput(
            f"every row of {results} must be right (or use --skip-bad), got {len(reading.bad)} bad "
            f"of {len(reading.bad) + len(reading.rows)}{how}; nothing was imported{shown}{more}"
        )
    study = open_study(study_file)
    with explained(study_file):
        steps = store_rows(study, study_file.space, results, reading)
        total = len(reading.rows)
        console = Console(stderr=True)
        new = sum(track(steps, "importing", total=total, console=console, transient=True))
    told: dict[str, Any] = {"imported": new, "known_before": total - new, "bad": reading.bad}
    if as_json:
        told |= {"ignored_columns": reading.ignored, "read_with": reading.read_with or None}
        typer.echo(json.dumps(told))
        return
    if reading.read_with:
        say(f"read {results} with {reading.read_with}")
    say(f"imported {new} results" + (f", {total - new} were there before" * (total > new)))
    for text in reading.bad:
        say(f"  left out: {text}")
    if reading.ignored:
        say(f"columns that mean nothing here: {', '.join(reading.ignored)}")


def export(
    file: File = DEFAULT,
    form: Annotated[
        str | None,
        typer.Option("--format", help="csv, json or parquet.", show_default="by --out, or csv"),
    ] = None,
    to: Annotated[Path | None, typer.Option("--out", help="A file instead of the screen.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also running trials and those that do not count.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """All results as a table."""
    from neurobo.analysis.tally import Tally
    from neurobo.studies.transfer import FORMATS, as_text, table_of, write_parquet

    chosen = "json" if as_json else form or (to.suffix.lstrip(".") if to else "") or "csv"
    check_choice("the format", chosen, FORMATS)
    if chosen == "parquet" and to is None:
        raise InvalidInput("a Parquet file must have a name (--out), got none")
    check_target(to)
    study_file, study = open_file(file, read_only=True)
    rows = table_of(study, study_file, everything=everything)
    if to is None:
        typer.echo(as_text(rows, chosen), nl=False)
        return
    if chosen == "parquet":
        write_parquet(rows, to)
    else:
        to.write_text(as_text(rows, chosen), encoding="utf-8")
    replaced = 0 if everything else Tally.of(study).replaced
    note = f"; {replaced} replaced (corrected or retried) are left out, --all writes them, too"
    say(f"wrote {to}{note * bool(replaced)}")
