"""What the commands share: their arguments, opening a study, and printing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from neurobo.errors import InvalidInput

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from neurobo.studies.file.study_file import StudyFile

out = Console()

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script to read.")]
File = Annotated[Path, typer.Argument(help="The study file.", show_default=True)]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="NAME=VALUE of a parameter that has this value; may be repeated."),
]
DEFAULT = Path("study.toml")


def read_file(path: Path) -> StudyFile:
    """A study file, for a command that says itself what happens: Optuna stays silent."""
    import optuna

    from neurobo.studies.file.reader import read_study

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return read_study(path)


def open_file(
    path: Path, *, create: bool = False, read_only: bool = False
) -> tuple[StudyFile, Study]:
    """A study file and its study."""
    from neurobo.studies.runner.store import open_study

    file = read_file(path)
    return file, open_study(file, create=create, read_only=read_only)


def check_target(path: Path | None) -> None:
    """Refuse a place to write to whose folder is not there, before any heavy work."""
    if path is not None and not path.absolute().parent.is_dir():
        raise InvalidInput(
            f"--out must be in a folder that exists, got {path}: there is no {path.parent}"
        )


def trial_number(text: str) -> int:
    """The number of a trial, as a user writes it."""
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(
            f"a trial is named by its number, such as 3, got {text.strip()!r}"
        ) from None


def say(text: str) -> None:
    """A sentence as it is: names of users' files and parameters are no markup."""
    out.print(text, markup=False, highlight=False, soft_wrap=True)


def plain(text: str) -> Any:
    """The same in the cell of a table."""
    from rich.text import Text

    return Text(text)


def print_best(trial: FrozenTrial, title: str = "Best so far") -> None:
    """A point with its constraints and its value."""
    from neurobo.analysis.tally import short

    table = Table(title=f"{title}: trial {trial.number}", title_justify="left", min_width=32)
    table.add_column("parameter")
    table.add_column("value", justify="right", overflow="fold")
    for name, value in trial.params.items():
        table.add_row(plain(name), plain(short(value)))
    table.add_section()
    for name, value in trial.constraints.items():
        side = "<= 0" if value <= 0 else "> 0"
        table.add_row(plain(name), plain(f"{short(value)} ({side})"))
    table.add_row("objective", short(trial.value), style="bold")
    out.print(table)
