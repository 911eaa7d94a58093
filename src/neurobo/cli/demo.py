"""`neurobo demo`: two problems to watch, a tank to control and three plates to explore."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from neurobo.cli import interruptible
from neurobo.cli.shared import AsJson, out
from neurobo.errors import InvalidInput, MissingPackage, NeuroboError, check_count

if TYPE_CHECKING:
    from neurobo.demos.heat import Search


class Demo(StrEnum):
    tank = "tank"
    heat = "heat"


def demo(
    name: Annotated[Demo, typer.Argument(help="A tank to control, or plates to explore.")] = (
        Demo.tank
    ),
    trials: Annotated[
        int | None, typer.Option(help="Evaluations of a run: 60, or 15 with `heat`.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    seeds: Annotated[
        int | None, typer.Option(help="With `heat`: runs for each plate, from `--seed` on: 5.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="With `tank`: see `neurobo algorithms`. Default: auto.")
    ] = None,
    picture: Annotated[Path, typer.Option(help="Where `demo heat` draws.")] = Path("heat.png"),
    as_json: AsJson = False,
) -> None:
    """Tune the controller of a heated tank: 6 mixed parameters, live progress, best point. Or with
    `heat`: find the hottest place of three plates with and without the law of steady heat, five
    times each (about two minutes)."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if name is Demo.heat:
        if algorithm is not None:
            raise InvalidInput(f"--algorithm is for `demo tank`, got {algorithm!r} with `heat`")
        counts = (15 if trials is None else trials, 5 if seeds is None else seeds)
        _heat(*counts, seed, picture, as_json)
        return
    if seeds is not None:
        raise InvalidInput(f"--seeds is for `demo heat`, got {seeds} with `tank`")
    _tank(60 if trials is None else trials, seed, algorithm or "auto", as_json)


def _tank(trials: int, seed: int, algorithm: str, as_json: bool) -> None:
    from neurobo.algorithm import resolve
    from neurobo.demos.tank import SPACE, TEXTBOOK, tank
    from neurobo.running.minimisation import minimize

    resolve(algorithm)
    if not as_json:
        out.print(
            "Tuning the controller of a heated tank that goes to 60 °C and through a cold spell.\n"
            "Lower is better: mean error in °C, plus overshoot and wear.\n"
        )
    with interruptible():
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


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _heat(trials: int, seeds: int, seed: int, picture: Path, as_json: bool) -> None:
    from neurobo.demos import heat

    check_count("seed", seed, least=0)
    check_count("seeds", seeds)
    check_count("trials", trials)
    if not picture.absolute().parent.is_dir():
        raise InvalidInput(f"--picture must be in a folder that exists, got {picture}")
    if not as_json:
        out.print(
            "Looking for the hottest place of three plates, those of the PINN-BO experiments.\n"
            "The temperatures of their sides are unknown, but inside ∇²T = 0. Numbers say after\n"
            f"how many evaluations a run had {heat.GOAL:.0%} of the highest temperature "
            "(-: not at all).\n"
        )
    runs = _searches(trials, range(seed, seed + seeds), quiet=as_json)
    drawn: Path | None = picture
    try:
        heat.picture(runs, picture)
    except MissingPackage as error:
        drawn, missing = None, error
    if as_json:
        typer.echo(json.dumps(_as_json(runs, drawn)))
        return
    _print_medians(runs)
    few, many = (next(run.start for run in runs if run.law is law) for law in heat.KINDS)
    out.print(f"With the law the start has {few} points instead of {many}: a part of the gain.")
    aside = sum(run.contradicted for run in runs)
    if aside:
        total = sum(run.law for run in runs)
        out.print(f"In {aside} of {total} runs the observations contradicted it for a while.")
    out.print(f"picture: {drawn}" if drawn else f"no picture: {missing}", soft_wrap=True)


def _searches(trials: int, seeds: range, *, quiet: bool) -> list[Search]:
    """All runs, with a bar for each plate, with the law and without."""
    from neurobo.demos import heat

    bars = Progress(
        TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(),
        TextColumn("{task.fields[arrived]}"), console=Console(stderr=True), disable=quiet,
    )  # fmt: skip
    pairs = [(plate, law) for plate in heat.plates() for law in heat.KINDS]
    runs = []
    with bars:
        tasks = [
            bars.add_task(f"{plate.name} {heat.KINDS[law]}", total=trials * len(seeds), arrived="")
            for plate, law in pairs
        ]
        for (plate, law), task in zip(pairs, tasks, strict=True):
            here: list[Search] = []
            for seed in seeds:
                here.append(
                    heat.search(
                        plate, trials, seed, law=law, callback=lambda *_, t=task: bars.advance(t)
                    )
                )
                arrived = " ".join(str(run.evaluations or "-") for run in here)
                bars.update(task, arrived=arrived)
            runs += here
    return runs


def _print_medians(runs: list[Search]) -> None:
    from neurobo.demos import heat

    count = sum(run.law and run.plate.number == 1 for run in runs)
    table = Table(
        title=f"Evaluations to {heat.GOAL:.0%} of the highest temperature, "
        f"median of {count} run{'s' * (count != 1)}",
        title_justify="left",
    )
    table.add_column("")
    for kind in heat.KINDS.values():
        table.add_column(kind, justify="right")

    def row(name: str, some: list[Search], **look: Any) -> None:
        medians = [
            heat.median_evaluations([run for run in some if run.law is law]) for law in heat.KINDS
        ]
        table.add_row(name, *("not reached" if m is None else f"{m:g}" for m in medians), **look)

    for number in sorted({run.plate.number for run in runs}):
        row(f"plate {number}", [run for run in runs if run.plate.number == number])
    table.add_section()
    row("all runs", runs, style="bold")
    out.print(table)


def _as_json(runs: list[Search], picture: Path | None) -> dict[str, Any]:
    from neurobo.demos import heat

    def evaluations(number: int) -> dict[str, list[int | None]]:
        return {
            kind: [r.evaluations for r in runs if r.plate.number == number and r.law is law]
            for law, kind in heat.KINDS.items()
        }

    return {
        "plates": {f"heat-{number}": evaluations(number) for number in (1, 2, 3)},
        "median": {
            kind: heat.median_evaluations([run for run in runs if run.law is law])
            for law, kind in heat.KINDS.items()
        },
        "picture": None if picture is None else str(picture),
    }
