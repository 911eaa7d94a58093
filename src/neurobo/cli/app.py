"""The command line. Heavy imports happen inside the commands, so that --help is instant."""

from __future__ import annotations

import json
import warnings
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from neurobo.cli import bench, demo, study
from neurobo.cli.cache import keep_compiled
from neurobo.cli.shared import AsJson, out
from neurobo.errors import NeuroboError, NeuroboWarning

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    help="Neural black-box optimisation: the minimum of an expensive function in few evaluations.",
    pretty_exceptions_enable=False,
)
app.add_typer(study.app)
app.add_typer(bench.app, name="bench")


@app.callback()
def about() -> None:
    """Neural black-box optimisation."""


app.command("demo")(demo.demo)


def _note(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> str:
    """A warning as a user of the command line wants it: without a place in the source."""
    kind = "note" if issubclass(category, NeuroboWarning) else category.__name__
    return f"{kind}: {message}\n"


@app.command()
def algorithms(as_json: AsJson = False) -> None:
    """List the algorithms that `algorithm=` accepts."""
    from neurobo.algorithms import algorithms as names
    from neurobo.algorithms import describe

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


def main() -> None:
    warnings.formatwarning = _note
    keep_compiled()
    try:
        app()
    except NeuroboError as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, highlight=False)
        raise SystemExit(2) from None
