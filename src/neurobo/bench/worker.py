"""The process of one run: `python -m neurobo.bench.worker`.

It reads a job as one line of JSON, writes a line with a number after each evaluation and the
record as its last line. Standard input stays open as long as the parent lives: its end is the
sign to stop, so that no run is left behind by a harness that was killed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from pathlib import Path

from neurobo.bench.records import Job, Record, write_line


def main() -> None:
    # Libraries print; only our own lines may reach the parent.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    job = Job(**request["job"])
    try:
        import optuna

        from neurobo.bench.run_one import run

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        record = run(job, Path(request["folder"]), lambda done: print(done, file=out))
    except Exception as error:
        traceback.print_exc()
        record = Record(job, error=f"{type(error).__name__}: {error}")
    print(write_line(record), file=out)
    out.close()
    os._exit(0)  # no library's exit hook may hang or spoil a finished run


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
