"""Commands about storages."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from neurobo.cli.shared import AsJson, out, say

app = typer.Typer(no_args_is_help=True, help="Look at the storage of studies.")


@app.callback()
def about() -> None:
    """Look at the storage of studies."""


@app.command("check")
def check(
    url: Annotated[
        str, typer.Argument(help="Such as postgresql://user@host/db or sqlite:///study.db.")
    ],
    as_json: AsJson = False,
) -> None:
    """Say whether a storage can be used, and what is wrong with it. Nothing is written to it."""
    from neurobo.integrations.optuna.storage_check import check_storage

    found = []
    for finding in check_storage(url):
        found.append(finding)
        if as_json:
            continue
        if finding.kind == "ok":
            say(f"ok: {finding.text}")
        else:
            out.print(f"note: {finding.text}", style="yellow", markup=False, highlight=False,
                      soft_wrap=True)  # fmt: skip
    if as_json:
        typer.echo(json.dumps([finding._asdict() for finding in found]))
    elif all(finding.kind == "ok" for finding in found):
        say("No problems found.")
