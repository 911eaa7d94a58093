"""docs/reference/cli.md, generated from the commands: `python -m neurobo.cli.reference`."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from typer.main import get_command

from neurobo.cli.app import app

_HEAD = """# Command line

Generated from the commands; do not edit: `python -m neurobo.cli.reference >
docs/reference/cli.md`. `neurobo COMMAND --help` prints the same.

Commands that take a study file use `study.toml` if none is given. `--json` prints what a script
would read. Exit codes: 0 success, also after one Ctrl-C; 1 `run` ended without any feasible result;
2 invalid input, a storage that cannot be used, or an objective whose first evaluations all fail
alike; 130 interrupted. `neurobo --install-completion` completes commands with the Tab key.
"""


def reference() -> str:
    """The page as Markdown."""
    return _HEAD + "".join(f"\n{part}" for part in _sections("neurobo", get_command(app), level=2))


def _sections(name: str, command: Any, level: int) -> list[str]:
    found = []
    for word, child in getattr(command, "commands", {}).items():
        full = f"{name} {word}"
        found.append(_section(full, child, level))
        found += _sections(full, child, level + 1)
    return found


def _section(name: str, command: Any, level: int) -> str:
    shown = [p for p in command.params if p.name not in ("help", "install_completion")]
    arguments = [_metavar(p) for p in shown if p.param_type_name == "argument"]
    usage = " ".join([name, "[OPTIONS]", *arguments])
    if hasattr(command, "commands"):
        usage = f"{name} COMMAND"
    about = inspect.cleandoc(command.help or "")
    parts = [f"{'#' * level} {name}", about, f"```text\n{usage}\n```"]
    if shown:
        rows = ["| option | default | meaning |", "|---|---|---|", *map(_row, shown)]
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _metavar(parameter: Any) -> str:
    word = parameter.metavar or parameter.name.upper()
    return word if parameter.required or word.startswith("[") else f"[{word}]"


def _row(parameter: Any) -> str:
    names = parameter.opts if parameter.param_type_name == "option" else [_metavar(parameter)]
    words = ", ".join(f"`{name}`" for name in [*names, *parameter.secondary_opts])
    help_text = (parameter.help or "").replace("|", "\\|")
    return f"| {words} | {_default(parameter)} | {help_text} |"


def _default(parameter: Any) -> str:
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    value = parameter.default
    if callable(value):
        value = None
    if parameter.required or value in (None, False, ()) or value == []:
        return "required" if parameter.required else ""
    return f"`{value}`"


if __name__ == "__main__":
    sys.stdout.write(reference())
