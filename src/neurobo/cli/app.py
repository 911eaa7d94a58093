"""The command line. Heavy imports happen inside the commands, so that --help is instant."""

from __future__ import annotations

import json
import warnings
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from neurobo.cli import bench, demo, main, storage, study
from neurobo.cli.shared import AsJson, out
from neurobo.errors import NeuroboError, NeuroboWarning

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # not rich's own markup, which swallows [words in brackets]
)
app.add_typer(study.app)
app.add_typer(storage.app, name="storage")
app.add_typer(bench.app, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        from neurobo import __version__

        typer.echo(f"neurobo {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Neural black-box optimisation: the minimum of an expensive function in few evaluations."""


app.command("demo")(demo.demo)


def _note(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> str:
    """A warning as a user of the command line wants it: without a place in the source."""
    kind = "note" if issubclass(category, NeuroboWarning) else category.__name__
    return f"{kind}: {message}\n"


@app.command()
def algorithms(as_json: AsJson = False) -> None:
    """List the algorithms that `algorithm=` accepts."""
    from neurobo.algorithm import algorithms as names
    from neurobo.algorithm import describe

    if as_json:
        typer.echo(json.dumps({name: describe(name) for name in names()}))
        return
    table = Table(box=None)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what it does")
    for name in names():
        table.add_row(name, describe(name))
    out.print(table)


@app.command()
def problems(as_json: AsJson = False) -> None:
    """List the benchmark problems."""
    bench.list_problems(as_json)


def run() -> None:
    """Run the command that was given, and say its errors in one message."""
    warnings.formatwarning = _note
    try:
        app()
    except NeuroboError as error:
        _say_error(str(error))
        raise SystemExit(2) from None
    except OSError as error:
        if error.filename is None:
            raise  # not about a file that the user may have named
        _say_error(f"{error.filename} cannot be used: {error.strerror}")
        raise SystemExit(2) from None


def _say_error(text: str) -> None:
    # The terminal breaks long lines: a message can be copied, and found by `grep`.
    Console(stderr=True).print(
        f"error: {text}", style="red", markup=False, highlight=False, soft_wrap=True
    )


__all__ = ["app", "main", "run"]
