"""The command line. Heavy imports happen inside the commands, so that --help is instant."""

from __future__ import annotations

import json
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from neurobo.cli import bench, main, study
from neurobo.cli.cache import keep_compiled
from neurobo.cli.shared import AsJson, out
from neurobo.errors import NeuroboError, NeuroboWarning

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # not rich's own markup, which swallows [words in brackets]
)
app.add_typer(study.app)
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


class Demo(StrEnum):
    tank = "tank"
    heat = "heat"


@app.command()
def demo(
    name: Annotated[Demo, typer.Argument(help="A tank to control, or a plate to explore.")] = (
        Demo.tank
    ),
    trials: Annotated[int | None, typer.Option(help="How many evaluations: 60, or 25.")] = None,
    seed: Annotated[int, typer.Option(help="Another seed, another run.")] = 0,
    algorithm: Annotated[str, typer.Option(help="See `neurobo algorithms`.")] = "auto",
    picture: Annotated[Path, typer.Option(help="Where `demo heat` draws.")] = Path("heat.png"),
    as_json: AsJson = False,
) -> None:
    """Tune the controller of a heated tank: 6 mixed parameters, live progress, best point. Or with
    `heat`: find the hottest place of a plate with and without the law of steady heat."""
    if name is Demo.heat:
        _heat(25 if trials is None else trials, seed, picture, as_json)
        return
    trials = 60 if trials is None else trials
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
    for parameter, value in study.best_params.items():
        table.add_row(parameter, _short(TEXTBOOK[parameter]), _short(value))
    table.add_section()
    table.add_row("objective", _short(tank(TEXTBOOK)), _short(study.best_value), style="bold")
    out.print(table)
    where = study.best_trial.number + 1
    out.print(f"found in evaluation {where} of {len(finished)}")


def _heat(trials: int, seed: int, picture: Path, as_json: bool) -> None:
    import optuna

    from neurobo import demo_heat as heat

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if not as_json:
        out.print(
            "Looking for the hottest place of a plate. Nobody knows what its sides are held at, "
            "but inside ∇²T = 0.\n"
        )
    plate = heat.Plate.of()
    runs = [
        heat.search(plate, trials, seed, law=law, progress=not as_json) for law in (True, False)
    ]
    heat.picture(plate, runs, picture)
    goal = 0.95 * plate.hottest
    if as_json:
        found = {r.name: {"best": r.best[-1], "to_95": r.evaluations_to(goal)} for r in runs}
        typer.echo(json.dumps({"hottest": plate.hottest, "picture": str(picture), **found}))
        return
    table = Table(title=f"The hottest place has {plate.hottest:.2f} °C", title_justify="left")
    for heading in ("", "hottest found", "evaluations to 95 %"):
        table.add_column(heading, justify="right" if heading else "left")
    for r in runs:
        table.add_row(r.name, f"{r.best[-1]:.2f} °C", str(r.evaluations_to(goal) or "not reached"))
    out.print(table)
    out.print(f"picture: {picture}")


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


def run() -> None:
    """Run the command that was given, and say its errors in one message."""
    warnings.formatwarning = _note
    keep_compiled()
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
