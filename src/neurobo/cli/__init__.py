"""The command `neurobo`. Only the standard library is imported before `main` can answer Ctrl-C."""

import os
import signal
import sys
from typing import Any


def main() -> None:
    """Run the command line. Ctrl-C that no command answers itself: one line, exit code 130."""
    interrupted: list[int] = []

    def interrupt(sign: int, _: Any) -> None:
        interrupted.append(sign)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        from neurobo.cli.app import run

        run()
    except BaseException as error:
        # Typer turns an interrupt into an exit, and some packages turn one that comes while they
        # are imported into an error of their own.
        answered = isinstance(error, SystemExit) and error.code != 130
        if not interrupted or answered:
            raise
        sys.stderr.write("interrupted\n")
    else:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(130)  # half-imported packages may crash in an orderly exit
