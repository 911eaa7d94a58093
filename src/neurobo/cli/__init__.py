"""The command `neurobo`. Only the standard library is imported before `main` can answer Ctrl-C."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


def main() -> None:
    """Run the command line. Ctrl-C that no command answers itself: one line, exit code 130.

    Nothing is raised from the handler: packages that are being imported swallow such exceptions.
    Commands that answer Ctrl-C do so within `interruptible`; `neurobo run` sets flags.
    """
    signal.signal(signal.SIGINT, _leave)
    from neurobo.cli.app import run

    run()


def _leave(*_: Any) -> NoReturn:
    """End at once: no command that lets itself be ended so has anything to clean up."""
    show_cursor = b"\x1b[?25h" if os.isatty(2) else b""  # a spinner hides it
    os.write(2, show_cursor + b"interrupted\n")
    os._exit(130)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt, for a command that has something to clean up."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        _leave()
    finally:
        signal.signal(signal.SIGINT, before)
