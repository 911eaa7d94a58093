"""The commands for studies in files, in the order of the help."""

from __future__ import annotations

from collections.abc import Callable

import typer

from neurobo.cli import study_ask, study_look, study_run, study_transfer

COMMANDS: dict[str, Callable[..., None]] = {
    "init": study_run.init,
    "check": study_run.check,
    "run": study_run.run,
    "retry": study_run.retry,
    "ask": study_ask.ask,
    "tell": study_ask.tell,
    "status": study_look.status,
    "best": study_look.best,
    "import": study_transfer.import_,
    "export": study_transfer.export,
    "explain": study_look.explain,
    "report": study_look.report,
    "plot": study_look.plot,
    "dashboard": study_look.dashboard,
}

app = typer.Typer()
for name, command in COMMANDS.items():
    app.command(name, cls=study_ask.NumbersBelowZero)(command)
