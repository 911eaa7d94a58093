"""The command line. Heavy imports happen inside the commands, so that --help is instant."""

from __future__ import annotations

import json
import warnings
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from neurobo.cli import bench, study
from neurobo.cli.cache import keep_compiled
from neurobo.errors import NeuroboError, NeuroboWarning

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    help="Neural black-box optimisation: the minimum of an expensive function in few evaluations.",
    pretty_exceptions_enable=False,
)
app.add_typer(study.app)
app.add_typer(bench.app, name="bench")
out = Console()

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script to read.")]


@app.callback()
def about() -> None:
    """Neural black-box optimisation."""


@app.command()
def demo(
    trials: Annotated[int, typer.Option(help="How many evaluations.")] = 60,
    seed: Annotated[int, typer.Option(help="Another seed, another run.")] = 0,
    algorithm: Annotated[str, typer.Option(help="See `neurobo algorithms`.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Tune the controller of a heated tank: 6 mixed parameters, live progress, best point."""
    import optuna

    from neurobo.algorithms import resolve
    from neurobo.demo import SPACE, TEXTBOOK, tank
    from neurobo.minimize import minimize

    resolve(algorithm)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if not as_json:
        out.print(
            "Tuning the controller of a heated tank that goes to 60 °C and through a cold spell.\n"
            "Lower is better: mean error in °C, plus overshoot and wear.\n"
        )
    study = minimize(tank, SPACE, trials, algorithm=algorithm, seed=seed, progress=not as_json)
    finished = [t for t in study.trials if t.value is not None]
    if not finished:
        raise NeuroboError("the best point needs at least one evaluation, got none")
    if as_json:
        typer.echo(json.dumps({"value": study.best_value, "params": study.best_params}))
        return
    table = Table(title="Best controller found", title_justify="left")
    for heading in ("parameter", "textbook rule", "neurobo"):
        table.add_column(heading, justify="left" if heading == "parameter" else "right")
    for name, value in study.best_params.items():
        table.add_row(name, _short(TEXTBOOK[name]), _short(value))
    table.add_section()
    table.add_row("objective", _short(tank(TEXTBOOK)), _short(study.best_value), style="bold")
    out.print(table)
    where = study.best_trial.number + 1
    out.print(f"found in evaluation {where} of {len(finished)}")


def _note(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> str:
    """A warning as a user of the command line wants it: without a place in the source."""
    kind = "note" if issubclass(category, NeuroboWarning) else category.__name__
    return f"{kind}: {message}\n"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


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
